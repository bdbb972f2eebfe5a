// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The names and keys by which the parts of a split model are found: NAME-00001-of-00003.gguf and so
// on, counted from one in names and from zero in split.no.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace aster::gguf {

inline constexpr std::string_view kSplitIndexKey = "split.no";
inline constexpr std::string_view kSplitCountKey = "split.count";
inline constexpr std::string_view kSplitTensorCountKey = "split.tensors.count";
inline constexpr uint32_t kMaxSplitCount = 65535;  // split.count is a 16-bit number

struct SplitName {
  std::string prefix;  // folder and NAME
  uint32_t index = 0;  // from zero
  uint32_t count = 0;
};

// The parts of such a name; nothing if the path does not end like one.
std::optional<SplitName> ParseSplitPath(std::string_view path);

// The path of one part.
std::string SplitPath(std::string_view prefix, uint32_t index, uint32_t count);

}  // namespace aster::gguf
