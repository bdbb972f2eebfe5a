// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What plans can use a node for. Must not know how it is shown.
#pragma once

#include "node/cluster_view.h"

namespace aster::cli {

struct NodeRoles {
  bool computes = false;  // layers: prefill, decode, and its part of a group
  bool answers = false;   // with a whole model, as a member of an ensemble
  bool drafts = false;
  bool has_kv_rows = false;  // on its disk, for other nodes: also if it is drained
};
NodeRoles RolesOf(const node::NodeView& node);

}  // namespace aster::cli
