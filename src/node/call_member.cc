// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/call_member.h"

#include <fmt/format.h>

#include "net/nearest.h"

namespace aster::node {
namespace {

Result<std::vector<std::string>> AddressesOf(const cluster::Member& member) {
  const SystemClock clock;
  std::vector<std::string> addresses = net::NearestAddressesFirst(member.control_addresses, clock);
  if (addresses.empty())
    return Error(Code::kUnavailable, fmt::format("node {} has no address", member.name));
  return addresses;
}

}  // namespace

bool MayTryAnotherAddress(const Error& error) {
  switch (error.code()) {
    case Code::kUnavailable:
    case Code::kDeadlineExceeded:
    case Code::kUnauthenticated:
    case Code::kCancelled:
      return true;
    default:
      return false;
  }
}

Result<Answered<cluster::Description>> ReachMember(const cluster::Identity& identity,
                                                   const cluster::Member& member,
                                                   int64_t patience_ns) {
  const std::vector<std::string> addresses = TRY(AddressesOf(member));
  auto [reached, errors] = CallFastestAddress(
      addresses.size(), kHeadStartNs,
      [&](size_t i) {
        return rpc::ControlClient::Make(
            {.identity = identity, .address = addresses[i], .expect = member.node});
      },
      [&](rpc::ControlClient& client, size_t) { return client.Describe(patience_ns); });
  if (!reached) return errors.front();
  return *std::move(reached);
}

Result<std::shared_ptr<rpc::ControlClient>> ClientOf(const cluster::Identity& identity,
                                                     const cluster::Member& member,
                                                     int64_t patience_ns) {
  if (member.control_addresses.size() == 1) {
    return TRY(rpc::ControlClient::Make({.identity = identity,
                                         .address = member.control_addresses.front(),
                                         .expect = member.node}));
  }
  return TRY(ReachMember(identity, member, patience_ns)).client;
}

}  // namespace aster::node
