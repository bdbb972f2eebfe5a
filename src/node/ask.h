// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Asks a member of the cluster something at whichever of its addresses it answers: a machine with
// several networks tells them all, and not everybody reaches each, nor at every time. Must not know
// what is asked.
#pragma once

#include <fmt/format.h>

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "cluster/identity.h"
#include "cluster/member.h"
#include "net/nearest.h"
#include "rpc/control_client.h"

namespace aster::node {

// ask(rpc::ControlClient&) gives a Result; that of the nearest address where it succeeds is
// returned, or the last address's error.
template <typename Ask>
auto AskAnywhere(const cluster::Identity& identity, const cluster::Member& member, const Ask& ask)
    -> decltype(ask(std::declval<rpc::ControlClient&>())) {
  Error why(Code::kUnavailable, fmt::format("node {} has no address", member.name));
  const SystemClock clock;
  for (const std::string& address : net::NearestAddressesFirst(member.control_addresses, clock)) {
    const auto client =
        rpc::ControlClient::Make({.identity = identity, .address = address, .expect = member.node});
    if (!client.ok()) {
      why = client.error();
      continue;
    }
    auto answer = ask(**client);
    // Only where no node was reached another address may help.
    if (answer.ok() || (answer.error().code() != Code::kUnavailable &&
                        answer.error().code() != Code::kDeadlineExceeded &&
                        answer.error().code() != Code::kUnauthenticated)) {
      return answer;
    }
    why = answer.error();
  }
  return why;
}

}  // namespace aster::node
