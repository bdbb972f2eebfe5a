// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/unsupported.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace aster::jinja {
namespace {

constexpr std::string_view kTags[] = {"autoescape", "block",  "call",    "do",    "extends",
                                      "from",       "import", "include", "print", "with"};
// Of strings, lists, dicts and numbers.
constexpr std::string_view kMethods[] = {
    "as_integer_ratio", "bit_count", "bit_length",  "casefold",   "center",     "clear",
    "conjugate",        "encode",    "expandtabs",  "format_map", "from_bytes", "fromhex",
    "fromkeys",         "hex",       "is_integer",  "isascii",    "isdecimal",  "isidentifier",
    "islower",          "isnumeric", "isprintable", "istitle",    "isupper",    "ljust",
    "maketrans",        "popitem",   "remove",      "rindex",     "rjust",      "sort",
    "swapcase",         "to_bytes",  "translate",   "zfill"};
constexpr std::string_view kFunctions[] = {"caller", "cycler", "joiner", "lipsum"};
constexpr std::string_view kOfLoop[] = {"changed", "depth", "depth0"};

template <size_t kSize>
bool IsAmong(const std::string_view (&names)[kSize], std::string_view name) {
  return std::ranges::find(names, name) != std::end(names);
}

}  // namespace

Error NotSupportedAt(int line, std::string_view what) {
  return Unimplemented(fmt::format("line {}: {} not supported", line, what));
}

Error NotSupportedAt(int line, std::string_view kind, std::string_view name) {
  return NotSupportedAt(line, fmt::format("the {} '{}' is", kind, name));
}

bool IsUnsupportedTag(std::string_view name) { return IsAmong(kTags, name); }
bool IsUnsupportedMethod(std::string_view name) { return IsAmong(kMethods, name); }
bool IsUnsupportedFunction(std::string_view name) { return IsAmong(kFunctions, name); }
bool IsUnsupportedOfLoop(std::string_view name) { return IsAmong(kOfLoop, name); }

}  // namespace aster::jinja
