// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A peer's manifest is refused, or it is the model's: nothing else happens.

#include <vector>

#include "base/check.h"
#include "fetch/manifest.h"

namespace aster::fetch {

void CheckAll(aster::Bytes bytes) {
  const auto as_it_is = ParseManifest(bytes);
  // The same with the right checksum, which the fuzzer cannot find.
  std::vector<uint8_t> checked(bytes.begin(), bytes.end());
  const Hash128 hash = Hash128Of(bytes);
  for (const uint64_t half : {hash.low, hash.high}) {
    for (int shift = 0; shift < 64; shift += 8) {
      checked.push_back(static_cast<uint8_t>(half >> shift));
    }
  }
  const auto manifest = ParseManifest(checked);
  if (manifest.ok()) {
    CHECK(FormatManifest(*manifest) == checked);
    // No model has this fingerprint, so it must be refused.
    CHECK(!CheckManifest(*manifest, Hash128{~bytes.size(), hash.low}).ok());
  }
  // The bytes as a file's head.
  rpc::ModelManifest made;
  made.files.push_back(
      {.name = "a", .file_bytes = uint64_t{1} << 40, .header = {}, .contents = {}});
  made.files[0].header.assign(bytes.begin(), bytes.end());
  for (size_t count : {0, 1, 2, 3}) {
    made.files[0].contents.resize(count);
    CHECK(!CheckManifest(made, Hash128{~bytes.size(), hash.low}).ok());
  }
}

}  // namespace aster::fetch

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  aster::fetch::CheckAll({data, size});
  return 0;
}
