// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Amounts for users: bytes, counts, rates, durations. For scripts, print the plain number instead.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace aster {

// "0 B", "1023 B", "1.50 GiB": three digits, powers of 1024.
std::string FormatBytes(uint64_t bytes);

// "950", "12.3 K", "1.24 B": three digits, thousands, millions, billions, trillions (1e12).
std::string FormatCount(uint64_t count);

// "88.1 tokens/s", "6.90 GB/s" (bytes: powers of 1000, as for memory and networks).
std::string FormatRate(double per_second, std::string_view what);
std::string FormatByteRate(double bytes_per_second);

// "850 ns", "12.3 µs", "1.25 s", "3 min 20 s", "2 h 05 min", "3 d 04 h".
std::string FormatDuration(int64_t duration_ns);

// The reverse of FormatBytes, as users type it: "1.5 GiB", "64MB", "2g", "4096". KiB, MiB, GiB, TiB
// and the bare letters are powers of 1024; KB, MB, GB, TB of 1000. A fraction of a byte is dropped.
Result<uint64_t> ParseBytes(std::string_view text);

// "1.24B", "128k", "4096": powers of 1000.
Result<uint64_t> ParseCount(std::string_view text);

// "500ms", "1.5 s", "2min", "1 h": in nanoseconds. The unit is required.
Result<int64_t> ParseDuration(std::string_view text);

}  // namespace aster
