// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The sampling settings of a conversation, by the names of the options of `aster run`: for /set.
// Must not know the conversation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "respond/conversation.h"

namespace aster::cli {

inline constexpr std::string_view kLogitBias = "logit-bias";

// "temp", "top-k" … "tokens".
std::vector<std::string> SettingNames();

// A line each, with name and value.
std::string DescribeSettings(const respond::Settings& settings);

// The settings with one of them changed; an error names it and the allowed values. Of biases only
// the named token's is changed.
Result<respond::Settings> WithSetting(const respond::Settings& settings, const std::string& name,
                                      const std::string& value, uint32_t vocab_size);

}  // namespace aster::cli
