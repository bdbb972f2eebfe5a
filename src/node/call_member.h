// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Calls a member of the cluster at the address that answers: a machine with several networks
// announces all its addresses, and others may not always reach each of them. Must not know what is
// asked.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "cluster/identity.h"
#include "cluster/member.h"
#include "node/race.h"
#include "rpc/control_client.h"

namespace aster::node {

// A healthy node answers in milliseconds. A stalled one answers at none of its addresses.
inline constexpr int64_t kHeadStartNs = 300 * kNsPerMs;

// Whether another address may help: the error says that no node was reached.
bool MayTryAnotherAddress(const Error& error);

// The answer, and which of the addresses gave it.
template <typename Answer>
struct Answered {
  size_t index = 0;  // of the addresses
  std::shared_ptr<rpc::ControlClient> client;
  Answer answer;
};

// make(i) makes a client for address i; call(client, i) returns a Result. It is called for the
// first address, and if that fails or takes longer than the head start, for all others at the same
// time. Returns the first answer; the errors are those of all addresses, or that of a node that
// refuses.
template <typename Make, typename Call>
auto CallFastestAddress(size_t count, int64_t head_start_ns, const Make& make, const Call& call) {
  using Answer = std::decay_t<decltype(*call(std::declval<rpc::ControlClient&>(), size_t{}))>;
  using AllResult = std::pair<std::optional<Answered<Answer>>, std::vector<Error>>;
  Mutex mu;
  std::vector<std::shared_ptr<rpc::ControlClient>> clients(count);
  std::vector<bool> is_given_up(count);
  std::vector<std::optional<Result<Answer>>> answers(count);
  const auto client_of = [&](size_t i) -> Result<std::shared_ptr<rpc::ControlClient>> {
    std::shared_ptr<rpc::ControlClient> client = TRY(make(i));
    const MutexLock lock(mu);
    if (is_given_up[i]) return Error(Code::kCancelled, "another address answered sooner");
    clients[i] = client;
    return client;
  };
  SystemClock clock;
  const auto winner = RunRace({.count = count,
                               .head_start_ns = head_start_ns,
                               .attempt =
                                   [&](size_t i) {
                                     auto client = client_of(i);
                                     if (client.ok()) {
                                       answers[i].emplace(call(**client, i));
                                     } else {
                                       answers[i].emplace(client.error());
                                     }
                                     if (answers[i]->ok()) return Outcome::kArrived;
                                     return MayTryAnotherAddress(answers[i]->error())
                                                ? Outcome::kFailed
                                                : Outcome::kRefused;
                                   },
                               .give_up =
                                   [&](size_t i) {
                                     const MutexLock lock(mu);
                                     is_given_up[i] = true;
                                     if (clients[i]) clients[i]->Cancel();
                                   }},
                              clock);
  AllResult result;
  if (winner && answers[*winner]->ok()) {
    result.first.emplace(Answered<Answer>{
        .index = *winner, .client = clients[*winner], .answer = *std::move(*answers[*winner])});
  } else if (winner) {
    result.second.push_back(answers[*winner]->error());
  } else {
    for (const auto& answer : answers) result.second.push_back(answer->error());
  }
  return result;
}

// Connects to the member at the address that answers first, with a head start for the nearest one,
// and returns its description, too. Waits for at most this long.
Result<Answered<cluster::Description>> ReachMember(const cluster::Identity& identity,
                                                   const cluster::Member& member,
                                                   int64_t patience_ns);
// Likewise, but does not call a member that has only one address.
Result<std::shared_ptr<rpc::ControlClient>> ClientOf(const cluster::Identity& identity,
                                                     const cluster::Member& member,
                                                     int64_t patience_ns);

// call(rpc::ControlClient&) gives a Result; it is called once.
template <typename Call>
auto CallMember(const cluster::Identity& identity, const cluster::Member& member, const Call& call,
                int64_t patience_ns = rpc::ControlClient::kCallNs)
    -> decltype(call(std::declval<rpc::ControlClient&>())) {
  return call(*TRY(ClientOf(identity, member, patience_ns)));
}

}  // namespace aster::node
