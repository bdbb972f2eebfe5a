// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whatever users type as a code: refused with a message, or accepted and printed the same.
#include "base/check.h"
#include "cluster/invite_code.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using aster::cluster::InviteCode;
  const auto code = InviteCode::Parse(aster::AsText({data, size}));
  if (!code.ok()) {
    CHECK(!code.error().message().empty());
    return 0;
  }
  const auto again = InviteCode::Parse(code->ToText());
  CHECK(again.ok() && again->Id() == code->Id() && again->Secret() == code->Secret());
  return 0;
}
