// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Another machine with weights that are wanted here. Must not know how it is reached, nor where the
// bytes go.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/result.h"
#include "rpc/control_service.h"

namespace aster::fetch {

// Used by one thread at a time. Every call ends after a bounded silence.
class WeightPeer {
 public:
  virtual ~WeightPeer() = default;

  // For users.
  virtual std::string name() const = 0;
  virtual Result<rpc::ModelManifest> FetchManifest(const Hash128& fingerprint) = 0;
  // The tensor's bytes from `offset` to its end. NotFound if the peer lacks this tensor; an error
  // of the sink ends the call.
  virtual Status FetchTensor(const Hash128& fingerprint, std::string_view tensor, uint64_t offset,
                             const rpc::ByteSink& sink) = 0;
};

}  // namespace aster::fetch
