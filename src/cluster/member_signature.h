// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which records of members are true: those that the node they are about has signed, with the key of
// its certificate. So no member can speak for another one, and none can make up members. Must not
// know how records and certificates travel.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "cluster/member.h"

namespace aster::cluster {

// The signature of a node's own record.
Result<std::string> SignMember(const Member& member, std::string_view key_pem);

// Certificates of members. Not for concurrent use.
class MemberCertificates {
 public:
  explicit MemberCertificates(std::string authority) : authority_(std::move(authority)) {}

  // Refused where the cluster's authority does not vouch for it.
  Status Add(std::string_view certificate_pem, int64_t wall_s);
  bool Has(const NodeId& node) const { return known_.contains(node); }
  // In PEM; empty where it is not known.
  std::string_view Find(const NodeId& node) const;
  // In its certificate; empty where that is not known.
  std::string_view NameOf(const NodeId& node) const;
  // Forgets all others.
  void KeepOnly(const std::function<bool(const NodeId&)>& is_kept);

  // Whether the node has said so itself; its certificate must be known.
  Status Check(const Member& member) const;

 private:
  struct Known {
    std::string certificate;
    std::string name;
  };

  const std::string authority_;
  std::map<NodeId, Known> known_;
};

}  // namespace aster::cluster
