// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Who belongs to the cluster and is there, as this node sees it: a state machine that is told the
// time and what others say, and says whom to talk to. Must not know sockets, threads or clocks.
//
// Nodes exchange records in pairs, a few times a second. Few nodes (sixteen others) exchange all
// records, each with a random other one: a node that is there counts its heartbeat up, so news of
// it spreads through the nodes that can reach it; a node of which no news come is asked itself,
// then suspected, and others are asked about it, then dead, after stated times.
//
// Many nodes exchange what has changed, so that idle traffic does not grow with their number. Each
// asks others at growing distances around a ring in turn, and a node that does not answer is
// doubted. That is told on, and a node that hears it asks the doubted one; if that has answered,
// its newer record takes the doubt away everywhere. Sums over the records, in buckets, tell two
// nodes where they know different things, and they exchange the records of these.
//
// Every node comes to suspicion and death by itself: what others make of a node's silence is not
// believed, as one of them may lie; they are believed its newest record, which it signed. Of two
// records of one node the later one counts: the higher incarnation; within one,
// goodbye before the higher heartbeat. A node that hears of a later life of its own goes above it;
// so it does, now and then, where others say that it is dead, for nodes of older versions that
// believe it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "cluster/member.h"

namespace aster::cluster {

struct MembershipOptions {
  int64_t gossip_interval_ns = 500 * kNsPerMs;
  int64_t doubt_after_ns = 3 * kNsPerSecond / 2;  // without news: it is asked itself
  int64_t suspect_after_ns = 3 * kNsPerSecond;    // without news, among up to seven others
  int64_t suspect_more_ns = kNsPerSecond / 2;     // each time that there are twice as many
  int64_t dead_after_ns = 2 * kNsPerSecond;       // of being suspect
  size_t asked_of_suspects = 2;                   // others that are asked about one
  // With more others than this, silence says nothing and failing to answer everything.
  size_t few = 16;
  // Up to this number of others, all records are exchanged; more than `few`, as nodes differ about
  // who is there.
  size_t told_of_few = 24;
  int64_t unanswered_ns = 2 * kNsPerSecond;            // doubted, and it did not answer: suspect
  int64_t ask_again_ns = kNsPerSecond;                 // a node that is doubted
  size_t asked_of_doubted = 4;                         // of those, in one tick
  int64_t hot_ns = 3 * kNsPerSecond;                   // what has changed is told for so long
  int64_t mute_ns = 60 * kNsPerSecond;                 // after a doubt that others took away
  size_t max_hot = 16;                                 // in one exchange
  size_t max_differing = 64;                           // records of buckets that differ
  int64_t forget_after_ns = 24 * 3600 * kNsPerSecond;  // of being dead or gone
  size_t max_members = 1024;
  size_t max_seeds = 64;
};

// A node to exchange records with.
struct Contact {
  std::optional<NodeId> node;  // unknown of addresses that a person gave
  std::vector<std::string> addresses;
};

// A member, and since when this node has known so.
struct MemberView {
  Member member;
  int64_t news_ns = 0;   // when something new was last heard of it
  int64_t state_ns = 0;  // since when it is in its state
  int64_t asked_ns = 0;  // when it was last asked because it was silent
  // Among many: since when this node or another thinks that it does not answer, and whether it has
  // failed to answer this one; nothing once it is heard.
  std::optional<int64_t> doubted_ns;
  bool has_failed = false;
  int64_t muted_until_ns = 0;  // until then this node begins no doubt of it
  int64_t hot_until_ns = 0;    // its record is told until then
  uint32_t sum = 0;            // of what its record says, but for heartbeats
};

inline constexpr size_t kMemberBuckets = 64;

// What one side of an exchange says.
struct MemberTalk {
  std::vector<Member> members;  // oneself first
  // Of each bucket, the sum over the records of all who are there.
  std::vector<uint32_t> buckets;
};

// Not for concurrent use.
class MembershipState {
 public:
  // `self` as it begins: its incarnation should be higher than in earlier lives (the seconds since
  // 1970 do); where it is not, the first exchange mends that.
  MembershipState(Member self, const MembershipOptions& options, uint64_t seed, int64_t now_ns);

  const Member& self() const { return self_; }
  // Everybody but oneself, by NodeId.
  const std::map<NodeId, MemberView>& others() const { return others_; }
  // Grows whenever others() or self() changes in more than heartbeats.
  uint64_t version() const { return version_; }

  // Seeds: addresses to try as long as no node is known there, as users gave them.
  void AddSeed(const std::string& address);

  // When Tick is due.
  int64_t next_tick_ns() const { return next_tick_ns_; }
  // Judges who is suspect, dead and to be forgotten, and picks whom to exchange with now.
  std::vector<Contact> Tick(int64_t now_ns);

  // Oneself and everybody.
  std::vector<Member> Records() const;
  // What to send to a node of which is not known what it knows.
  MemberTalk Tell(int64_t now_ns) const;
  // What to send to one that has sent these sums: the records of buckets that differ, too.
  MemberTalk Answer(std::span<const uint32_t> theirs, int64_t now_ns) const;
  // Adds the records of these, where they are not in it.
  void Include(std::span<const NodeId> nodes, MemberTalk& talk) const;
  bool Differs(std::span<const uint32_t> theirs) const;
  // Where another process runs that has this node's identity, as of a copied folder: once for each
  // time that it was found.
  std::optional<std::string> TakeRival() { return std::exchange(rival_, std::nullopt); }

  // Received records, each as its node has said it. Records that cannot be are left out; the first
  // such error is returned, though the others count.
  Status Merge(std::span<const Member> records, int64_t now_ns);

  // What received records say of silence, after they were merged: who is doubted is asked.
  void TakeDoubts(std::span<const Member> records, int64_t now_ns);
  // A node has shown itself: it answered, or asked.
  void Heard(const NodeId& node);
  // A node was asked and did not answer.
  void Unanswered(const NodeId& node, int64_t now_ns);

  // Whether Merge would change anything: what is no news need not be checked.
  bool IsNews(const Member& record) const;
  // Oneself too.
  bool Knows(const NodeId& node) const { return node == self_.node || others_.contains(node); }

  // What others should know of this node from now on.
  void SetAddresses(std::vector<std::string> control, std::vector<std::string> data);
  void SetDescriptionVersion(uint64_t version);
  // Says goodbye in the next exchanges; no way back.
  void Leave();

  // Members that are no longer: forgotten, and never heard again.
  void Revoke(const NodeId& node);
  bool IsRevoked(const NodeId& node) const { return revoked_.contains(node); }

 private:
  bool IsOfAnotherLife(const Member& record) const;
  bool IsNewsOfSelf(const Member& record) const;
  void MergeSelf(const Member& record, int64_t now_ns);
  void NoteRival(const Member& record, int64_t now_ns);
  void MergeOther(const Member& record, int64_t now_ns);
  bool AreFew() const { return reachable_ <= options_.few; }
  // Adds to what is counted of all who are there; the other takes it away.
  void Count(MemberView& view);
  void Discount(const MemberView& view);
  // How many have become suspect.
  size_t Judge(int64_t now_ns);
  MemberState JudgementOf(const MemberView& view, int64_t now_ns) const;
  int64_t SuspectAfterNs() const;
  void DoubtNow(MemberView& view, int64_t now_ns);
  void PickAmongFew(size_t suspects, int64_t now_ns, std::vector<Contact>& contacts);
  void PickAmongMany(int64_t now_ns, std::vector<Contact>& contacts);
  bool IsHot(int64_t now_ns) const;
  std::vector<uint32_t> Sums() const;
  void AddHot(int64_t now_ns, std::vector<Member>& members) const;
  static Member Told(const MemberView& view);
  const MemberView* TakeDoubted(int64_t now_ns);
  bool MakeRoom();
  std::vector<const MemberView*> InState(bool reachable) const;

  const MembershipOptions options_;
  Random random_;
  Member self_;
  std::map<NodeId, MemberView> others_;
  std::set<NodeId> revoked_;
  std::vector<std::string> seeds_;
  size_t reachable_ = 0;                            // others that are alive or suspect
  std::array<uint32_t, kMemberBuckets> buckets_{};  // over these
  bool were_few_ = true;
  int64_t next_tick_ns_;
  int64_t contradicted_ns_;  // when this node last went above what others said of it
  // Of records that only another process with this identity can have made: how many came one soon
  // after the other, and when the last one did.
  uint32_t rival_records_ = 0;
  int64_t rival_ns_ = 0;
  std::optional<std::string> rival_;
  uint64_t version_ = 1;
};

}  // namespace aster::cluster
