// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Machines that offer weights: they run no node, ask this one to compute, and have the model's
// files. Must not know how weights are fetched.
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
  // Offers expire; machines repeat them whenever layers are assigned.
  static constexpr int64_t kGoodForNs = 600 * kNsPerSecond;

  // A machine's last offer for a model replaces earlier ones; of too many the oldest are dropped.
  void Add(const rpc::NodeId& from, const rpc::WeightsOffer& offer, int64_t now_ns) EXCLUDES(mu_);
  // The machines to ask for this model, the latest offer first.
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
