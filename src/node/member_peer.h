// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A member of the cluster as a source of weights, at any of its addresses that answers. Must not
// know what the weights are for.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/identity.h"
#include "cluster/member.h"
#include "fetch/part_peers.h"
#include "rpc/control_client.h"

namespace aster::node {

class MemberPeer final : public fetch::PartHolder {
 public:
  // Connects at the first request.
  MemberPeer(cluster::Identity identity, cluster::Member member)
      : identity_(std::move(identity)), member_(std::move(member)) {}

  std::string name() const override { return member_.name; }
  Result<std::vector<cluster::HeldModel>> Held() override;
  Result<rpc::ModelManifest> FetchManifest(const Hash128& fingerprint) override;
  Status FetchTensor(const Hash128& fingerprint, std::string_view tensor, uint64_t offset,
                     const rpc::ByteSink& sink) override;

 private:
  Result<rpc::ControlClient*> Reach();

  const cluster::Identity identity_;
  const cluster::Member member_;
  std::shared_ptr<rpc::ControlClient> client_;  // set once an address has answered
  std::vector<cluster::HeldModel> held_;        // as of that answer
};

}  // namespace aster::node
