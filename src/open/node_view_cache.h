// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The last answers of nodes. A busy node, or one behind a full link, sometimes answers too late:
// while a route runs on it and it is not known to have failed, its last answer counts. Must not
// know how answers are used.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "node/cluster_view.h"

namespace aster::open {

class NodeViewCache {
 public:
  // Sets the nodes of the present route.
  void SetUsed(std::set<wire::NodeId> nodes) { used_ = std::move(nodes); }
  // Fills in the last answers of used nodes that did not answer.
  void Complete(std::vector<node::NodeView>& views);

 private:
  std::set<wire::NodeId> used_;
  std::map<wire::NodeId, node::NodeView> last_;
};

}  // namespace aster::open
