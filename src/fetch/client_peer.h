// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A node of the cluster as a source of weights, over its control plane. Must not know which node
// that is.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "fetch/weight_peer.h"
#include "rpc/control_client.h"

namespace aster::fetch {

class ClientPeer final : public WeightPeer {
 public:
  ClientPeer(std::string name, std::shared_ptr<rpc::ControlClient> client)
      : name_(std::move(name)), client_(std::move(client)) {}

  std::string name() const override { return name_; }
  Result<rpc::ModelManifest> FetchManifest(const Hash128& fingerprint) override {
    return client_->FetchManifest(fingerprint);
  }
  Status FetchTensor(const Hash128& fingerprint, std::string_view tensor, uint64_t offset,
                     const rpc::ByteSink& sink) override {
    return client_->FetchTensor(fingerprint, tensor, offset, sink);
  }

 private:
  const std::string name_;
  const std::shared_ptr<rpc::ControlClient> client_;
};

}  // namespace aster::fetch
