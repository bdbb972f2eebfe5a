// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/tcp_network.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "net/certificate.h"

namespace aster::net {

using wire::NodeId;

namespace {

// The most bytes that the sending thread writes itself: more would take longer than waking the
// loop's thread.
constexpr uint64_t kDirectBytes = 256 << 10;

// The cost of a message to this node itself, which has no frame.
uint64_t CostOf(const wire::Message& message) {
  uint64_t bytes = 0;
  if (const auto* work = std::get_if<wire::Work>(&message)) bytes = work->rows.size();
  if (const auto* done = std::get_if<wire::Done>(&message)) bytes = done->logits.size();
  return wire::CostOf(bytes);
}

Introduction IntroductionOf(const TcpOptions& options, const NodeId& self) {
  return {.node = self,
          .name = options.name,
          .arithmetic = options.arithmetic,
          .max_frame_bytes = options.max_frame_bytes,
          .credit_bytes = options.credit_bytes,
          .password = options.credentials.password,
          .instance = options.credentials.instance};
}

}  // namespace

Result<std::unique_ptr<TcpNetwork>> TcpNetwork::Start(TcpOptions options) {
  NodeId self = options.credentials.node;
  std::unique_ptr<TlsContext> tls;
  // The node's identity follows from its certificate; without one it is a local node, protected by
  // a password.
  if (options.credentials.has_certificate()) {
    options.credentials.password.clear();
    tls = TRY(TlsContext::Make(options.credentials));
    self = TRY(NodeIdOfCertificate(options.credentials.certificate));
    const std::vector<uint8_t>& instance = options.credentials.instance;
    CHECK(instance.empty() || instance.size() == kInstanceBytes);
    if (!instance.empty()) self = InstanceOf(self, instance);
  } else if (options.credentials.password.size() < 32) {
    return InvalidArgument(
        "neither certificates nor a password of 32 random bytes: make a cluster with `aster "
        "cluster "
        "init`, or join one");
  }
  std::unique_ptr<TcpNetwork> network;
  // tidy: allow(ownership) make_unique does not reach a private constructor
  network.reset(new TcpNetwork(std::move(options), self, std::move(tls)));
  TRY(network->OpenListeners());
  // One thread owns all connections.
  try {
    network->loop_ = std::thread([network = network.get()] { network->Run(); });
  } catch (const std::system_error& error) {
    return ResourceExhausted(fmt::format("no thread for the network: {}", error.what()));
  }
  return network;
}

TcpNetwork::TcpNetwork(TcpOptions options, const NodeId& self, std::unique_ptr<TlsContext> tls)
    : options_(std::move(options)),
      connection_options_{.self = IntroductionOf(options_, self),
                          .handshake_ns = options_.handshake_ns,
                          .heartbeat_ns = options_.heartbeat_ns,
                          .silence_ns = options_.silence_ns},
      tls_(std::move(tls)) {}

TcpNetwork::~TcpNetwork() {
  is_stopping_.store(true);
  waker_->Wake();
  if (loop_.joinable()) loop_.join();
}

Status TcpNetwork::OpenListeners() {
  for (const std::string& address : options_.listen) {
    const HostPort host_port = TRY(ParseHostPort(address));
    // A name may have several addresses: listens on each.
    for (const Endpoint& endpoint : TRY(Resolve(host_port).In("--listen"))) {
      // Without certificates there is no encryption: such a node stays on this machine.
      if (tls_ == nullptr && !endpoint.is_loopback()) {
        return FailedPrecondition(fmt::format(
            "{} can be reached from other machines, and this node has no certificate: make a "
            "cluster (`aster cluster init`) or join one, or listen on 127.0.0.1",
            endpoint.ToText()));
      }
      Socket listener = TRY(Listen(endpoint));
      addresses_.push_back(TRY(LocalEndpoint(listener)).ToText());
      listeners_.push_back(std::move(listener));
    }
  }
  return Ok();
}

// --- Calls from other threads. They queue requests for the loop, and wake it.

void TcpNetwork::Dial(Peer& peer, const NodeId& node) {
  peer.outbox = std::make_shared<Outbox>(clock_, options_.max_queue_bytes);
  requests_.push_back({Request::Kind::kDial, node, std::nullopt});
}

void TcpNetwork::Introduce(const NodeId& node, const std::vector<std::string>& addresses) {
  if (node == self()) return;
  {
    MutexLock lock(mu_);
    Peer& peer = peers_[node];
    peer.addresses = addresses;
    // A node that is connected, or being dialed, keeps its connection; new addresses are for the
    // next one.
    if (peer.outbox || peer.is_up) return;
    Dial(peer, node);
  }
  waker_->Wake();
}

Status TcpNetwork::PushTo(const NodeId& to, wire::Frame frame, std::shared_ptr<Outbox>& outbox) {
  MutexLock lock(mu_);
  const auto found = peers_.find(to);
  if (found == peers_.end() || (!found->second.incoming && found->second.addresses.empty())) {
    return FailedPrecondition(
        fmt::format("the address of node {} is not known: introduce it first", to.ToText()));
  }
  // Uses the incoming connection, unless this side has dialed or is dialing.
  Peer& peer = found->second;
  if (!peer.outbox) peer.outbox = peer.incoming;
  if (!peer.outbox) Dial(peer, to);
  outbox = peer.outbox;
  Status pushed = peer.outbox->Push(std::move(frame));
  if (pushed.ok()) return Ok();
  Error why = std::move(pushed).error().In(fmt::format("node {}", to.ToText()));
  // A full queue: the peer takes nothing, and counts as down. Other refusals (a message that its
  // protocol lacks) leave the connection as it is.
  if (why.code() == Code::kResourceExhausted) requests_.push_back({Request::Kind::kBreak, to, why});
  return why;
}

Status TcpNetwork::Send(const NodeId& to, wire::Message message) {
  // To this node itself, without a frame; bounded like any other queue.
  if (to == self()) {
    if (events_.waiting_cost() > options_.max_queue_bytes) {
      return ResourceExhausted("this node does not take what it sends to itself");
    }
    // Its bytes still count for the limit of the event queue.
    const uint64_t cost = CostOf(message);
    events_.Push({Event::Kind::kMessage, to, std::move(message), Ok()}, cost, nullptr);
    return Ok();
  }
  // This thread sends small frames if the socket accepts them; the loop sends the rest.
  wire::Frame frame = wire::Encode(std::move(message), {.checksum_payload = tls_ == nullptr});
  std::shared_ptr<Outbox> outbox;
  Status pushed = PushTo(to, std::move(frame), outbox);
  if (!pushed.ok() || !outbox->TryFlush(kDirectBytes)) waker_->Wake();
  return pushed;
}

uint16_t TcpNetwork::ProtocolOf(const NodeId& node) const {
  MutexLock lock(mu_);
  const auto found = peers_.find(node);
  if (found == peers_.end() || !found->second.outbox) return wire::kNewestProtocol;
  return found->second.outbox->protocol();
}

std::optional<Event> TcpNetwork::Receive(int64_t deadline_ns) {
  // A receiver that may sleep returns the sockets to the loop.
  if (pumped_until_ns_.load() != 0 && deadline_ns > clock_.NowNs()) {
    pumped_until_ns_.store(0);
    waker_->Wake();
  }
  std::optional<EventQueue::Taken> taken = events_.Take(deadline_ns);
  if (!taken) return std::nullopt;
  // Enough bytes were consumed that the loop must send credit.
  if (taken->consumed_bytes >= Connection::MaxUncreditedBytes(options_.credit_bytes))
    waker_->Wake();
  return std::move(taken->event);
}

std::vector<PeerStatus> TcpNetwork::Peers() const {
  MutexLock lock(mu_);
  std::vector<PeerStatus> statuses;
  for (const auto& [node, peer] : peers_) {
    PeerStatus status = peer.status;
    status.node = node;
    status.machine = peer.machine.value_or(node);
    status.name = peer.name;
    status.is_up = peer.is_up;
    status.queued_bytes = peer.outbox ? peer.outbox->queued_bytes() : 0;
    statuses.push_back(std::move(status));
  }
  return statuses;
}

void TcpNetwork::Disconnect(const NodeId& node, Error why) {
  {
    MutexLock lock(mu_);
    requests_.push_back({Request::Kind::kEnd, node, std::move(why)});
  }
  waker_->Wake();
}

}  // namespace aster::net
