// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which nodes a cluster does not trust any more: a list that only its authority can make longer,
// and that any node may pass on. Must not know how it travels.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cluster/member.h"

namespace aster::cluster {

class Revocations {
 public:
  // So that a list, of some fifty bytes a node, fits into one message of the control plane.
  static constexpr size_t kMaxNodes = 2048;

  // No node is revoked: the state of a new cluster.
  Revocations() = default;
  // Nothing is believed that the authority of this certificate has not signed.
  static Result<Revocations> Parse(std::string_view text, std::string_view ca_certificate);

  // The list with one node more, signed.
  Result<Revocations> With(const NodeId& node, int64_t wall_s, std::string_view ca_key) const;
  // All nodes of both, signed: of lists that two holders of the authority's key made longer at the
  // same time.
  Result<Revocations> UnitedWith(const Revocations& other, std::string_view ca_key) const;
  // Whether it lacks none of the other's nodes.
  bool Covers(const Revocations& other) const;

  // Of two lists of which one covers the other, the one with the higher serial does. It grows by a
  // number that follows from the node, so that two holders never give one to different lists. 0: no
  // node is revoked.
  uint64_t serial() const { return serial_; }
  // When each was revoked, in seconds since 1970.
  const std::map<NodeId, int64_t>& nodes() const { return nodes_; }
  bool Contains(const NodeId& node) const { return nodes_.contains(node); }
  // As it is kept and sent; empty while no node is revoked.
  const std::string& text() const { return text_; }

 private:
  std::string Body() const;
  Status SignWith(std::string_view ca_key);

  uint64_t serial_ = 0;
  std::map<NodeId, int64_t> nodes_;
  std::string text_;
};

}  // namespace aster::cluster
