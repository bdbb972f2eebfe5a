// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Calls whose arguments stand between tags of their own instead of in JSON: GLM, DeepSeek V4 and
// V4.1, Qwen3 Coder, MiniMax, Gemma 4. Must not know how they come.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "chat/call_reader.h"

namespace aster::chat {

struct TaggedCall {
  std::string name;
  std::string arguments;  // JSON: what is not a string has the model's own bytes
};

// What ends one call of a family that writes tags.
std::string_view TaggedCallClose(Family family);

// The call in `body`, which is what stands between the opening of a call and its end. An error
// where it is none.
Result<TaggedCall> ReadTaggedCall(Family family, std::string_view body, const Tools& tools);

}  // namespace aster::chat
