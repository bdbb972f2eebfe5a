// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whatever stands in a fingerprint cache, it is refused, or it is exactly what would be written for
// the hashes that were read from it.

#include <string>

#include "base/check.h"
#include "base/hash.h"
#include "gguf/fingerprint_cache.h"

namespace {

void CheckRoundTrip(const std::string& text) {
  using namespace aster::gguf;
  const auto cached = ParseCachedHashes(text);
  if (!cached.ok()) return;
  const auto again = ParseCachedHashes(FormatCachedHashes(*cached));
  CHECK(again.ok() && *again == *cached);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  CheckRoundTrip(text);
  // The same with the check that the fuzzer cannot guess.
  CheckRoundTrip(text + "check " + aster::Hash128Of(aster::AsBytes(text)).ToHex() + "\n");
  return 0;
}
