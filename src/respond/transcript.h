// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A chat as it is saved: its messages and their tokens; and its form as a JSON text.
// Must not know models, files, nor how answers are made.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/prompt.h"

namespace aster::respond {

struct Transcript {
  uint32_t vocab_size = 0;  // of its model
  std::string system = {};
  // Of user and assistant in turns; between two of the assistant, results of the calls in the first
  // ("tool"). The assistant's are as the model wrote them.
  std::vector<chat::Message> messages = {};
  std::string marked = {};  // the text of the tokens; empty: unknown
  std::vector<int32_t> tokens = {};

  bool operator==(const Transcript&) const = default;
};

// The number of messages that form complete turns, from the first on.
size_t WholeMessages(std::span<const chat::Message> messages);

std::string WriteTranscript(const Transcript& transcript);
// Accepts any text. A chat with another vocabulary is an error.
Result<Transcript> ReadTranscript(std::string_view text, uint32_t vocab_size);

}  // namespace aster::respond
