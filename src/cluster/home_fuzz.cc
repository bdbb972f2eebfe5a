// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Files of a home as an editor, or a broken disk, may leave them: refused, or written again as they
// were read.
#include "base/check.h"
#include "cluster/home.h"

namespace aster::cluster {
namespace {

void Run(std::string_view text) {
  // Numbers may have leading zeros: the parsed values are the same.
  if (const auto read = home_internal::ParseInvitations(text); read.ok()) {
    const std::string written = home_internal::FormatInvitations(*read);
    const auto again = home_internal::ParseInvitations(written);
    CHECK(again.ok() && home_internal::FormatInvitations(*again) == written);
    CHECK(read->size() <= Home::kMaxInvitations);
  }
  if (const auto read = home_internal::ParsePeers(text); read.ok())
    CHECK(home_internal::FormatPeers(*read) == text && read->size() <= Home::kMaxPeers);
  if (const auto read = home_internal::ParseSeeds(text); read.ok())
    CHECK(home_internal::FormatSeeds(*read) == text && read->size() <= Home::kMaxSeeds);
}

}  // namespace
}  // namespace aster::cluster

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  aster::cluster::Run(aster::AsText({data, size}));
  return 0;
}
