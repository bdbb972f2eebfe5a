// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A node's answers on the control plane, from its parts. Must not know how calls arrive.
#pragma once

#include <functional>
#include <string_view>

#include "base/clock.h"
#include "cluster/home.h"
#include "cluster/join.h"
#include "fetch/tensor_store.h"
#include "node/drain.h"
#include "node/held_models.h"
#include "node/membership.h"
#include "node/session_inbox.h"
#include "node/weight_offers.h"
#include "rpc/control_service.h"

namespace aster::node {

// Where the answers come from; all of it outlives them.
struct AnswerSources {
  const cluster::Home* home = nullptr;
  const Clock* clock = nullptr;
  Membership* membership = nullptr;
  const HeldModels* models = nullptr;
  const fetch::TensorStore* store = nullptr;
  SessionInbox* sessions = nullptr;  // null: takes no sessions
  WeightOffers* offers = nullptr;
  Drain* drain = nullptr;
  std::function<cluster::Description()> describe;
  std::function<cluster::NodeStatus()> status;
  std::function<void(const cluster::NodeId&)> on_slow_link;
};

class ControlAnswers final : public rpc::ControlService {
 public:
  explicit ControlAnswers(AnswerSources sources);

  Status Admit(const rpc::NodeId& from) override;
  Result<cluster::JoinReply> Join(const cluster::JoinRequest& request) override;
  Result<rpc::Gossip> Exchange(const rpc::NodeId& from, const rpc::Gossip& gossip) override;
  Result<cluster::Description> Describe() override { return sources_.describe(); }
  Result<cluster::NodeStatus> GetStatus() override { return sources_.status(); }
  void OnSlowLink(const rpc::NodeId& from) override { sources_.on_slow_link(from); }
  Result<rpc::ModelManifest> FetchManifest(const Hash128& fingerprint) override;
  Status FetchTensor(const Hash128& fingerprint, std::string_view tensor, uint64_t offset,
                     const rpc::ByteSink& sink) override;
  Result<rpc::SessionReceipt> PutSession(const rpc::NodeId& from,
                                         const rpc::SessionPart& part) override;
  Status OfferWeights(const rpc::NodeId& from, const rpc::WeightsOffer& offer) override;
  Status Drain(const rpc::NodeId& from, const rpc::DrainRequest& request) override {
    return sources_.drain->Take(from, request);
  }

 private:
  const AnswerSources sources_;
  cluster::Admission admission_;
};

}  // namespace aster::node
