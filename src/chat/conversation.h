// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Adapts clients' conversations to a model's chat template: rewrites what the template would refuse
// or omit, if possible. Must not know tokens.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "chat/dialect.h"

namespace aster::chat {

// System messages that the template does not support are put before the user's next message; ids of
// calls are shortened if it needs that. Deterministic: a longer conversation begins with the result
// of the shorter one. For gpt-oss, whose templates take one call per message, several calls become
// several messages, each with its result after it; reasoning goes to the key that these templates
// use.
nlohmann::ordered_json FittedMessages(const Dialect& dialect, nlohmann::ordered_json messages);

// Tools with all optional keys set, for templates that use them without checking.
nlohmann::ordered_json FilledTools(nlohmann::ordered_json tools);

// Nine letters and digits for an id; ids of that form are unchanged.
std::string ShortCallId(std::string_view id);

}  // namespace aster::chat
