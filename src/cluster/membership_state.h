// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// This node's view of the cluster's members: a state machine whose input is the time and the
// records of others, and whose output is the nodes to exchange with. Must not know sockets, threads
// or clocks.
//
// Nodes exchange records in pairs, a few times a second. Few nodes (sixteen others) exchange all
// records, each with a random other one. A living node increments its heartbeat, so news of it
// spreads through the nodes that can reach it. A node without news is asked itself, then suspected,
// and others are asked about it, then dead, after stated times.
//
// Many nodes exchange only changes, so that idle traffic does not grow with their number. Each asks
// others at growing distances around a ring in turn, and doubts a node that does not answer. It
// passes the doubt on, and a node that hears of it asks the doubted one; if that answers, its newer
// record ends the doubt everywhere. Sums over the records, in buckets, show two nodes where their
// knowledge differs, and they exchange the records of these buckets.
//
// Every node judges suspicion and death by itself: it ignores the others' judgement of a node's
// silence, as one of them may lie, but accepts the silent node's newest record, which that node
// signed. Of two records of one node the later one counts: the higher incarnation; within one,
// "left" before the higher heartbeat. A node that hears of a higher incarnation of its own exceeds
// it; it also does so from time to time if others say that it is dead, for nodes of older versions
// that believe this.
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
  int64_t suspect_more_ns = kNsPerSecond / 2;     // for each doubling of their number
  int64_t dead_after_ns = 2 * kNsPerSecond;       // after being suspect
  size_t asked_of_suspects = 2;                   // others that are asked about a suspect
  // With more others than this, only unanswered requests count, not missing news.
  size_t few = 16;
  // Up to this number of others, all records are exchanged; more than `few`, as nodes differ about
  // who is alive.
  size_t full_gossip_nodes = 24;
  int64_t unanswered_ns = 2 * kNsPerSecond;            // from an unanswered doubt to suspect
  int64_t ask_again_ns = kNsPerSecond;                 // pause before asking a doubted node again
  size_t asked_of_doubted = 4;                         // per tick
  int64_t hot_ns = 3 * kNsPerSecond;                   // how long a change is passed on
  int64_t mute_ns = 60 * kNsPerSecond;                 // after a doubt that others ended
  size_t max_hot = 16;                                 // per exchange
  size_t max_differing = 64;                           // records of differing buckets
  int64_t forget_after_ns = 24 * 3600 * kNsPerSecond;  // after being dead or gone
  size_t max_members = 1024;
  size_t max_seeds = 64;
};

// A node to exchange records with.
struct Contact {
  std::optional<NodeId> node;  // unknown for an address that a user gave
  std::vector<std::string> addresses;
};

// A member, and when this node learnt about it.
struct MemberView {
  Member member;
  int64_t news_ns = 0;   // when its last news arrived
  int64_t state_ns = 0;  // since when it has its state
  int64_t asked_ns = 0;  // when it was last asked because it was silent
  // In a large cluster: since when this node or another finds that it does not answer, and whether
  // it has failed to answer this one; reset once it is heard.
  std::optional<int64_t> doubted_ns;
  bool has_failed = false;
  int64_t muted_until_ns = 0;  // until then this node begins no doubt about it
  int64_t hot_until_ns = 0;    // until then its record is passed on
  uint32_t sum = 0;            // of its record without heartbeats
};

inline constexpr size_t kMemberBuckets = 64;

// One side's message in an exchange.
struct MemberTalk {
  std::vector<Member> members;  // the sender first
  // For each bucket, the sum over the records of all reachable nodes.
  std::vector<uint32_t> buckets;
};

// Not for concurrent use.
class MembershipState {
 public:
  // `self`: its incarnation should be higher than earlier ones (as seconds since 1970 are); if not,
  // the first exchange corrects it.
  MembershipState(Member self, const MembershipOptions& options, uint64_t seed, int64_t now_ns);

  const Member& self() const { return self_; }
  // All nodes but this one, by NodeId.
  const std::map<NodeId, MemberView>& others() const { return others_; }
  // Grows whenever others() or self() changes in more than heartbeats.
  uint64_t version() const { return version_; }

  // Seeds: addresses from users, tried as long as no node is known there.
  void AddSeed(const std::string& address);

  // The time of the next Tick.
  int64_t next_tick_ns() const { return next_tick_ns_; }
  // Finds suspect, dead and obsolete members, and picks nodes to exchange with now.
  std::vector<Contact> Tick(int64_t now_ns);

  // This node and all others.
  std::vector<Member> Records() const;
  // The message to a node whose knowledge is unknown.
  MemberTalk MakeGossip(int64_t now_ns) const;
  // The reply to a node that has sent these sums: with the records of differing buckets, too.
  MemberTalk Answer(std::span<const uint32_t> theirs, int64_t now_ns) const;
  // Adds the records of these nodes if they are missing.
  void Include(std::span<const NodeId> nodes, MemberTalk& talk) const;
  bool Differs(std::span<const uint32_t> theirs) const;
  // The address of another process with this node's identity, as after copying its folder: returned
  // once for each detection.
  std::optional<std::string> TakeRival() { return std::exchange(rival_, std::nullopt); }

  // Received records, each signed by its node. Invalid records are left out; the first such error
  // is returned, though the others count.
  Status Merge(std::span<const Member> records, int64_t now_ns);

  // The senders' doubts in received records, after Merge: doubted nodes are asked.
  void TakeDoubts(std::span<const Member> records, int64_t now_ns);
  // The node has answered, or asked.
  void Reached(const NodeId& node);
  // The node was asked and did not answer.
  void Unanswered(const NodeId& node, int64_t now_ns);

  // Whether Merge would change anything: other records need not be checked.
  bool IsNews(const Member& record) const;
  // Also true for this node.
  bool Knows(const NodeId& node) const { return node == self_.node || others_.contains(node); }

  // This node's addresses for others from now on.
  void SetAddresses(std::vector<std::string> control, std::vector<std::string> data);
  void SetDescriptionVersion(uint64_t version);
  // Tells others in the next exchanges that this node leaves; final.
  void Leave();

  // Removes a member for good.
  void Revoke(const NodeId& node);
  bool IsRevoked(const NodeId& node) const { return revoked_.contains(node); }

 private:
  bool IsOfAnotherLife(const Member& record) const;
  bool IsNewsOfSelf(const Member& record) const;
  void MergeSelf(const Member& record, int64_t now_ns);
  void NoteRival(const Member& record, int64_t now_ns);
  void MergeOther(const Member& record, int64_t now_ns);
  bool AreFew() const { return reachable_ <= options_.few; }
  // Adds the member to the counts of reachable nodes; RemoveFromCounts removes it.
  void Count(MemberView& view);
  void RemoveFromCounts(const MemberView& view);
  // Returns the number of new suspects.
  size_t Judge(int64_t now_ns);
  MemberState JudgementOf(const MemberView& view, int64_t now_ns) const;
  int64_t SuspectAfterNs() const;
  void DoubtNow(MemberView& view, int64_t now_ns);
  void PickAmongFew(size_t suspects, int64_t now_ns, std::vector<Contact>& contacts);
  void PickAmongMany(int64_t now_ns, std::vector<Contact>& contacts);
  bool IsHot(int64_t now_ns) const;
  std::vector<uint32_t> Sums() const;
  void AddHot(int64_t now_ns, std::vector<Member>& members) const;
  static Member GossipRecord(const MemberView& view);
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
  std::array<uint32_t, kMemberBuckets> buckets_{};  // over the reachable nodes
  bool were_few_ = true;
  int64_t next_tick_ns_;
  int64_t contradicted_ns_;  // when this node last contradicted records of itself
  // Successive records that only another process with this identity can have made, and the time of
  // the last one.
  uint32_t rival_records_ = 0;
  int64_t rival_ns_ = 0;
  std::optional<std::string> rival_;
  uint64_t version_ = 1;
};

}  // namespace aster::cluster
