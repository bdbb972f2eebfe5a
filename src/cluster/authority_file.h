// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The authority's key as a file that may be stored anywhere: encrypted with a code that is drawn
// for it and is not in it. A machine of the cluster that has both becomes a second holder of the
// key. Must not know where files and codes are stored.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cluster/identity.h"
#include "cluster/invite_code.h"

namespace aster::cluster {

inline constexpr size_t kMaxAuthorityFileBytes = 16 << 10;

// `code` must be a fresh one: it has 90 random bits, so the file reveals nothing that could be
// guessed.
Result<std::string> FormatAuthorityFile(const Authority& authority, const InviteCode& code);
// An error if the file is of another cluster than `ca_certificate`, or the code of another file.
Result<Authority> ParseAuthorityFile(std::string_view text, const InviteCode& code,
                                     std::string_view ca_certificate);

}  // namespace aster::cluster
