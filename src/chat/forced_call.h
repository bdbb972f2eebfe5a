// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The beginning of a reply that has to be a call: the model goes on with its arguments. Must not
// know why.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "chat/dialect.h"
#include "chat/prompt.h"

namespace aster::chat {

struct ForcedCallText {
  // Up to the arguments of the call; where no name is given, up to the name, which the model
  // chooses.
  std::string opening;
  // Between a name that is chosen and the arguments.
  std::string middle;
  bool has_json = false;  // the arguments are one JSON object
};
// `prompt` is what it follows: thoughts that have begun there are ended.
Result<ForcedCallText> ForcedCall(const ChatPrompt& chat_prompt, const Dialect& dialect,
                                  std::string_view prompt, std::string_view name);

// Ends thoughts that have begun at the end of `prompt`; nothing where none have.
std::string EndOfThoughts(const Dialect& dialect, std::string_view prompt);

}  // namespace aster::chat
