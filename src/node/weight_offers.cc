// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/weight_offers.h"

#include <algorithm>
#include <functional>
#include <ranges>

namespace aster::node {

void WeightOffers::Add(const rpc::NodeId& from, const rpc::WeightsOffer& offer, int64_t now_ns) {
  const MutexLock lock(mu_);
  offers_[{offer.fingerprint, from}] = {offer.addresses, now_ns};
  if (offers_.size() <= kMaxOffers) return;
  offers_.erase(
      std::ranges::min_element(offers_, {}, [](const auto& each) { return each.second.made_ns; }));
}

std::vector<cluster::Member> WeightOffers::Of(const Hash128& fingerprint, int64_t now_ns) const {
  std::vector<std::pair<int64_t, cluster::Member>> found;
  {
    const MutexLock lock(mu_);
    for (const auto& [key, offer] : offers_) {
      if (key.first != fingerprint || now_ns - offer.made_ns > kGoodForNs) continue;
      cluster::Member member;
      member.node = key.second;
      member.name = "the machine that asks";
      member.control_addresses = offer.addresses;
      found.emplace_back(offer.made_ns, std::move(member));
    }
  }
  std::ranges::stable_sort(found, std::greater(), &std::pair<int64_t, cluster::Member>::first);
  std::vector<cluster::Member> members;
  for (auto& [made_ns, member] : found) members.push_back(std::move(member));
  return members;
}

}  // namespace aster::node
