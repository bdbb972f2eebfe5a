// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Tools in OpenAI's form, of either of its APIs, in requests and files. Must not know where the
// list comes from, nor how calls are made.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>  // tidy: allow(third-party) tools are JSON values
#include <optional>
#include <string>
#include <vector>

namespace aster::respond {

inline constexpr size_t kMaxTools = 512;

struct ToolList {
  nlohmann::ordered_json tools;       // for Conversation::tools; null if there are none
  std::vector<std::string> strict;    // by name: their calls must match their schemas
  std::vector<std::string> left_out;  // types of tools that only other makers' servers can run
};

struct FieldError {
  std::string field;  // "tools[0].function.name"
  std::string why;
};

// Reads the array `list`. Returns the first wrong field, if any; the list is then incomplete.
// Parameters may be any JSON schema.
std::optional<FieldError> ReadToolList(const nlohmann::ordered_json& list, ToolList& tools);

}  // namespace aster::respond
