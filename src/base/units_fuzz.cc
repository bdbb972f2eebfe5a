// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Untrusted amounts: parsing gives a number or an error, and any formatted number can be parsed
// again.

#include "base/bytes.h"
#include "base/check.h"
#include "base/units.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = aster::AsText({data, size});
  const aster::Result<uint64_t> bytes = aster::ParseBytes(text);
  if (bytes.ok() && *bytes < (uint64_t{1} << 49)) {
    CHECK(aster::ParseBytes(aster::FormatBytes(*bytes)).ok());
  }
  const aster::Result<uint64_t> count = aster::ParseCount(text);
  if (count.ok()) CHECK(!aster::FormatCount(*count).empty());
  const aster::Result<int64_t> duration = aster::ParseDuration(text);
  if (duration.ok()) {
    CHECK(*duration >= 0);
    CHECK(!aster::FormatDuration(*duration).empty());
  }
  return 0;
}
