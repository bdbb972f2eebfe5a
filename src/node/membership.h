// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Keeps a node's view of its cluster up to date: exchanges records with other nodes from time to
// time, stores their addresses for the next start, and spreads revocations. Must not know models or
// routes.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "cluster/home.h"
#include "cluster/member_signature.h"
#include "cluster/membership_state.h"
#include "node/hints.h"
#include "rpc/control_client.h"
#include "rpc/control_service.h"

namespace aster::node {

// Where other nodes reach this one, the best address first.
struct OwnAddresses {
  std::vector<std::string> control;
  std::vector<std::string> data;
};

struct MembershipOptions {
  cluster::MembershipOptions state = {};
  std::vector<std::string> seeds;  // HOST:PORT of nodes, from a user
  // Called once for every revoked node, by the thread that learnt it.
  std::function<void(const cluster::NodeId&)> on_revoked;
  // Returns this node's addresses, which may change; called every two seconds. Empty: they do not
  // change.
  std::function<Result<OwnAddresses>()> addresses;
};

// Safe for concurrent use, except that Start and Stop belong to one thread.
class Membership {
 public:
  // Home and clock outlive it. `self` needs no incarnation.
  Membership(const cluster::Home& home, cluster::Identity identity, cluster::Member self,
             MembershipOptions options, Clock& clock);
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  Status Start();
  // Tells the nodes that can be reached that this one leaves.
  void Stop();

  // Handles an exchange of another node, and returns the reply.
  Result<rpc::Gossip> Exchange(const cluster::NodeId& from, const rpc::Gossip& gossip)
      EXCLUDES(mu_);
  // A node may be at this address (HOST:PORT), by an announcement on the network: asks it, at a
  // bounded rate, unless a living node is known there.
  void AddHint(const std::string& address) EXCLUDES(mu_);
  bool IsRevoked(const cluster::NodeId& node) const EXCLUDES(mu_);
  // This node first.
  std::vector<cluster::Member> Members() const EXCLUDES(mu_);
  // The other living nodes, the most recently heard first, so that one that has just failed is
  // asked last.
  std::vector<cluster::Member> Living() const EXCLUDES(mu_);
  void SetDescriptionVersion(uint64_t version) EXCLUDES(mu_);
  // Where other nodes reach this one.
  void SetAddresses(OwnAddresses addresses) EXCLUDES(mu_);

 private:
  static constexpr size_t kTalkers = 4;
  using NodeAt = std::pair<cluster::NodeId, std::string>;

  void TickMain();
  void TalkMain();
  bool IsAliveAt(const std::string& address) const REQUIRES(mu_);
  void TalkTo(const cluster::Contact& contact) EXCLUDES(mu_);
  std::vector<std::string> ConnectedFirst(const cluster::Contact& contact) const EXCLUDES(mu_);
  // Logs a failed exchange, once per address.
  void Complain(const std::string& address, const Error& why) EXCLUDES(mu_);
  Status TalkThrough(rpc::ControlClient& client, const cluster::Contact& contact) EXCLUDES(mu_);
  // Drops the clients of the node's addresses, except this one.
  void ForgetClients(const cluster::NodeId& node, const std::string& but_at) EXCLUDES(mu_);
  Result<std::shared_ptr<rpc::ControlClient>> ClientFor(const cluster::Contact& contact,
                                                        const std::string& address) EXCLUDES(mu_);
  // Signs this node's record if the talk has it.
  rpc::Gossip GossipOf(cluster::MemberTalk talk) REQUIRES(mu_);
  // The records of all nodes: for front ends, and for nodes of an older version.
  cluster::MemberTalk EverythingKnown() const REQUIRES(mu_);
  // The records that the other side lacks, by its reply; nullopt if none.
  std::optional<rpc::Gossip> Supplement(const rpc::Gossip& told,
                                        std::vector<cluster::NodeId> wanted) REQUIRES(mu_);
  std::vector<std::string> CertificatesOf(const std::vector<cluster::NodeId>& nodes) const
      REQUIRES(mu_);
  // The certificates of members that these records do not name.
  std::vector<std::string> CertificatesBeside(const std::vector<cluster::Member>& records) const
      REQUIRES(mu_);
  // `from` is the node that showed its certificate; nullopt if unknown. Returns the members whose
  // records have to be sent again, with their certificates.
  std::vector<cluster::NodeId> Take(const std::optional<cluster::NodeId>& from,
                                    const rpc::Gossip& gossip) EXCLUDES(mu_);
  bool IsBelieved(const std::optional<cluster::NodeId>& from, const cluster::Member& record)
      REQUIRES(mu_);
  // Whether the record's name is the node's own, as far as can be known without its signature.
  bool HasItsOwnName(const cluster::Member& record) const REQUIRES(mu_);
  void TakeRevocations(const cluster::Revocations& list) EXCLUDES(mu_);
  void FollowRevocations(const cluster::Revocations& list) EXCLUDES(mu_);
  // Whether the other node needs this node's list of revoked nodes: it has an older one, or one
  // that lacks nodes of this list.
  bool NeedsRevocations(const rpc::Gossip& told) const REQUIRES(mu_);
  // Reads new revocations from the home's files, and writes new ones there for the next start.
  void LookForRevocations() EXCLUDES(mu_);
  void LookForAddresses() EXCLUDES(mu_);
  void RememberPeers() EXCLUDES(mu_, store_mu_);
  std::vector<cluster::KnownPeer> PeersToStore() const REQUIRES(mu_);

  const cluster::Home& home_;
  const cluster::Identity identity_;
  const MembershipOptions options_;
  Clock& clock_;

  Mutex store_mu_;  // taken before mu_
  mutable Mutex mu_;
  CondVar changed_;
  cluster::MembershipState state_ GUARDED_BY(mu_);
  cluster::MemberCertificates certificates_ GUARDED_BY(mu_);
  cluster::Member signed_ GUARDED_BY(mu_);             // this node's record, as last signed
  std::set<cluster::NodeId> doubted_ GUARDED_BY(mu_);  // nodes whose refused records were logged
  cluster::Revocations revocations_ GUARDED_BY(mu_);
  std::deque<cluster::Contact> queue_ GUARDED_BY(mu_);
  Hints hints_ GUARDED_BY(mu_);
  bool follows_hint_ GUARDED_BY(mu_) = false;  // one at a time, beside other exchanges
  // Connections to nodes that answered, for the next exchange.
  std::map<NodeAt, std::shared_ptr<rpc::ControlClient>> clients_ GUARDED_BY(mu_);
  uint64_t stored_version_ GUARDED_BY(mu_) = 0;
  int64_t tell_rival_ns_ GUARDED_BY(mu_) = 0;  // when a second use of its identity may be logged
  std::set<std::string> logged_seeds_ GUARDED_BY(mu_);  // seeds that did not answer, already logged
  bool is_shut_out_ GUARDED_BY(mu_) = false;  // another node said that this node was revoked
  bool stopping_ GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace aster::node
