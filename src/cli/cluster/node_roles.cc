// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/cluster/node_roles.h"

#include <algorithm>

namespace aster::cli {

NodeRoles RolesOf(const node::NodeView& node) {
  NodeRoles roles;
  if (!node.description) return roles;
  roles.has_kv_rows = node.status && node.status->disk_cache;
  if (node.status && node.status->is_drained) return roles;
  const cluster::Description& machine = *node.description;
  roles.computes = machine.memory_bytes > 0;
  roles.answers = std::ranges::any_of(machine.models, [&](const cluster::HeldModel& model) {
    return model.is_whole() && model.tensor_bytes <= machine.memory_bytes;
  });
  roles.drafts = !machine.drafters.empty();
  return roles;
}

}  // namespace aster::cli
