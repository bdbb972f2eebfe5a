// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The revoked nodes of a cluster: a list that only its authority can extend, and that any node may
// pass on. Must not know how it is sent.
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
  // So a list, of some fifty bytes per node, fits into one message of the control plane.
  static constexpr size_t kMaxNodes = 2048;

  // No node is revoked: the state of a new cluster.
  Revocations() = default;
  // An error unless the authority of this certificate has signed the list.
  static Result<Revocations> Parse(std::string_view text, std::string_view ca_certificate);

  // The list with one more node, signed.
  Result<Revocations> With(const NodeId& node, int64_t wall_s, std::string_view ca_key) const;
  // All nodes of both, signed: for lists that two holders of the authority's key extended at the
  // same time.
  Result<Revocations> MergedWith(const Revocations& other, std::string_view ca_key) const;
  // Whether it has all nodes of the other list.
  bool Covers(const Revocations& other) const;

  // If one of two lists covers the other, it has the higher serial. It grows by a number that
  // depends on the node, so that two holders never give the same serial to different lists. 0: no
  // node is revoked.
  uint64_t serial() const { return serial_; }
  // The time of each revocation, in seconds since 1970.
  const std::map<NodeId, int64_t>& nodes() const { return nodes_; }
  bool Contains(const NodeId& node) const { return nodes_.contains(node); }
  // The text that is stored and sent; empty while no node is revoked.
  const std::string& text() const { return text_; }

 private:
  std::string Body() const;
  Status SignWith(std::string_view ca_key);

  uint64_t serial_ = 0;
  std::map<NodeId, int64_t> nodes_;
  std::string text_;
};

}  // namespace aster::cluster
