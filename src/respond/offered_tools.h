// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The tools of a conversation for a reply's parser: their names, and which parameters are strings.
// Must not know how calls are written.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "chat/call_reader.h"

namespace aster::respond {

// `tools` in OpenAI's form; they are copied.
std::shared_ptr<const chat::Tools> OfferedTools(const nlohmann::ordered_json& tools);

}  // namespace aster::respond
