// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/model_names.h"

#include <algorithm>

namespace aster::serve {

std::string PlainName(std::string_view written) {
  constexpr std::string_view kTag = ":latest";
  constexpr std::string_view kEnding = ".gguf";
  std::string name(written);
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (name.ends_with(kTag)) name.resize(name.size() - kTag.size());
  if (!name.ends_with(kEnding)) return name;
  name.resize(name.size() - kEnding.size());
  return name.substr(name.find_last_of("/\\") + 1);
}

}  // namespace aster::serve
