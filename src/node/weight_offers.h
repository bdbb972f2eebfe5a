// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Machines that run no node, ask this one to compute, and have the model's files: where each said
// to answer for weights. Must not know how weights are fetched.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "cluster/member.h"
#include "rpc/control_service.h"

namespace aster::node {

// Safe for concurrent use.
class WeightOffers {
 public:
  static constexpr size_t kMaxOffers = 64;
  // They are made again whenever layers are assigned anew.
  static constexpr int64_t kGoodForNs = 600 * kNsPerSecond;

  // Of one machine and model the last one counts; of too many the oldest ones are forgotten.
  void Add(const rpc::NodeId& from, const rpc::WeightsOffer& offer, int64_t now_ns) EXCLUDES(mu_);
  // Whom to ask for this model, the latest first.
  std::vector<cluster::Member> Of(const Hash128& fingerprint, int64_t now_ns) const EXCLUDES(mu_);

 private:
  struct Offer {
    std::vector<std::string> addresses;
    int64_t made_ns = 0;
  };

  mutable Mutex mu_;
  std::map<std::pair<Hash128, rpc::NodeId>, Offer> offers_ GUARDED_BY(mu_);
};

}  // namespace aster::node
