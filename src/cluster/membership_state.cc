// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/membership_state.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace aster::cluster {
namespace {

bool IsReachable(MemberState state) {
  return state == MemberState::kAlive || state == MemberState::kSuspect;
}

// How far in its life, or in how many, the node was when it said so.
std::pair<uint64_t, uint64_t> AgeOf(const Member& member) {
  return {member.incarnation, member.heartbeat};
}

bool IsNewer(const Member& record, const Member& held) {
  // The sender's judgement, to which this node comes by itself or not.
  if (record.state == MemberState::kDead) return false;
  if (held.state == MemberState::kLeft || record.state == MemberState::kLeft) {
    const bool is_goodbye = held.state != MemberState::kLeft;
    return record.incarnation > held.incarnation ||
           (is_goodbye && record.incarnation == held.incarnation);
  }
  return AgeOf(record) > AgeOf(held);
}

}  // namespace

MembershipState::MembershipState(Member self, const MembershipOptions& options, uint64_t seed,
                                 int64_t now_ns)
    : options_(options),
      random_(seed),
      self_(std::move(self)),
      next_tick_ns_(now_ns),
      contradicted_ns_(now_ns - options.suspect_after_ns) {
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
  const size_t suspects = Judge(now_ns);

  std::vector<Contact> contacts;
  const auto add = [&](const Member& member) {
    contacts.push_back({member.node, member.control_addresses});
  };
  const auto pick = [&](const std::vector<const MemberView*>& from) {
    add(from[random_.NextBelow(from.size())]->member);
  };
  // Every second time the one that was silent for longest, lest chance passes it over.
  const MemberView* doubted = self_.heartbeat % 2 == 0 ? TakeDoubted(now_ns) : nullptr;
  const auto reachable = InState(true);
  if (doubted != nullptr) {
    add(doubted->member);
  } else if (!reachable.empty()) {
    pick(reachable);
  }
  // Others may have heard of those that are suspected now: their newest records say so.
  for (size_t i = 0; suspects > 0 && !reachable.empty() && i < options_.asked_of_suspects; ++i)
    pick(reachable);
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

const MemberView* MembershipState::TakeDoubted(int64_t now_ns) {
  MemberView* longest = nullptr;
  for (auto& [node, view] : others_) {
    const int64_t since_ns = std::max(view.news_ns, view.asked_ns);
    if (!IsReachable(view.member.state) || view.member.control_addresses.empty()) continue;
    if (now_ns - since_ns < options_.doubt_after_ns) continue;
    if (longest == nullptr || since_ns < std::max(longest->news_ns, longest->asked_ns))
      longest = &view;
  }
  if (longest != nullptr) longest->asked_ns = now_ns;
  return longest;
}

// News of each of many takes longer to come by.
int64_t MembershipState::SuspectAfterNs() const {
  return options_.suspect_after_ns +
         std::bit_width((others_.size() + 1) / 8) * options_.suspect_more_ns;
}

size_t MembershipState::Judge(int64_t now_ns) {
  const int64_t suspect_after_ns = SuspectAfterNs();
  size_t suspects = 0;
  for (auto it = others_.begin(); it != others_.end();) {
    MemberView& view = it->second;
    const auto turn = [&](MemberState state) {
      view.member.state = state;
      view.state_ns = now_ns;
      ++version_;
    };
    if (view.member.state == MemberState::kAlive && now_ns - view.news_ns >= suspect_after_ns) {
      turn(MemberState::kSuspect);
      ++suspects;
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
  return suspects;
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
      MergeSelf(record, now_ns);
    } else {
      MergeOther(record, now_ns);
    }
  }
  return status;
}

bool MembershipState::IsNews(const Member& record) const {
  if (record.node == self_.node) return IsNewsOfSelf(record);
  if (revoked_.contains(record.node)) return false;
  const auto found = others_.find(record.node);
  // Who is over and was never known does not matter; so what was forgotten stays forgotten.
  if (found == others_.end()) return IsReachable(record.state);
  return IsNewer(record, found->second.member);
}

bool MembershipState::IsNewsOfSelf(const Member& record) const {
  if (self_.state == MemberState::kLeft) return false;
  const bool is_of_another_life = AgeOf(record) > AgeOf(self_);
  const bool is_wrong = record.incarnation == self_.incarnation && !IsReachable(record.state);
  return is_of_another_life || is_wrong;
}

void MembershipState::MergeSelf(const Member& record, int64_t now_ns) {
  if (!IsNewsOfSelf(record)) return;
  // Of this life no more often than a node can be suspected: who lies must not keep this one busy.
  const bool is_of_another_life = AgeOf(record) > AgeOf(self_);
  if (!is_of_another_life && now_ns - contradicted_ns_ < options_.suspect_after_ns) return;
  contradicted_ns_ = now_ns;
  self_.incarnation = std::min(record.incarnation + 1, kMaxIncarnation);
  ++version_;
}

void MembershipState::MergeOther(const Member& record, int64_t now_ns) {
  if (!IsNews(record)) return;
  Member fresh = record;
  // Another's suspicion is not this node's.
  if (fresh.state == MemberState::kSuspect) fresh.state = MemberState::kAlive;
  const auto found = others_.find(record.node);
  if (found == others_.end()) {
    if (!MakeRoom()) return;
    others_.emplace(record.node, MemberView{std::move(fresh), now_ns, now_ns, now_ns});
    ++version_;
    return;
  }
  MemberView& view = found->second;
  view.news_ns = now_ns;
  if (fresh.state != view.member.state) view.state_ns = now_ns;
  Member expected = view.member;
  expected.heartbeat = fresh.heartbeat;
  expected.signature = fresh.signature;
  if (expected != fresh) ++version_;
  view.member = std::move(fresh);
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
