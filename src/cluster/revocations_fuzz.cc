// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Lists of revoked nodes from untrusted senders. Signatures would stop nearly all of them, so the
// same bytes are also tried as the body of a list that the authority has signed.
#include "base/check.h"
#include "cluster/identity.h"
#include "cluster/revocations.h"
#include "cluster/signature.h"
#include "cluster/word_lines.h"

namespace aster::cluster {
namespace {

void Run(std::string_view text) {
  static const Authority kAuthority = MakeClusterAuthority("fuzz", 1'800'000'000).value();
  const auto judge = [](std::string_view candidate) {
    const auto list = Revocations::Parse(candidate, kAuthority.certificate);
    if (!list.ok()) {
      CHECK(!list.error().message().empty());
      return;
    }
    CHECK(list->nodes().size() <= Revocations::kMaxNodes);
    CHECK(list->text() == candidate && candidate.empty() == (list->serial() == 0));
  };
  judge(text);
  const auto signature = Sign(kAuthority.key, AsBytes(text));
  CHECK(signature.ok());
  judge(std::string(text) + "signature " + ToHex(*signature) + "\n");
}

}  // namespace
}  // namespace aster::cluster

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  aster::cluster::Run(aster::AsText({data, size}));
  return 0;
}
