// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/cluster_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/log.h"
#include "net/nearest.h"
#include "node/call_member.h"

namespace aster::node {

using cluster::Member;
using cluster::MemberState;

namespace {

constexpr int64_t kEntryNs = 3 * kNsPerSecond;
constexpr int64_t kAnswerNs = 3 * kNsPerSecond;
// A request waits for nodes that failed recently this multiple of the time that the others took,
// within limits.
constexpr int64_t kTimesOfOthers = 4;
constexpr int64_t kLeastDoubtedNs = 300 * kNsPerMs;
constexpr int64_t kDoubtedNs = 3 * kNsPerSecond / 2;
constexpr size_t kMaxEntries = 16;  // asked at once

// Runs fn(i) for all i at once.
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
        "no address of a node of the cluster is known: start `aster node` on this machine, or name "
        "one that runs with --via HOST:PORT");
  }
  Reasons reasons;
  for (size_t begin = 0; begin < addresses.size(); begin += kMaxEntries) {
    const std::span<const std::string> some =
        std::span(addresses).subspan(begin, std::min(kMaxEntries, addresses.size() - begin));
    if (auto view = TryAll(identity, some, reasons)) return view;
  }
  return Error(
      reasons.are_all_silent ? Code::kDeadlineExceeded : Code::kUnavailable,
      fmt::format("no node of the cluster {} answers:{}", identity.cluster_name, reasons.text));
}

std::unique_ptr<ClusterView> ClusterView::TryAll(const cluster::Identity& identity,
                                                 std::span<const std::string> addresses,
                                                 Reasons& reasons) {
  auto [answered, errors] = CallFastestAddress(
      addresses.size(), /*head_start_ns=*/0,
      [&](size_t i) {
        return rpc::ControlClient::Make(
            {.identity = identity, .address = addresses[i], .expect = {}});
      },
      [&](rpc::ControlClient& client, size_t) { return client.Exchange({}, kEntryNs); });
  if (answered) {
    // tidy: allow(ownership) make_unique does not reach a private constructor
    return std::unique_ptr<ClusterView>(new ClusterView(identity, std::move(answered->client),
                                                        addresses[answered->index],
                                                        std::move(answered->answer.members)));
  }
  for (size_t i = 0; i < errors.size(); ++i) {
    const std::string& why = errors[i].message();
    if (errors[i].code() != Code::kDeadlineExceeded) reasons.are_all_silent = false;
    const bool says_where = why.starts_with(addresses[i]);
    reasons.text +=
        fmt::format("\n  {}{}{}", says_where ? "" : addresses[i], says_where ? "" : ": ", why);
  }
  return nullptr;
}

Result<std::vector<Member>> ClusterView::Members(std::span<const cluster::NodeId> doubted) {
  const auto is_entry = [&](const Member& member) {
    return std::ranges::count(member.control_addresses, entry_address_) > 0;
  };
  const auto is_doubted = [&](const Member& member) {
    return std::ranges::count(doubted, member.node) > 0;
  };
  const bool may_be_gone = std::ranges::any_of(
      members_, [&](const Member& member) { return is_entry(member) && is_doubted(member); });
  // If the entry node may have failed, another one answers in milliseconds.
  const auto is_well = [&](const Member& member) {
    return !is_entry(member) && !is_doubted(member);
  };
  if (may_be_gone) {
    if (auto told = AskOther(is_well); told.ok()) return told;
  }
  const auto told = entry_->Exchange({}, may_be_gone ? kDoubtedNs : kEntryNs);
  if (told.ok()) return told->members;
  // Asks any other node, or the same one over a new connection.
  const bool is_silent = told.error().code() == Code::kDeadlineExceeded;
  auto other = AskOther(
      [&](const Member& member) {
        return is_entry(member) || (!may_be_gone && !is_doubted(member));
      },
      is_silent ? entry_address_ : "");
  if (!other.ok() && other.error().code() == Code::kNotFound) return told.error();
  return other;
}

Result<std::vector<Member>> ClusterView::AskOther(
    const std::function<bool(const Member&)>& may_know, const std::string& silent) {
  std::vector<std::vector<std::string>> addresses_of;
  for (const Member& member : members_) {
    if (!MayAnswer(member) || !may_know(member)) continue;
    std::vector<std::string> its = member.control_addresses;
    std::erase(its, silent);
    if (!its.empty()) addresses_of.push_back(std::move(its));
  }
  const SystemClock clock;
  Together(addresses_of.size(),
           [&](size_t i) { addresses_of[i] = net::NearestAddressesFirst(addresses_of[i], clock); });
  // The nearest address of each, then the others: the nearest one may be unreachable.
  std::vector<std::string> addresses;
  for (size_t rank = 0, before = 0; rank == 0 || addresses.size() > before; ++rank) {
    before = addresses.size();
    for (const auto& its : addresses_of) {
      if (rank < its.size()) addresses.push_back(its[rank]);
    }
  }
  if (addresses.empty()) return NotFound("no other node of the cluster is known");
  std::unique_ptr<ClusterView> again = TRY(Connect(identity_, addresses));
  entry_ = std::move(again->entry_);
  entry_address_ = std::move(again->entry_address_);
  return std::move(again->members_);
}

Result<std::vector<NodeView>> ClusterView::Look(std::span<const cluster::NodeId> doubted) {
  members_ = TRY(Members(doubted));
  std::vector<NodeView> views(members_.size());
  std::vector<NodeView*> well, in_doubt;
  for (size_t i = 0; i < views.size(); ++i) {
    views[i].member = members_[i];
    if (!MayAnswer(members_[i])) continue;
    const bool is_doubted = std::ranges::count(doubted, members_[i].node) > 0;
    (is_doubted ? in_doubt : well).push_back(&views[i]);
  }
  const SystemClock clock;
  const int64_t begin_ns = clock.NowNs();
  Together(well.size(), [&](size_t i) { QueryStatus(*well[i], kAnswerNs); });
  const int64_t took_ns = clock.NowNs() - begin_ns;
  const int64_t patience_ns =
      well.empty() ? kDoubtedNs : std::clamp(kTimesOfOthers * took_ns, kLeastDoubtedNs, kDoubtedNs);
  Together(in_doubt.size(), [&](size_t i) { QueryStatus(*in_doubt[i], patience_ns); });
  std::ranges::sort(views, {}, [](const NodeView& view) { return view.member.name; });
  return views;
}

void ClusterView::QueryStatus(NodeView& view, int64_t patience_ns) const {
  const auto ask = [&]() -> Status {
    auto reached = TRY(ReachMember(identity_, view.member, patience_ns));
    view.description = std::move(reached.answer);
    view.status = TRY(reached.client->GetStatus(patience_ns));
    return Ok();
  };
  const Status asked = ask();
  if (!asked.ok()) view.why = asked.error().message();
}

void ClusterView::OfferWeights(std::span<const NodeView> nodes,
                               const rpc::WeightsOffer& offer) const {
  Together(nodes.size(), [&](size_t i) {
    const Status told = CallMember(
        identity_, nodes[i].member,
        [&](rpc::ControlClient& client) -> Status { return client.OfferWeights(offer, kAnswerNs); },
        kAnswerNs);
    if (!told.ok()) {
      log::Debug("a node cannot fetch weights from here",
                 {{"node", nodes[i].member.name}, {"why", told.error().message()}});
    }
  });
}

Status RememberMembers(const cluster::Home& home, const std::vector<Member>& members) {
  const auto held = home.LoadPeers();
  std::vector<cluster::KnownPeer> fresh;
  for (const Member& member : members) {
    if (!MayAnswer(member) || member.control_addresses.empty()) continue;
    const bool is_known =
        held.ok() && std::ranges::any_of(*held, [&](const cluster::KnownPeer& peer) {
          return peer.node == member.node && peer.name == member.name &&
                 peer.addresses == member.control_addresses;
        });
    if (!is_known) fresh.push_back({member.node, member.name, member.control_addresses});
  }
  return fresh.empty() ? Ok() : home.StorePeers(fresh);
}

}  // namespace aster::node
