// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Calls with arguments between tags of their own instead of in JSON: GLM, DeepSeek V4 and V4.1,
// Qwen3 Coder, MiniMax, Gemma 4. Must not know how they come.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "chat/call_reader.h"

namespace aster::chat {

struct TaggedCall {
  std::string name;
  std::string arguments;  // JSON: values except strings have the model's own bytes
};

// The end of one call of a family that writes tags.
std::string_view TaggedCallClose(Family family);

// Parses `body`, the text between the opening of a call and its end. An error if it is not a call.
Result<TaggedCall> ReadTaggedCall(Family family, std::string_view body, const Tools& tools);

}  // namespace aster::chat
