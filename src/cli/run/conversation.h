// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A conversation as /save writes it: what was said, and the tokens that it stands for. Must not
// know models, nor how answers are made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/prompt.h"

namespace aster::cli {

using chat::ChatPrompt;
using chat::Message;

struct Conversation {
  uint32_t vocab_size = 0;  // of the model that it was held with
  std::string system;
  std::vector<Message> messages;  // of user and assistant in turns
  std::string marked;             // the text that the tokens stand for; empty: for no text alone
  std::vector<int32_t> tokens;

  bool operator==(const Conversation&) const = default;
};

std::string WriteConversation(const Conversation& conversation);
// Of a text that nobody vouches for. A conversation with another vocabulary is refused.
Result<Conversation> ReadConversation(std::string_view text, uint32_t vocab_size);

}  // namespace aster::cli
