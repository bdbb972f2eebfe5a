// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What a beginning of a line may go on with. Must not know terminals, nor what lines mean.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace aster::cli {

struct Completion {
  std::string more;                  // to insert behind what was typed
  std::vector<std::string> choices;  // where several candidates go on with different words
};

// Word by word: of "/set temp" and "/stats" the beginning "/s" has the choices "/set" and "/stats".
Completion Complete(std::string_view typed, std::span<const std::string> candidates);

}  // namespace aster::cli
