// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which records of members are true: those that the node they are about has signed, with the key of
// its certificate. So no member can speak for another one, and none can invent members. Must not
// know how records and certificates are sent.
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

  // An error unless the cluster's authority has signed it.
  Status Add(std::string_view certificate_pem, int64_t wall_s);
  bool Has(const NodeId& node) const { return known_.contains(node); }
  // In PEM; empty if unknown.
  std::string_view Find(const NodeId& node) const;
  // The name in its certificate; empty if that is unknown.
  std::string_view NameOf(const NodeId& node) const;
  // Drops all others.
  void KeepOnly(const std::function<bool(const NodeId&)>& is_kept);

  // Whether the node itself has signed the record; its certificate must be known.
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
