// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Who remembers what of a text, and what to fetch from whom: whatever the stages that are to
// compute lack, if fetching it takes less time than computing it. Must not know messages' ways.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "kv/layout.h"
#include "plan/plan.h"
#include "wire/messages.h"

namespace aster::conduct {

// A node that may remember texts: of a route, or of none. Rates that are 0 are not known.
struct KvPeer {
  plan::PlanNode node;
  double bytes_per_s = 0;  // on its way to others
};

// What a stage has, and would like to have more of.
struct KvWant {
  wire::NodeId node;
  kv::LayerRange layers;
  uint32_t held = 0;  // positions
};

// Rows of some layers of the stage at `want` go to it, from the position that it holds.
struct KvFetch {
  wire::NodeId from;
  size_t want = 0;
  kv::LayerRange layers;
};

struct KvSources {
  uint32_t end = 0;  // all of them hold so many positions then
  std::vector<KvFetch> fetches;
  uint64_t bytes = 0;
  double seconds = 0;  // that fetching takes; 0: not known
};

// Of one request. Not for concurrent use.
class PrefixSearch {
 public:
  PrefixSearch(uint64_t query, uint32_t layer_count) : query_(query), layer_count_(layer_count) {}

  uint64_t query() const { return query_; }

  // The node was asked, has answered, or will not.
  void Ask(const wire::NodeId& node) { silent_.insert(node); }
  void Take(const wire::NodeId& node, const wire::FoundKv& found);
  void Lose(const wire::NodeId& node);
  const std::set<wire::NodeId>& silent() const { return silent_; }
  // Those who have been asked for anything and may be told that it is over.
  std::vector<wire::NodeId> answered() const;

  // Up to `goal` positions at most. Nothing where nobody has more than is held. The rate is that of
  // a node towards others (0: not known); bytes_of says what a position of these layers takes.
  KvSources Choose(std::span<const KvWant> wants, uint32_t goal,
                   const std::function<double(const wire::NodeId&)>& rate_of,
                   const std::function<double(kv::LayerRange)>& bytes_of) const;

 private:
  uint32_t MostOf(uint32_t layer) const;
  // Who gives the rows of a layer: itself, who gives those of the layer before, or the fastest.
  wire::NodeId SourceOf(uint32_t layer, uint32_t length, const wire::NodeId& target,
                        const wire::NodeId* before,
                        const std::function<double(const wire::NodeId&)>& rate_of) const;

  const uint64_t query_;
  const uint32_t layer_count_;
  std::set<wire::NodeId> silent_;
  std::map<wire::NodeId, std::vector<uint32_t>> lengths_;  // by layer
};

}  // namespace aster::conduct
