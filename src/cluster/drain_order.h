// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Orders to take a node out of use and to put it back: the holder of the cluster's key signs them.
// (The node's own machine needs no signature.) Must not know how an order is sent.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cluster/member.h"

namespace aster::cluster {

// Signed with the authority's key. The order is for this node alone.
Result<std::string> SignDrainOrder(const NodeId& node, bool is_drained, std::string_view ca_key);
// PermissionDenied unless the authority of this certificate has signed this order.
Status CheckDrainOrder(const NodeId& node, bool is_drained, std::string_view signature,
                       std::string_view ca_certificate);

}  // namespace aster::cluster
