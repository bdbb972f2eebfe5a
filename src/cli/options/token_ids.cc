// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/options/token_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/files.h"

namespace aster::cli {
namespace {

// Ten million ids with spaces between.
constexpr size_t kMaxIdsBytes = size_t{100} << 20;

}  // namespace

Result<std::vector<int32_t>> ReadIds(const std::string& path) {
  const std::string text = TRY(ReadFile(path, kMaxIdsBytes));
  std::vector<int32_t> ids;
  constexpr std::string_view kBetween = " \t\r\n,";
  for (size_t begin = text.find_first_not_of(kBetween); begin != std::string::npos;) {
    const size_t end = std::min(text.find_first_of(kBetween, begin), text.size());
    int32_t id = 0;
    const auto [stop, error] = std::from_chars(text.data() + begin, text.data() + end, id);
    if (error != std::errc() || stop != text.data() + end || id < 0) {
      return InvalidArgument(
          fmt::format("{}: \"{}\" is not a token id", path, text.substr(begin, end - begin)));
    }
    ids.push_back(id);
    begin = text.find_first_not_of(kBetween, end);
  }
  if (ids.empty()) return InvalidArgument(path + ": no token ids");
  return ids;
}

}  // namespace aster::cli
