// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The code that one user reads to another, or copies, so that a machine may join: a secret that
// both machines then have. Each proves to the other that it knows it, over all messages: the
// request for a certificate one way, the authority's certificate the other. So no machine in
// between can insert a key or an authority of its own. Must not know who may join nor until when.
//
// Twenty letters and digits in four groups, as in K7QMP-2XRWD-9TJBH-4FNCE: 90 bits that cannot be
// guessed, 10 that detect typing mistakes. I, L, O and U do not occur; they are read as 1, 1, 0 and
// V, small letters as large ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/certificate.h"

namespace aster::cluster {

class InviteCode {
 public:
  static Result<InviteCode> Draw();
  // As typed: spaces and dashes are ignored.
  static Result<InviteCode> Parse(std::string_view text);

  std::string ToText() const;
  // Names the invitation without revealing the code.
  std::string Id() const;
  // The key of proofs.
  std::vector<uint8_t> Secret() const;

 private:
  explicit InviteCode(std::string symbols) : symbols_(std::move(symbols)) {}

  std::string symbols_;  // all twenty
};

}  // namespace aster::cluster
