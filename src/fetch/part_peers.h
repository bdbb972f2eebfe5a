// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Peers that have only parts of a model, as peers that have it: what its files are follows from all
// the parts, and each peer is asked for tensors by the name of the part that it has. Must not know
// how peers are reached.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "fetch/parts.h"
#include "fetch/weight_peer.h"

namespace aster::fetch {

// A peer that says of what models it has files.
class PartHolder : public WeightPeer {
 public:
  virtual Result<std::vector<cluster::HeldModel>> Held() = 0;
};

// The manifest of a model where it is known already; null where it is not.
using KnownManifest =
    std::function<std::shared_ptr<const rpc::ModelManifest>(const Hash128& fingerprint)>;

// The same peers, and this machine's parts as one more. All of them together are used by one thread
// at a time.
std::vector<std::shared_ptr<WeightPeer>> PeersWithParts(
    const std::vector<std::shared_ptr<PartHolder>>& holders, std::vector<PartHere> here,
    KnownManifest known);

}  // namespace aster::fetch
