// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/membership_state.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace aster::cluster {
namespace {

// How final a state is within one incarnation: no heartbeat brings a node back from the dead, only
// a new incarnation does.
int Finality(MemberState state) {
  switch (state) {
    case MemberState::kLeft:
      return 2;
    case MemberState::kDead:
      return 1;
    default:
      return 0;
  }
}

bool IsReachable(MemberState state) {
  return state == MemberState::kAlive || state == MemberState::kSuspect;
}

bool IsNewer(const Member& a, const Member& b) {
  const auto key = [](const Member& m) {
    // Of equal heartbeats suspicion counts: a node waited for the next one in vain.
    return std::tuple(m.incarnation, Finality(m.state), m.heartbeat,
                      m.state == MemberState::kSuspect);
  };
  return key(a) > key(b);
}

}  // namespace

MembershipState::MembershipState(Member self, const MembershipOptions& options, uint64_t seed,
                                 int64_t now_ns)
    : options_(options), random_(seed), self_(std::move(self)), next_tick_ns_(now_ns) {
  self_.state = MemberState::kAlive;
  self_.incarnation = std::clamp<uint64_t>(self_.incarnation, 1, kMaxIncarnation - 1);
}

void MembershipState::AddSeed(const std::string& address) {
  if (seeds_.size() >= options_.max_seeds || std::ranges::count(seeds_, address) > 0) return;
  seeds_.push_back(address);
}

std::vector<Contact> MembershipState::Tick(int64_t now_ns) {
  next_tick_ns_ = now_ns + options_.gossip_interval_ns;
  ++self_.heartbeat;
  Judge(now_ns);

  std::vector<Contact> contacts;
  const auto pick = [&](const std::vector<const MemberView*>& from) {
    const Member& member = from[random_.NextBelow(from.size())]->member;
    contacts.push_back({member.node, member.control_addresses});
  };
  const auto reachable = InState(true);
  if (!reachable.empty()) pick(reachable);
  // The dead may only have been cut off: one side has to try, or two halves never meet again.
  const auto dead = InState(false);
  if (!dead.empty() && (reachable.empty() || random_.NextBelow(4) == 0)) pick(dead);
  if (!seeds_.empty() && (reachable.empty() || random_.NextBelow(8) == 0))
    contacts.push_back({std::nullopt, {seeds_[random_.NextBelow(seeds_.size())]}});
  return contacts;
}

std::vector<const MemberView*> MembershipState::InState(bool reachable) const {
  std::vector<const MemberView*> found;
  for (const auto& [node, view] : others_) {
    const bool fits =
        reachable ? IsReachable(view.member.state) : view.member.state == MemberState::kDead;
    if (fits && !view.member.control_addresses.empty()) found.push_back(&view);
  }
  return found;
}

void MembershipState::Judge(int64_t now_ns) {
  for (auto it = others_.begin(); it != others_.end();) {
    MemberView& view = it->second;
    const auto turn = [&](MemberState state) {
      view.member.state = state;
      view.state_ns = now_ns;
      ++version_;
    };
    if (view.member.state == MemberState::kAlive &&
        now_ns - view.news_ns >= options_.suspect_after_ns) {
      turn(MemberState::kSuspect);
    } else if (view.member.state == MemberState::kSuspect &&
               now_ns - view.state_ns >= options_.dead_after_ns) {
      turn(MemberState::kDead);
    }
    const bool is_over = !IsReachable(view.member.state);
    if (is_over && now_ns - view.state_ns >= options_.forget_after_ns) {
      it = others_.erase(it);
      ++version_;
    } else {
      ++it;
    }
  }
}

std::vector<Member> MembershipState::Records() const {
  std::vector<Member> records = {self_};
  for (const auto& [node, view] : others_) records.push_back(view.member);
  return records;
}

Status MembershipState::Merge(std::span<const Member> records, int64_t now_ns) {
  Status status;
  // One more than a table can hold is enough to see that the sender breaks the rules.
  const size_t count = std::min(records.size(), options_.max_members + 1);
  for (const Member& record : records.first(count)) {
    if (Status checked = CheckMember(record); !checked.ok()) {
      if (status.ok()) status = std::move(checked);
      continue;
    }
    if (record.node == self_.node) {
      MergeSelf(record);
    } else if (!revoked_.contains(record.node)) {
      MergeOther(record, now_ns);
    }
  }
  return status;
}

void MembershipState::MergeSelf(const Member& record) {
  if (self_.state == MemberState::kLeft) return;
  const bool is_of_another_life = record.incarnation > self_.incarnation;
  const bool is_wrong =
      record.incarnation == self_.incarnation && record.state != MemberState::kAlive;
  if (!is_of_another_life && !is_wrong) return;
  self_.incarnation = std::min(record.incarnation + 1, kMaxIncarnation);
  ++version_;
}

void MembershipState::MergeOther(const Member& record, int64_t now_ns) {
  const auto found = others_.find(record.node);
  if (found == others_.end()) {
    // Who is over and was never known does not matter; so what was forgotten stays forgotten.
    if (!IsReachable(record.state) || !MakeRoom()) return;
    others_.emplace(record.node, MemberView{record, now_ns, now_ns});
    ++version_;
    return;
  }
  MemberView& view = found->second;
  if (!IsNewer(record, view.member)) return;
  // Suspicion is no news of the node: its time goes on running.
  const bool is_news = std::pair(record.incarnation, record.heartbeat) >
                       std::pair(view.member.incarnation, view.member.heartbeat);
  if (is_news) view.news_ns = now_ns;
  Member expected = view.member;
  expected.heartbeat = record.heartbeat;
  if (record.state != view.member.state) view.state_ns = now_ns;
  if (expected != record) ++version_;
  view.member = record;
}

bool MembershipState::MakeRoom() {
  if (others_.size() + 1 < options_.max_members) return true;
  auto oldest = others_.end();
  for (auto it = others_.begin(); it != others_.end(); ++it) {
    if (IsReachable(it->second.member.state)) continue;
    if (oldest == others_.end() || it->second.state_ns < oldest->second.state_ns) oldest = it;
  }
  if (oldest == others_.end()) return false;
  others_.erase(oldest);
  return true;
}

void MembershipState::SetAddresses(std::vector<std::string> control,
                                   std::vector<std::string> data) {
  if (control == self_.control_addresses && data == self_.data_addresses) return;
  self_.control_addresses = std::move(control);
  self_.data_addresses = std::move(data);
  ++self_.heartbeat;
  ++version_;
}

void MembershipState::SetDescriptionVersion(uint64_t version) {
  if (version == self_.description_version) return;
  self_.description_version = version;
  ++self_.heartbeat;
  ++version_;
}

void MembershipState::Leave() {
  self_.state = MemberState::kLeft;
  ++version_;
}

void MembershipState::Revoke(const NodeId& node) {
  if (!revoked_.insert(node).second) return;
  others_.erase(node);
  ++version_;
}

}  // namespace aster::cluster
