// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/membership.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/ascii.h"
#include "base/log.h"
#include "base/random.h"
#include "net/nearest.h"
#include "node/call_member.h"
#include "rpc/limits.h"

namespace aster::node {

using cluster::Member;
using cluster::MemberState;
using cluster::NodeId;

namespace {

constexpr int64_t kTalkNs = 3 * kNsPerSecond / 2;
constexpr int64_t kGoodbyeNs = 500 * kNsPerMs;
constexpr int64_t kLookNs = 2 * kNsPerSecond;
constexpr size_t kMaxGoodbyes = 3;
// Exchanges that wait while others hang on machines that do not answer.
constexpr size_t kMaxQueue = 16;
constexpr size_t kMaxClients = 64;
constexpr int64_t kTellRivalNs = 60 * kNsPerSecond;
// Nodes whose refused records have been logged.
constexpr size_t kMaxDoubted = 64;

Member Beginning(Member self, const Clock& clock) {
  self.incarnation = static_cast<uint64_t>(std::max<int64_t>(1, clock.WallNs() / kNsPerSecond));
  return self;
}

}  // namespace

Membership::Membership(const cluster::Home& home, cluster::Identity identity, Member self,
                       MembershipOptions options, Clock& clock)
    : home_(home),
      identity_(std::move(identity)),
      options_(std::move(options)),
      clock_(clock),
      state_(Beginning(std::move(self), clock), options_.state, SystemSeed(), clock.NowNs()),
      certificates_(identity_.ca_certificate) {
  const Status own = certificates_.Add(identity_.certificate, clock.WallNs() / kNsPerSecond);
  if (!own.ok())
    log::Error("this node's certificate is not valid", {{"why", own.error().message()}});
}

Membership::~Membership() { Stop(); }

Status Membership::Start() {
  const std::vector<cluster::KnownPeer> peers = TRY(home_.LoadPeers());
  // A machine that has just joined knows only the node where it joined.
  const std::vector<std::string> seeds = TRY(home_.LoadSeeds());
  TakeRevocations(TRY(home_.LoadRevocations(identity_.ca_certificate)));
  {
    const MutexLock lock(mu_);
    for (const std::string& seed : options_.seeds) {
      state_.AddSeed(seed);
      // At once and not at random, as a user may wait for the result.
      if (queue_.size() < kMaxQueue) queue_.push_back({std::nullopt, {seed}});
    }
    for (const cluster::KnownPeer& peer : peers) {
      if (peer.node == identity_.node) continue;
      for (const std::string& address : peer.addresses) state_.AddSeed(address);
    }
    for (const std::string& seed : seeds) state_.AddSeed(seed);
  }
  RememberPeers();  // Before the user sees that the node runs: front ends read these addresses.
  try {
    threads_.emplace_back([this] { TickMain(); });
    for (size_t i = 0; i < kTalkers; ++i) threads_.emplace_back([this] { TalkMain(); });
  } catch (const std::system_error& error) {
    Stop();
    return ResourceExhausted(std::string("no thread to talk to other nodes: ") + error.what());
  }
  return Ok();
}

void Membership::Stop() {
  std::vector<Member> farewells;
  rpc::Gossip goodbye;
  {
    const MutexLock lock(mu_);
    if (stopping_ || threads_.empty()) return;
    stopping_ = true;
    changed_.NotifyAll();
    state_.Leave();
    goodbye = GossipOf(state_.MakeGossip(clock_.NowNs()));
    goodbye.members.resize(1);
    for (const auto& [node, view] : state_.others()) {
      if (view.member.state == MemberState::kAlive && farewells.size() < kMaxGoodbyes)
        farewells.push_back(view.member);
    }
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  RememberPeers();
  // Nodes that do not hear it notice by themselves.
  for (const Member& member : farewells) {
    (void)CallMember(
        identity_, member,
        [&](rpc::ControlClient& client) { return client.Exchange(goodbye, kGoodbyeNs); },
        kGoodbyeNs);
  }
}

void Membership::TickMain() {
  int64_t look_ns = 0;
  while (true) {
    {
      const MutexLock lock(mu_);
      while (!stopping_ && clock_.NowNs() < state_.next_tick_ns()) {
        clock_.WaitUntil(changed_, mu_, state_.next_tick_ns());
      }
      if (stopping_) return;
      for (cluster::Contact& contact : state_.Tick(clock_.NowNs())) {
        if (queue_.size() < kMaxQueue) queue_.push_back(std::move(contact));
      }
      changed_.NotifyAll();
    }
    RememberPeers();
    if (clock_.NowNs() < look_ns) continue;
    LookForRevocations();
    LookForAddresses();
    look_ns = clock_.NowNs() + kLookNs;
  }
}

void Membership::TalkMain() {
  while (true) {
    cluster::Contact contact;
    bool is_hint = false;
    {
      const MutexLock lock(mu_);
      while (!stopping_ && queue_.empty() && (follows_hint_ || hints_.empty())) changed_.Wait(mu_);
      if (stopping_) return;
      is_hint = !follows_hint_ && !hints_.empty();
      if (is_hint) {
        contact.addresses = {hints_.Take()};
        follows_hint_ = true;
      } else {
        contact = std::move(queue_.front());
        queue_.pop_front();
      }
    }
    TalkTo(contact);
    if (!is_hint) continue;
    const MutexLock lock(mu_);
    follows_hint_ = false;
    changed_.NotifyAll();
  }
}

void Membership::AddHint(const std::string& address) {
  const MutexLock lock(mu_);
  if (stopping_ || IsAliveAt(address) || !hints_.Add(address, clock_.NowNs())) return;
  changed_.NotifyAll();
}

bool Membership::IsAliveAt(const std::string& address) const {
  const auto has_address = [&](const Member& member) {
    return member.state == MemberState::kAlive &&
           std::ranges::count(member.control_addresses, address) > 0;
  };
  return has_address(state_.self()) || std::ranges::any_of(state_.others(), [&](const auto& each) {
           return has_address(each.second.member);
         });
}

void Membership::TalkTo(const cluster::Contact& contact) {
  const std::vector<std::string> addresses = ConnectedFirst(contact);
  const auto [answered, errors] = CallFastestAddress(
      addresses.size(), kHeadStartNs, [&](size_t i) { return ClientFor(contact, addresses[i]); },
      [&](rpc::ControlClient& client, size_t) -> Result<bool> {
        TRY(TalkThrough(client, contact));
        return true;
      });
  if (contact.node) ForgetClients(*contact.node, answered ? addresses[answered->index] : "");
  if (answered || errors.empty()) return;
  const Error& why = errors.back();
  // A node that refuses has answered.
  if (contact.node && why.code() != Code::kPermissionDenied) {
    const MutexLock lock(mu_);
    state_.Unanswered(*contact.node, clock_.NowNs());
    changed_.NotifyAll();  // a doubt makes the next tick due sooner
  }
  log::Debug("a node could not be reached",
             {{"address", addresses.back()}, {"why", why.message()}});
  Complain(addresses.back(), why);
}

void Membership::ForgetClients(const NodeId& node, const std::string& but_at) {
  const MutexLock lock(mu_);
  std::erase_if(clients_, [&](const auto& client) {
    return client.first.first == node && client.first.second != but_at;
  });
}

// The address that answered last comes first, otherwise the one that answers soonest: one of
// several networks may fail.
std::vector<std::string> Membership::ConnectedFirst(const cluster::Contact& contact) const {
  if (contact.addresses.size() < 2) return contact.addresses;
  if (contact.node) {
    std::vector<std::string> addresses = contact.addresses;
    const MutexLock lock(mu_);
    const auto connected =
        std::ranges::find_if(addresses, [&](const std::string& address) REQUIRES(mu_) {
          return clients_.contains({*contact.node, address});
        });
    if (connected != addresses.end()) {
      std::rotate(addresses.begin(), connected, connected + 1);
      return addresses;
    }
  }
  return net::NearestAddressesFirst(contact.addresses, clock_);
}

void Membership::Complain(const std::string& address, const Error& why) {
  if (why.code() == Code::kPermissionDenied) {
    const MutexLock lock(mu_);
    if (std::exchange(is_shut_out_, true)) return;
    log::Error("this node was revoked; to return, join again", {{"why", why.message()}});
    return;
  }
  // Only seeds that a user typed; former nodes may be off.
  if (std::ranges::count(options_.seeds, address) == 0) return;
  const MutexLock lock(mu_);
  if (stopping_ || !logged_seeds_.insert(address).second) return;
  log::Warn("--join: no node of the cluster answers there; retrying",
            {{"address", address}, {"why", why.message()}});
}

Status Membership::TalkThrough(rpc::ControlClient& client, const cluster::Contact& contact) {
  rpc::Gossip own;
  {
    const MutexLock lock(mu_);
    if (stopping_) return Ok();
    own = GossipOf(state_.MakeGossip(clock_.NowNs()));
  }
  const rpc::Gossip reply = TRY(client.Exchange(own, kTalkNs));
  std::vector<NodeId> wanted = Take(contact.node, reply);
  RememberPeers();  // at once: the process may end soon
  {
    const MutexLock lock(mu_);
    if (stopping_) return Ok();
    auto more = Supplement(reply, std::move(wanted));
    if (!more) return Ok();
    own = *std::move(more);
  }
  Take(contact.node, TRY(client.Exchange(own, kTalkNs)));
  return Ok();
}

std::optional<rpc::Gossip> Membership::Supplement(const rpc::Gossip& told,
                                                  std::vector<NodeId> wanted) {
  const bool is_older = told.buckets.empty();
  const bool needs_list = NeedsRevocations(told);
  std::vector<std::string> certificates =
      is_older ? CertificatesBeside(told.members) : CertificatesOf(told.wanted);
  const bool differs = !is_older && state_.Differs(told.buckets);
  // An older program that gets all records has got them with the first message.
  const bool lacks_records =
      is_older && state_.MakeGossip(clock_.NowNs()).members.size() <= state_.others().size();
  if (certificates.empty() && wanted.empty() && !differs && !needs_list && !lacks_records)
    return std::nullopt;
  cluster::MemberTalk talk =
      is_older ? EverythingKnown() : state_.Answer(told.buckets, clock_.NowNs());
  state_.Include(told.wanted, talk);
  rpc::Gossip more = GossipOf(std::move(talk));
  more.certificates = std::move(certificates);
  more.wanted = std::move(wanted);
  if (needs_list) more.revocations = revocations_.text();
  return more;
}

bool Membership::NeedsRevocations(const rpc::Gossip& told) const {
  const bool is_refused =
      !told.revocations.empty() && told.revocations_serial > revocations_.serial();
  return is_refused || told.revocations_serial < revocations_.serial();
}

Result<std::shared_ptr<rpc::ControlClient>> Membership::ClientFor(const cluster::Contact& contact,
                                                                  const std::string& address) {
  if (contact.node) {
    const MutexLock lock(mu_);
    const auto found = clients_.find({*contact.node, address});
    if (found != clients_.end()) return found->second;
  }
  std::shared_ptr<rpc::ControlClient> client = TRY(rpc::ControlClient::Make(
      {.identity = identity_, .address = address, .expect = contact.node}));
  if (contact.node) {
    const MutexLock lock(mu_);
    if (clients_.size() >= kMaxClients) clients_.clear();
    clients_[{*contact.node, address}] = client;
  }
  return client;
}

cluster::MemberTalk Membership::EverythingKnown() const {
  cluster::MemberTalk talk = state_.MakeGossip(clock_.NowNs());
  talk.members = state_.Records();
  return talk;
}

rpc::Gossip Membership::GossipOf(cluster::MemberTalk talk) {
  rpc::Gossip gossip{.members = std::move(talk.members),
                     .revocations_serial = revocations_.serial(),
                     .revocations = {},
                     .buckets = std::move(talk.buckets)};
  Member& self = gossip.members.front();
  self.signature = signed_.signature;
  if (self != signed_) {
    auto signature = cluster::SignMember(self, identity_.key);
    if (!signature.ok())
      log::Error("this node's record could not be signed", {{"why", signature.error().message()}});
    self.signature = signature.ok() ? *std::move(signature) : "";
    signed_ = self;
  }
  return gossip;
}

std::vector<std::string> Membership::CertificatesOf(const std::vector<NodeId>& nodes) const {
  std::vector<std::string> certificates;
  for (const NodeId& node : nodes) {
    const std::string_view certificate = certificates_.Find(node);
    if (!certificate.empty()) certificates.emplace_back(certificate);
  }
  return certificates;
}

std::vector<std::string> Membership::CertificatesBeside(const std::vector<Member>& records) const {
  std::set<NodeId> known;
  for (const Member& record : records) known.insert(record.node);
  std::vector<std::string> certificates;
  const auto add = [&](const NodeId& node) REQUIRES(mu_) {
    const std::string_view certificate = certificates_.Find(node);
    if (!known.contains(node) && !certificate.empty() &&
        certificates.size() < rpc::kMaxCertificates) {
      certificates.emplace_back(certificate);
    }
  };
  add(identity_.node);
  for (const auto& [node, view] : state_.others()) {
    if (view.member.state == MemberState::kAlive) add(node);
  }
  return certificates;
}

Result<rpc::Gossip> Membership::Exchange(const NodeId& from, const rpc::Gossip& gossip) {
  std::vector<NodeId> wanted = Take(from, gossip);
  const MutexLock lock(mu_);
  const bool wants_all = gossip.members.empty() || gossip.buckets.empty();
  cluster::MemberTalk talk =
      wants_all ? EverythingKnown() : state_.Answer(gossip.buckets, clock_.NowNs());
  state_.Include(gossip.wanted, talk);
  rpc::Gossip reply = GossipOf(std::move(talk));
  if (NeedsRevocations(gossip)) reply.revocations = revocations_.text();
  if (!wants_all) {
    reply.certificates = CertificatesOf(gossip.wanted);
    reply.wanted = std::move(wanted);
  } else if (!gossip.members.empty()) {
    // A front end has no record and stores none.
    reply.certificates = CertificatesBeside(gossip.members);
  }
  return reply;
}

std::vector<NodeId> Membership::Take(const std::optional<NodeId>& from, const rpc::Gossip& gossip) {
  if (!gossip.revocations.empty()) {
    const auto list = cluster::Revocations::Parse(gossip.revocations, identity_.ca_certificate);
    if (list.ok()) {
      TakeRevocations(*list);
    } else {
      log::Warn("a list of revoked nodes was refused", {{"why", list.error().message()}});
    }
  }
  const MutexLock lock(mu_);
  for (const std::string& certificate : gossip.certificates) {
    const Status added = certificates_.Add(certificate, clock_.WallNs() / kNsPerSecond);
    if (!added.ok()) log::Debug("a certificate was refused", {{"why", added.error().message()}});
  }
  std::vector<Member> believed;
  std::vector<NodeId> wanted;
  for (const Member& record : gossip.members) {
    if (!state_.IsNews(record)) continue;
    if (IsBelieved(from, record)) believed.push_back(record);
    const bool may_be_believed = !record.signature.empty() && !certificates_.Has(record.node);
    if (may_be_believed && wanted.size() < rpc::kMaxCertificates) wanted.push_back(record.node);
  }
  const int64_t now_ns = clock_.NowNs();
  const Status merged = state_.Merge(believed, now_ns);
  if (!merged.ok())
    log::Warn("a record of a node was refused", {{"why", merged.error().message()}});
  if (const auto rival = state_.TakeRival(); rival && now_ns >= tell_rival_ns_) {
    tell_rival_ns_ = now_ns + kTellRivalNs;
    log::Error(
        "another process runs with this node's identity, as from a copied settings folder: "
        "end one of the two, and let its machine join with a code of its own",
        {{"address", *rival}});
  }
  if (from) state_.Reached(*from);
  const int64_t tick_ns = state_.next_tick_ns();
  state_.TakeDoubts(gossip.members, now_ns);
  if (state_.next_tick_ns() < tick_ns) changed_.NotifyAll();
  // Certificates of unknown nodes are not kept: their number has no bound.
  certificates_.KeepOnly([&](const NodeId& node) REQUIRES(mu_) { return state_.Knows(node); });
  return wanted;
}

bool Membership::HasItsOwnName(const Member& record) const {
  if (const auto name = certificates_.NameOf(record.node); !name.empty())
    return name == record.name;
  return std::ranges::none_of(state_.Records(), [&](const Member& other) {
    return other.node != record.node && AsciiLower(other.name) == AsciiLower(record.name);
  });
}

// A node of an older version signs nothing, and its record of itself is believed.
bool Membership::IsBelieved(const std::optional<NodeId>& from, const Member& record) {
  if (record.signature.empty() && from == record.node && HasItsOwnName(record)) return true;
  // Its certificate will be sent, too.
  if (!record.signature.empty() && !certificates_.Has(record.node)) return false;
  const Status checked =
      record.signature.empty()
          ? Status(Error(Code::kPermissionDenied,
                         "it is not signed by the node that it is about: bring all nodes to the "
                         "same version of the program"))
          : certificates_.Check(record);
  if (checked.ok()) return true;
  if (doubted_.size() < kMaxDoubted && doubted_.insert(record.node).second) {
    log::Warn("a record of a node was refused",
              {{"node", record.name}, {"why", checked.error().message()}});
  }
  return false;
}

void Membership::TakeRevocations(const cluster::Revocations& list) {
  {
    const MutexLock lock(mu_);
    if (list.serial() == revocations_.serial()) return;
  }
  const auto stored = home_.StoreRevocations(list, identity_.ca_certificate);
  if (!stored.ok()) {
    log::Error("the list of revoked nodes could not be written",
               {{"why", stored.error().message()}});
  }
  FollowRevocations(stored.ok() ? *stored : list);
}

void Membership::FollowRevocations(const cluster::Revocations& list) {
  std::vector<NodeId> revoked;
  {
    const MutexLock lock(mu_);
    if (list.serial() <= revocations_.serial() || !list.Covers(revocations_)) return;
    for (const auto& [node, when_s] : list.nodes()) {
      if (!revocations_.Contains(node)) revoked.push_back(node);
      state_.Revoke(node);
    }
    revocations_ = list;
  }
  if (!options_.on_revoked) return;
  for (const NodeId& node : revoked) options_.on_revoked(node);
}

// `aster cluster revoke` on this machine writes to the home.
void Membership::LookForRevocations() {
  if (const auto list = home_.LoadRevocations(identity_.ca_certificate); list.ok())
    TakeRevocations(*list);
}

void Membership::LookForAddresses() {
  if (!options_.addresses) return;
  auto addresses = options_.addresses();
  if (addresses.ok()) SetAddresses(*std::move(addresses));
}

void Membership::RememberPeers() {
  const MutexLock store(store_mu_);  // so that older peers do not overwrite newer ones
  std::vector<cluster::KnownPeer> peers;
  {
    const MutexLock lock(mu_);
    if (state_.version() == stored_version_) return;
    stored_version_ = state_.version();
    peers = PeersToStore();
  }
  if (const Status stored = home_.StorePeers(peers); !stored.ok())
    log::Warn("the addresses of other nodes could not be written",
              {{"why", stored.error().message()}});
}

std::vector<cluster::KnownPeer> Membership::PeersToStore() const {
  // This node too, for front ends on the same machine.
  std::vector<cluster::KnownPeer> peers = {
      {state_.self().node, state_.self().name, state_.self().control_addresses}};
  for (const auto& [node, view] : state_.others()) {
    if (view.member.state != MemberState::kLeft)
      peers.push_back({node, view.member.name, view.member.control_addresses});
  }
  return peers;
}

bool Membership::IsRevoked(const NodeId& node) const {
  const MutexLock lock(mu_);
  return revocations_.Contains(node);
}

std::vector<Member> Membership::Members() const {
  const MutexLock lock(mu_);
  return state_.Records();
}

std::vector<Member> Membership::Living() const {
  std::vector<cluster::MemberView> living;
  {
    const MutexLock lock(mu_);
    for (const auto& [node, view] : state_.others()) {
      if (view.member.state == MemberState::kAlive) living.push_back(view);
    }
  }
  std::ranges::stable_sort(living, std::greater(), &cluster::MemberView::news_ns);
  std::vector<Member> members;
  for (cluster::MemberView& view : living) members.push_back(std::move(view.member));
  return members;
}

void Membership::SetAddresses(OwnAddresses addresses) {
  const MutexLock lock(mu_);
  state_.SetAddresses(std::move(addresses.control), std::move(addresses.data));
}

void Membership::SetDescriptionVersion(uint64_t version) {
  const MutexLock lock(mu_);
  state_.SetDescriptionVersion(version);
}

}  // namespace aster::node
