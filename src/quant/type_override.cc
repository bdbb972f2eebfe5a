// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "quant/type_override.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "quant/quantize.h"

namespace aster::quant {
namespace {

// Whether a pattern with * and ? matches a text. Only the last star is ever extended, so that the
// work is bounded by the product of the lengths.
bool PartMatches(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = std::string_view::npos;
  size_t star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::vector<std::string_view> PartsOf(std::string_view name) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t dot = name.find('.');
    parts.push_back(name.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    name.remove_prefix(dot + 1);
  }
}

}  // namespace

Result<TypeOverride> TypeOverride::Parse(std::string_view text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string_view::npos || equals == 0) {
    return InvalidArgument(fmt::format("'{}' is not PATTERN=TYPE, as in attn_v=Q8_0", text));
  }
  const gguf::TensorTypeInfo* type = gguf::FindTensorType(text.substr(equals + 1));
  if (type == nullptr || !CanQuantize(type->type)) {
    return InvalidArgument(fmt::format("'{}': {} is not a type that tensors can be quantised to",
                                       text, text.substr(equals + 1)));
  }
  return TypeOverride{std::string(text.substr(0, equals)), type->type};
}

bool TypeOverride::Matches(std::string_view tensor_name) const {
  const std::vector<std::string_view> wanted = PartsOf(pattern);
  const std::vector<std::string_view> parts = PartsOf(tensor_name);
  for (size_t first = 0; first + wanted.size() <= parts.size(); ++first) {
    if (std::equal(wanted.begin(), wanted.end(), parts.begin() + static_cast<std::ptrdiff_t>(first),
                   PartMatches)) {
      return true;
    }
  }
  return false;
}

}  // namespace aster::quant
