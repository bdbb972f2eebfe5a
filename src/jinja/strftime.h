// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A time as text, by the letters of the C library's strftime in its plain locale.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace aster::jinja {

// In local time.
Result<std::string> FormatTime(std::string_view format, int64_t unix_s);
// Refuses a format that FormatTime() does not support.
Status CheckTimeFormat(std::string_view format);

}  // namespace aster::jinja
