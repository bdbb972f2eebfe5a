// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/membership_state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/hash.h"

namespace aster::cluster {
namespace {

bool IsReachable(MemberState state) {
  return state == MemberState::kAlive || state == MemberState::kSuspect;
}

// Orders a node's records: by its incarnation, then by its heartbeat.
std::pair<uint64_t, uint64_t> AgeOf(const Member& member) {
  return {member.incarnation, member.heartbeat};
}

Contact ContactOf(const MemberView& view) {
  return {view.member.node, view.member.control_addresses};
}

// A death is news for this long: nodes that joined later need not know.
constexpr int64_t kRecentNs = 60 * kNsPerSecond;

// A second process with the same identity is certain after this many records, at most this far
// apart.
constexpr uint32_t kRivalRecords = 3;
constexpr int64_t kRivalNs = 30 * kNsPerSecond;

size_t BucketOf(const NodeId& node) { return node.value.low % kMemberBuckets; }

// Two records of one node that differ only in heartbeats have the same sum.
uint32_t SumOf(const Member& member) {
  std::string text = fmt::format("{} {} {} {}", member.node.value.ToHex(), member.name,
                                 member.incarnation, member.description_version);
  for (const auto* addresses : {&member.control_addresses, &member.data_addresses})
    text += fmt::format(" [{}]", fmt::join(*addresses, " "));
  return static_cast<uint32_t>(Hash64Of(AsBytes(text)));
}

bool IsNewer(const Member& record, const Member& held) {
  // Only the sender's judgement, which this node makes itself.
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
  ++self_.heartbeat;
  const size_t suspects = Judge(now_ns);
  std::vector<Contact> contacts;
  if (AreFew()) {
    PickAmongFew(suspects, now_ns, contacts);
  } else {
    PickAmongMany(now_ns, contacts);
  }
  const bool is_alone = contacts.empty();
  // A dead node may only have been cut off: one side must try, or two halves never meet again.
  const auto dead = InState(false);
  if (!dead.empty() && (is_alone || random_.NextBelow(4) == 0))
    contacts.push_back(ContactOf(*dead[random_.NextBelow(dead.size())]));
  if (!seeds_.empty() && (is_alone || random_.NextBelow(8) == 0))
    contacts.push_back({std::nullopt, {seeds_[random_.NextBelow(seeds_.size())]}});
  // In a large cluster changes are passed on faster.
  const bool is_urgent = !AreFew() && IsHot(now_ns);
  next_tick_ns_ = now_ns + options_.gossip_interval_ns / (is_urgent ? 2 : 1);
  return contacts;
}

void MembershipState::PickAmongFew(size_t suspects, int64_t now_ns,
                                   std::vector<Contact>& contacts) {
  const auto reachable = InState(true);
  if (reachable.empty()) return;
  const auto pick = [&] {
    contacts.push_back(ContactOf(*reachable[random_.NextBelow(reachable.size())]));
  };
  // Every second time asks the node that was silent for longest, as chance may miss it.
  const MemberView* doubted = self_.heartbeat % 2 == 0 ? TakeDoubted(now_ns) : nullptr;
  if (doubted != nullptr) {
    contacts.push_back(ContactOf(*doubted));
  } else {
    pick();
  }
  // Other nodes may have newer records of the suspects.
  for (size_t i = 0; suspects > 0 && i < options_.asked_of_suspects; ++i) pick();
}

void MembershipState::PickAmongMany(int64_t now_ns, std::vector<Contact>& contacts) {
  const auto reachable = InState(true);
  if (reachable.empty()) return;
  const auto random = [&] { return reachable[random_.NextBelow(reachable.size())]; };
  for (auto& [node, view] : others_) {
    if (contacts.size() >= options_.asked_of_doubted) break;
    if (!view.doubted_ns || !IsReachable(view.member.state)) continue;
    if (now_ns - view.asked_ns < options_.ask_again_ns) continue;
    view.asked_ns = now_ns;
    contacts.push_back(ContactOf(view));
  }
  if (IsHot(now_ns)) contacts.push_back(ContactOf(*random()));
  // The same few nodes at distances of 1, 2, 4, ... around the ring, over lasting connections: at
  // every moment another node asks each one, and the nodes with a piece of news double with each
  // step. Sometimes a random node, as the same few may be cut off together.
  const size_t turns = static_cast<size_t>(std::bit_width(reachable.size()));
  const size_t turn = self_.heartbeat % (turns + 1);
  const auto next = std::ranges::upper_bound(
      reachable, self_.node, {}, [](const MemberView* view) { return view->member.node; });
  const size_t at = static_cast<size_t>(next - reachable.begin()) + (size_t{1} << turn) - 1;
  contacts.push_back(ContactOf(turn == turns ? *random() : *reachable[at % reachable.size()]));
}

bool MembershipState::IsHot(int64_t now_ns) const {
  return std::ranges::any_of(others_,
                             [&](const auto& each) { return each.second.hot_until_ns > now_ns; });
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

// In larger clusters news of a node arrives less often.
int64_t MembershipState::SuspectAfterNs() const {
  return options_.suspect_after_ns +
         std::bit_width((reachable_ + 1) / 8) * options_.suspect_more_ns;
}

size_t MembershipState::Judge(int64_t now_ns) {
  // While there were many, news_ns was not kept up.
  if (AreFew() && !were_few_) {
    for (auto& [node, view] : others_) view.news_ns = now_ns;
  }
  were_few_ = AreFew();
  size_t suspects = 0;
  for (auto it = others_.begin(); it != others_.end();) {
    MemberView& view = it->second;
    const MemberState judged = JudgementOf(view, now_ns);
    if (judged != view.member.state) {
      RemoveFromCounts(view);
      view.member.state = judged;
      view.state_ns = now_ns;
      Count(view);
      suspects += judged == MemberState::kSuspect;
      ++version_;
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

MemberState MembershipState::JudgementOf(const MemberView& view, int64_t now_ns) const {
  const MemberState state = view.member.state;
  if (state == MemberState::kAlive) {
    const bool is_silent = were_few_ ? now_ns - view.news_ns >= SuspectAfterNs()
                                     : view.has_failed && view.doubted_ns &&
                                           now_ns - *view.doubted_ns >= options_.unanswered_ns;
    return is_silent ? MemberState::kSuspect : state;
  }
  const bool is_due =
      state == MemberState::kSuspect && now_ns - view.state_ns >= options_.dead_after_ns;
  return is_due ? MemberState::kDead : state;
}

std::vector<Member> MembershipState::Records() const {
  std::vector<Member> records = {self_};
  for (const auto& [node, view] : others_) records.push_back(view.member);
  return records;
}

// Doubted nodes are sent as suspects.
Member MembershipState::GossipRecord(const MemberView& view) {
  Member member = view.member;
  if (view.doubted_ns && member.state == MemberState::kAlive) member.state = MemberState::kSuspect;
  return member;
}

void MembershipState::AddHot(int64_t now_ns, std::vector<Member>& members) const {
  std::vector<const MemberView*> hot;
  for (const auto& [node, view] : others_) {
    if (view.hot_until_ns > now_ns) hot.push_back(&view);
  }
  std::ranges::sort(hot, std::greater(), &MemberView::hot_until_ns);
  hot.resize(std::min(hot.size(), options_.max_hot));
  for (const MemberView* view : hot) members.push_back(GossipRecord(*view));
}

MemberTalk MembershipState::MakeGossip(int64_t now_ns) const {
  MemberTalk talk;
  if (reachable_ <= options_.full_gossip_nodes) {
    talk.members = Records();
  } else {
    talk.members = {self_};
    AddHot(now_ns, talk.members);
  }
  talk.buckets = Sums();
  return talk;
}

std::vector<uint32_t> MembershipState::Sums() const {
  std::vector<uint32_t> sums(buckets_.begin(), buckets_.end());
  if (self_.state != MemberState::kLeft) sums[BucketOf(self_.node)] += SumOf(self_);
  return sums;
}

bool MembershipState::Differs(std::span<const uint32_t> theirs) const {
  return !std::ranges::equal(Sums(), theirs);
}

MemberTalk MembershipState::Answer(std::span<const uint32_t> theirs, int64_t now_ns) const {
  MemberTalk talk = MakeGossip(now_ns);
  if (theirs.size() != kMemberBuckets || reachable_ <= options_.full_gossip_nodes) return talk;
  // Begins with another bucket each time, as there may not be room for all records.
  const size_t first = static_cast<size_t>(now_ns / options_.gossip_interval_ns);
  const size_t limit = talk.members.size() + options_.max_differing;
  std::array<std::vector<const MemberView*>, kMemberBuckets> differing;
  for (const auto& [node, view] : others_) {
    const size_t bucket = BucketOf(node);
    const bool matters = IsReachable(view.member.state) || now_ns - view.state_ns < kRecentNs;
    if (matters && talk.buckets[bucket] != theirs[bucket]) differing[bucket].push_back(&view);
  }
  for (size_t i = 0; i < kMemberBuckets; ++i) {
    for (const MemberView* view : differing[(first + i) % kMemberBuckets]) {
      if (talk.members.size() < limit) talk.members.push_back(GossipRecord(*view));
    }
  }
  return talk;
}

void MembershipState::Include(std::span<const NodeId> nodes, MemberTalk& talk) const {
  for (const NodeId& node : nodes) {
    const auto found = others_.find(node);
    const bool is_there = std::ranges::count(talk.members, node, &Member::node) > 0;
    if (found != others_.end() && !is_there) talk.members.push_back(GossipRecord(found->second));
  }
}

void MembershipState::TakeDoubts(std::span<const Member> records, int64_t now_ns) {
  if (AreFew()) return;
  for (const Member& record : records) {
    const auto found = others_.find(record.node);
    const bool says_silent =
        record.state == MemberState::kSuspect || record.state == MemberState::kDead;
    if (!says_silent || found == others_.end()) continue;
    MemberView& view = found->second;
    if (view.member.state != MemberState::kAlive || AgeOf(record) > AgeOf(view.member)) continue;
    if (AgeOf(record) == AgeOf(view.member)) {
      DoubtNow(view, now_ns);
    } else if (!view.doubted_ns) {
      view.hot_until_ns = now_ns + options_.hot_ns;  // the doubting node lacks the newer record
    }
  }
}

// Tells the others at once, before this node has asked: a doubt is only a hint.
void MembershipState::DoubtNow(MemberView& view, int64_t now_ns) {
  if (view.doubted_ns) return;
  view.doubted_ns = now_ns;
  view.hot_until_ns = now_ns + options_.hot_ns;
  next_tick_ns_ = std::min(next_tick_ns_, now_ns + options_.gossip_interval_ns / 2);
}

void MembershipState::Reached(const NodeId& node) {
  const auto found = others_.find(node);
  if (found == others_.end() || !IsReachable(found->second.member.state)) return;
  found->second.has_failed = false;
  found->second.doubted_ns.reset();
}

void MembershipState::Unanswered(const NodeId& node, int64_t now_ns) {
  const auto found = others_.find(node);
  if (AreFew() || found == others_.end() || !IsReachable(found->second.member.state)) return;
  MemberView& view = found->second;
  if (!view.doubted_ns && now_ns < view.muted_until_ns) return;
  view.has_failed = true;
  DoubtNow(view, now_ns);
}

Status MembershipState::Merge(std::span<const Member> records, int64_t now_ns) {
  Status status;
  // One more than a table can hold proves that the sender breaks the rules.
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
  // An unknown node that is dead or has left does not matter; so forgotten nodes stay forgotten.
  if (found == others_.end()) return IsReachable(record.state);
  return IsNewer(record, found->second.member);
}

// Two processes that began in the same second may always have the same age. Within one incarnation,
// another address needs another heartbeat.
bool MembershipState::IsOfAnotherLife(const Member& record) const {
  return AgeOf(record) > AgeOf(self_) ||
         (AgeOf(record) == AgeOf(self_) && record.control_addresses != self_.control_addresses);
}

bool MembershipState::IsNewsOfSelf(const Member& record) const {
  if (self_.state == MemberState::kLeft) return false;
  const bool is_wrong = record.incarnation == self_.incarnation && !IsReachable(record.state);
  return IsOfAnotherLife(record) || is_wrong;
}

void MembershipState::MergeSelf(const Member& record, int64_t now_ns) {
  if (!IsNewsOfSelf(record)) return;
  // For this incarnation, no more often than a node can be suspected: liars must not keep this node
  // busy.
  const bool is_of_another_life = IsOfAnotherLife(record);
  if (!is_of_another_life && now_ns - contradicted_ns_ < options_.suspect_after_ns) return;
  if (is_of_another_life) NoteRival(record, now_ns);
  contradicted_ns_ = now_ns;
  self_.incarnation = std::min(record.incarnation + 1, kMaxIncarnation);
  ++version_;
}

// A former incarnation ends when this node has exceeded it; one that exceeds this node again and
// again is still running.
void MembershipState::NoteRival(const Member& record, int64_t now_ns) {
  const bool is_here = std::ranges::any_of(record.control_addresses, [&](const auto& address) {
    return std::ranges::count(self_.control_addresses, address) > 0;
  });
  if (is_here || record.state != MemberState::kAlive || record.control_addresses.empty()) return;
  if (now_ns - rival_ns_ > kRivalNs) rival_records_ = 0;
  rival_ns_ = now_ns;
  if (++rival_records_ < kRivalRecords) return;
  rival_records_ = 0;
  rival_ = record.control_addresses.front();
}

void MembershipState::MergeOther(const Member& record, int64_t now_ns) {
  if (!IsNews(record)) return;
  Member fresh = record;
  // Another node's suspicion does not count here.
  if (fresh.state == MemberState::kSuspect) fresh.state = MemberState::kAlive;
  const auto found = others_.find(record.node);
  if (found == others_.end()) {
    if (!MakeRoom()) return;
    MemberView view;
    view.member = std::move(fresh);
    view.news_ns = view.state_ns = view.asked_ns = now_ns;
    view.hot_until_ns = now_ns + options_.hot_ns;
    Count(others_.emplace(record.node, std::move(view)).first->second);
    ++version_;
    return;
  }
  MemberView& view = found->second;
  RemoveFromCounts(view);
  view.news_ns = now_ns;
  if (fresh.state != view.member.state) view.state_ns = now_ns;
  Member expected = view.member;
  expected.heartbeat = fresh.heartbeat;
  expected.signature = fresh.signature;
  if (expected != fresh) ++version_;
  if (expected != fresh || view.doubted_ns) view.hot_until_ns = now_ns + options_.hot_ns;
  // The node is alive, only not reachable from here.
  if (view.has_failed) view.muted_until_ns = now_ns + options_.mute_ns;
  view.member = std::move(fresh);
  view.has_failed = false;
  view.doubted_ns.reset();
  Count(view);
}

void MembershipState::Count(MemberView& view) {
  if (!IsReachable(view.member.state)) return;
  view.sum = SumOf(view.member);
  buckets_[BucketOf(view.member.node)] += view.sum;
  ++reachable_;
}

void MembershipState::RemoveFromCounts(const MemberView& view) {
  if (!IsReachable(view.member.state)) return;
  buckets_[BucketOf(view.member.node)] -= view.sum;
  --reachable_;
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
  ++version_;
  const auto found = others_.find(node);
  if (found == others_.end()) return;
  RemoveFromCounts(found->second);
  others_.erase(found);
}

}  // namespace aster::cluster
