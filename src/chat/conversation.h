// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Conversations as clients send them, made into such as a model's chat template takes: what it
// would refuse, or leave out, and can be said in another way. Must not know tokens.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "chat/dialect.h"

namespace aster::chat {

// System messages that the template has no place for stand before what the user says next; ids of
// calls are made short where it wants them so. The same conversation becomes the same, and a longer
// one begins with what the shorter one became. For gpt-oss, whose templates take one call in a
// message, several are several messages, each with its result behind it; reasoning stands where
// these templates look for it.
nlohmann::ordered_json FittedMessages(const Dialect& dialect, nlohmann::ordered_json messages);

// Tools with all that is optional written out, for templates that look at it without asking whether
// it is there.
nlohmann::ordered_json FilledTools(nlohmann::ordered_json tools);

// Nine letters and digits for an id; those that are such stay.
std::string ShortCallId(std::string_view id);

}  // namespace aster::chat
