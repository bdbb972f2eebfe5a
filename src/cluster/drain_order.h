// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Who may take a node out of use for others, and put it into use again: the holder of the cluster's
// key, by a signature. (A node's own machine needs none.) Must not know how an order travels.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cluster/member.h"

namespace aster::cluster {

// By the authority's key. The order is for this node alone.
Result<std::string> SignDrainOrder(const NodeId& node, bool is_drained, std::string_view ca_key);
// PermissionDenied where the authority of this certificate has not signed this order.
Status CheckDrainOrder(const NodeId& node, bool is_drained, std::string_view signature,
                       std::string_view ca_certificate);

}  // namespace aster::cluster
