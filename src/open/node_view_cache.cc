// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/node_view_cache.h"

#include <utility>

namespace aster::open {

void NodeViewCache::Complete(std::vector<node::NodeView>& views) {
  std::map<wire::NodeId, node::NodeView> last;
  for (node::NodeView& view : views) {
    const wire::NodeId& node = view.member.node;
    if (!used_.contains(node)) continue;
    const auto before = last_.find(node);
    const bool is_gone = view.member.state == cluster::MemberState::kDead ||
                         view.member.state == cluster::MemberState::kLeft;
    if (!view.status && !is_gone && before != last_.end()) view = before->second;
    if (view.status) last[node] = view;
  }
  last_ = std::move(last);
}

}  // namespace aster::open
