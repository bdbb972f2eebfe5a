// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A member of the cluster as a source of weights, at whichever of its addresses it answers. Must
// not know what the weights are for.
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
  // Reaches out when it is first asked.
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
  std::shared_ptr<rpc::ControlClient> client_;  // once an address has answered
  std::vector<cluster::HeldModel> held_;        // as it said then
};

}  // namespace aster::node
