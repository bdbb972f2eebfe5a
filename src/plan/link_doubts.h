// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Doubts the rate of one direction of a link when the other direction has become slow. Each
// direction is measured by the node at its end, and only if it is used or due. Until a doubted
// direction is measured again it counts as slow, too, since a plan with the nodes in the other
// order may be as slow. Must not know how links are measured.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "plan/planner.h"

namespace aster::plan {

// Belongs to one thread.
class LinkDoubts {
 public:
  // `links` between the nodes have the last measured rates; doubted directions get the rate of the
  // other direction.
  void Apply(std::span<const NodeAbility> nodes, std::vector<LinkAbility>& links, int64_t now_ns);

 private:
  using Way = std::pair<wire::NodeId, wire::NodeId>;
  struct Doubt {
    double measured_bytes_per_s = 0;  // when the other direction became slow
    double other_bytes_per_s = 0;
    int64_t until_ns = 0;
  };

  std::map<Way, double> rates_;  // bytes/s, as last measured
  std::map<Way, Doubt> doubts_;
};

}  // namespace aster::plan
