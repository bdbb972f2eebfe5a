// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Any fingerprint cache is either refused, or is exactly what would be written for the hashes that
// were read from it.

#include <string>

#include "base/check.h"
#include "base/hash.h"
#include "gguf/fingerprint_cache.h"

namespace aster::gguf {
namespace {

void CheckRoundTrip(const std::string& text) {
  const auto cached = ParseCachedHashes(text);
  if (!cached.ok()) return;
  const auto again = ParseCachedHashes(FormatCachedHashes(*cached));
  CHECK(again.ok() && *again == *cached);
}

}  // namespace

void CheckBoth(const std::string& text) {
  CheckRoundTrip(text);
  // The same with a valid checksum, which the fuzzer cannot find.
  CheckRoundTrip(text + "check " + Hash128Of(AsBytes(text)).ToHex() + "\n");
}

}  // namespace aster::gguf

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  aster::gguf::CheckBoth({reinterpret_cast<const char*>(data), size});
  return 0;
}
