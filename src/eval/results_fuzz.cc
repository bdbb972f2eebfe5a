// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Any bytes as a file of results; an accepted file is the same after writing and reading again.
#include "base/bytes.h"
#include "base/check.h"
#include "eval/results.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto results = aster::eval::ParseResults(aster::AsText({data, size}));
  if (!results.ok()) return 0;
  CHECK(results->whole_bytes <= size && data[results->whole_bytes - 1] == '\n');
  std::string text = aster::eval::FormatHeader(results->header);
  for (const auto& result : results->results) text += aster::eval::FormatResult(result);
  const auto again = aster::eval::ParseResults(text);
  CHECK(again.ok() && again->header == results->header);
  CHECK(again->results == results->results && again->whole_bytes == text.size());
  return 0;
}
