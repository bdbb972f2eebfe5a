// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How a conversation's answers are drawn, by the names that the options of `aster run` have: for
// /set. Must not know the conversation.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "respond/conversation.h"

namespace aster::cli {

// "temp", "top-k" … "tokens".
std::vector<std::string> SettingNames();

// A line for each: its name and value.
std::string DescribeSettings(const respond::Settings& settings);

// The settings with one of them changed; what is wrong names it, and what it may be.
Result<respond::Settings> WithSetting(const respond::Settings& settings, const std::string& name,
                                      const std::string& value, uint32_t vocab_size);

}  // namespace aster::cli
