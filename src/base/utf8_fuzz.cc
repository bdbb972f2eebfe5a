// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Decoding always advances and agrees with encoding, and cleaning makes any bytes valid.

#include "base/bytes.h"
#include "base/check.h"
#include "base/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = aster::AsText({data, size});
  std::string again;
  size_t valid_prefix = 0;
  bool all_valid = true;
  for (std::string_view rest = text; !rest.empty();) {
    const aster::Utf8Step step = aster::DecodeUtf8(rest);
    CHECK(step.size >= 1 && step.size <= 4 && step.size <= rest.size());
    all_valid = all_valid && step.valid;
    if (all_valid) valid_prefix += step.size;
    aster::AppendUtf8(again, step.code_point);
    rest.remove_prefix(step.size);
  }
  CHECK(aster::ValidUtf8Prefix(text) == valid_prefix);
  CHECK(!all_valid || again == text);
  CHECK(aster::ToValidUtf8(text) == again);
  CHECK(aster::IsValidUtf8(again));
  CHECK(aster::IsValidUtf8(aster::ForDisplay(text)));
  if (aster::IsUtf8Start(text)) CHECK(!all_valid && valid_prefix == 0);
  return 0;
}
