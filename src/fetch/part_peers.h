// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Presents peers with parts of a model as peers with the whole: all parts together show its files,
// and each peer is asked for tensors by the fingerprint of its own part. Must not know how peers
// are reached.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "fetch/parts.h"
#include "fetch/weight_peer.h"

namespace aster::fetch {

// A peer that lists the models of which it has files.
class PartHolder : public WeightPeer {
 public:
  virtual Result<std::vector<cluster::HeldModel>> Held() = 0;
};

// The manifest of a model if it is known already; otherwise null.
using KnownManifest =
    std::function<std::shared_ptr<const rpc::ModelManifest>(const Hash128& fingerprint)>;

// The same peers, and this machine's parts as one more. One thread at a time uses all of them.
std::vector<std::shared_ptr<WeightPeer>> PeersWithParts(
    const std::vector<std::shared_ptr<PartHolder>>& holders, std::vector<PartHere> here,
    KnownManifest known);

}  // namespace aster::fetch
