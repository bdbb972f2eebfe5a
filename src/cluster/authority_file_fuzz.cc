// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Any file that claims to be an authority's key: only one that was encrypted with the code is
// accepted.
#include "base/check.h"
#include "cluster/authority_file.h"

namespace aster::cluster {
namespace {

void Run(std::string_view text) {
  static const Authority kAuthority = MakeClusterAuthority("fuzz", 1'800'000'000).value();
  static const InviteCode kCode = InviteCode::Draw().value();
  const auto authority = ParseAuthorityFile(text, kCode, kAuthority.certificate);
  CHECK(!authority.ok() && !authority.error().message().empty());
}

}  // namespace
}  // namespace aster::cluster

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  aster::cluster::Run(aster::AsText({data, size}));
  return 0;
}
