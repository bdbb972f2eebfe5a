// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which KV rows of one text each node holds, and from which nodes stages fetch those they lack.
// Must not know how messages are sent.
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

// A node that may hold KV rows: of a route, or of none.
struct KvPeer {
  plan::PlanNode node;
  double bytes_per_s = 0;  // towards other nodes; 0: not known
};

// A stage that lacks rows.
struct KvDestination {
  wire::NodeId node;
  kv::LayerRange layers;
  uint32_t held = 0;  // positions
};

// Rows of some layers for the stage at index `destination`, from the end of the rows that it holds.
struct KvFetch {
  wire::NodeId from;
  size_t destination = 0;
  kv::LayerRange layers;
};

struct KvSources {
  uint32_t end = 0;  // positions that all stages hold then
  std::vector<KvFetch> fetches;
  uint64_t bytes = 0;  // between nodes
  double seconds = 0;  // time of fetching; 0: not known
};

// The answers to one query. Not for concurrent use.
class KvHoldings {
 public:
  KvHoldings(uint64_t query, uint32_t layer_count) : query_(query), layer_count_(layer_count) {}

  uint64_t query() const { return query_; }

  // The node was asked; has answered; will not answer.
  void Ask(const wire::NodeId& node) { silent_.insert(node); }
  void Take(const wire::NodeId& node, const wire::FoundKv& found);
  void MarkUnreachable(const wire::NodeId& node);
  const std::set<wire::NodeId>& silent() const { return silent_; }
  // Nodes that hold some rows. They keep the query until it is ended.
  std::vector<wire::NodeId> answered() const;

  // The fetches that bring all stages as far as possible, at most to position `goal`; none if no
  // node holds more than they do. `rate_of`: bytes per second that a node sends, 0: not known;
  // `bytes_of`: bytes of a position in these layers.
  KvSources Choose(std::span<const KvDestination> destinations, uint32_t goal,
                   const std::function<double(const wire::NodeId&)>& rate_of,
                   const std::function<double(kv::LayerRange)>& bytes_of) const;

 private:
  uint32_t MostOf(uint32_t layer) const;
  // The node that sends the rows of a layer: `target` itself, or the one that sends those of the
  // layer before (`before`; null: none), or the fastest.
  wire::NodeId SourceOf(uint32_t layer, uint32_t length, const wire::NodeId& target,
                        const wire::NodeId* before,
                        const std::function<double(const wire::NodeId&)>& rate_of) const;

  const uint64_t query_;
  const uint32_t layer_count_;
  std::set<wire::NodeId> silent_;
  std::map<wire::NodeId, std::vector<uint32_t>> lengths_;  // by layer
};

}  // namespace aster::conduct
