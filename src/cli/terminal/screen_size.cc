// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/terminal/screen_size.h"

#include <sys/ioctl.h>

namespace aster::cli {

std::optional<ScreenSize> SizeOfScreen(std::FILE* stream) {
  winsize size{};
  if (ioctl(fileno(stream), TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    return std::nullopt;
  }
  return ScreenSize{.columns = size.ws_col, .rows = size.ws_row};
}

}  // namespace aster::cli
