// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/cluster_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "node/ask.h"

namespace aster::node {

using cluster::Member;
using cluster::MemberState;

namespace {

constexpr int64_t kEntryNs = 3 * kNsPerSecond;
constexpr int64_t kAnswerNs = 3 * kNsPerSecond;
constexpr size_t kMaxEntries = 16;

// Runs fn(i) for every i at once.
template <typename Fn>
void Together(size_t count, const Fn& fn) {
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < count; ++i) threads.emplace_back([&fn, i] { fn(i); });
}

bool MayAnswer(const Member& member) {
  return member.state == MemberState::kAlive || member.state == MemberState::kSuspect;
}

}  // namespace

Result<std::unique_ptr<ClusterView>> ClusterView::Connect(
    cluster::Identity identity, const std::vector<std::string>& addresses) {
  if (addresses.empty()) {
    return FailedPrecondition(
        "nobody said where a node of the cluster is: start `aster node` on this machine, or name "
        "one with --cluster HOST:PORT");
  }
  const size_t count = std::min(addresses.size(), kMaxEntries);
  std::vector<std::unique_ptr<rpc::ControlClient>> clients(count);
  std::vector<std::optional<Result<rpc::Gossip>>> answers(count);
  Together(count, [&](size_t i) {
    auto client =
        rpc::ControlClient::Make({.identity = identity, .address = addresses[i], .expect = {}});
    if (!client.ok()) {
      answers[i] = client.error();
      return;
    }
    clients[i] = *std::move(client);
    answers[i] = clients[i]->Exchange({}, kEntryNs);
  });
  std::string reasons;
  for (size_t i = 0; i < count; ++i) {
    if (answers[i]->ok()) {
      // tidy: allow(ownership) make_unique does not reach a private constructor
      return std::unique_ptr<ClusterView>(new ClusterView(
          std::move(identity), std::move(clients[i]), std::move((*answers[i])->members)));
    }
    reasons += fmt::format("\n  {}: {}", addresses[i], answers[i]->error().message());
  }
  return Error(Code::kUnavailable,
               fmt::format("no node of the cluster {} answers:{}", identity.cluster_name, reasons));
}

Result<std::vector<Member>> ClusterView::Members() {
  const auto told = entry_->Exchange({}, kEntryNs);
  if (told.ok()) return told->members;
  // Whom we asked so far may have gone: anybody else will do.
  std::vector<std::string> others;
  for (const Member& member : members_) {
    if (MayAnswer(member) && !member.control_addresses.empty())
      others.push_back(member.control_addresses.front());
  }
  std::unique_ptr<ClusterView> again = TRY(Connect(identity_, others));
  entry_ = std::move(again->entry_);
  return std::move(again->members_);
}

Result<std::vector<NodeView>> ClusterView::Look() {
  members_ = TRY(Members());
  std::vector<NodeView> views(members_.size());
  Together(members_.size(), [&](size_t i) {
    NodeView& view = views[i];
    view.member = members_[i];
    if (!MayAnswer(view.member)) return;
    const auto asked =
        AskAnywhere(identity_, view.member, [&](rpc::ControlClient& client) -> Status {
          view.description = TRY(client.Describe(kAnswerNs));
          view.status = TRY(client.GetStatus(kAnswerNs));
          return Ok();
        });
    if (!asked.ok()) view.why = asked.error().message();
  });
  std::ranges::sort(views, {}, [](const NodeView& view) { return view.member.name; });
  return views;
}

}  // namespace aster::node
