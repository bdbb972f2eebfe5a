// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The loop of a TCP network: the one thread that owns all connections dials and accepts them, steps
// each as far as its socket allows, and ends those that fail.

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "net/tcp_network.h"

namespace aster::net {

using wire::NodeId;

namespace {

constexpr int64_t kFirstPauseNs = 100 * kNsPerMs;
constexpr int64_t kLongestPauseNs = 2 * kNsPerSecond;
// How long new connections wait when the system has no descriptors left.
constexpr int64_t kShortNs = 100 * kNsPerMs;
constexpr int64_t kNoteNs = 500 * kNsPerMs;
// How long the loop's thread leaves the sockets to one that pumps: longer than that one computes
// between two pumps, and short enough if it has stopped.
constexpr int64_t kPumpedNs = 5 * kNsPerMs;
// Enough for all nodes of a cluster to send Goodbye at once.
constexpr size_t kMaxClosing = 64;

// For poll(), rounded up.
int MillisecondsOf(int64_t wait_ns) {
  return static_cast<int>(std::min<int64_t>((wait_ns + kNsPerMs - 1) / kNsPerMs, 1000));
}

}  // namespace

// --- Callbacks of connections.

Status TcpNetwork::OnHello(Connection& connection) {
  const NodeId node = connection.peer();
  // Membership first; then there must be room for an incoming connection.
  if (options_.admit) TRY(options_.admit(connection.machine()));
  if (connection.is_dialed()) return Ok();
  if (incoming_.contains(node)) return Ok();  // takes the place of the earlier one
  if (incoming_.size() >= options_.max_connections) {
    return ResourceExhausted(
        fmt::format("{} nodes are connected already", options_.max_connections));
  }
  // A machine makes as many ids as it likes: it must not take the room of others.
  const auto of_machine = std::ranges::count_if(
      incoming_, [&](const auto& item) { return item.second->machine() == connection.machine(); });
  if (static_cast<size_t>(of_machine) >= options_.max_of_machine) {
    return ResourceExhausted(
        fmt::format("{} programs of this machine are connected already", options_.max_of_machine));
  }
  return Ok();
}

void TcpNetwork::OnMessage(Connection& connection, wire::Message message, uint64_t cost) {
  Event event{Event::Kind::kMessage, connection.peer(), std::move(message), Ok()};
  if (is_greeting_) {
    early_.push_back({std::move(event), cost, connection.consumed()});
  } else {
    events_.Push(std::move(event), cost, connection.consumed());
  }
}

// Steps a connection that is not up. Messages that come in the same step as its Hello are held back
// until ReportUp, as kUp must come first.
Status TcpNetwork::StepGreeting(Connection& connection, const std::map<int, short>& ready) {
  is_greeting_ = true;
  Status status = StepConnection(connection, ready);
  is_greeting_ = false;
  if (!status.ok()) early_.clear();
  return status;
}

void TcpNetwork::ReportUp(const Connection& connection, Peer& peer) {
  peer.name = connection.peer_name();
  peer.machine = connection.machine();
  if (!std::exchange(peer.is_up, true)) {
    events_.Push({Event::Kind::kUp, connection.peer(), {}, Ok()}, 0, nullptr);
  }
  for (Early& early : early_) {
    events_.Push(std::move(early.event), early.cost, std::move(early.consumed));
  }
  early_.clear();
}

std::vector<Connection*> TcpNetwork::AllConnections() {
  std::vector<Connection*> all;
  for (auto& [node, outgoing] : outgoing_) {
    if (outgoing.connection) all.push_back(outgoing.connection.get());
  }
  for (auto& [node, connection] : incoming_) all.push_back(connection.get());
  for (auto& connection : unauthenticated_) all.push_back(connection.get());
  for (auto& connection : closing_) all.push_back(connection.get());
  return all;
}

int64_t TcpNetwork::NextDeadline() {
  const int64_t now_ns = clock_.NowNs();
  int64_t deadline_ns = now_ns + kNsPerSecond;
  if (accept_ns_ > now_ns) deadline_ns = std::min(deadline_ns, accept_ns_);
  for (Connection* connection : AllConnections()) {
    // Frames that were already read from the socket wait for their turn, without poll().
    if (connection->HasMore()) return 0;
    deadline_ns = std::min(deadline_ns, connection->deadline_ns());
  }
  for (const auto& [node, outgoing] : outgoing_) {
    if (!outgoing.connection && !outgoing.resolution) {
      deadline_ns = std::min(deadline_ns, outgoing.begin_ns);
    }
  }
  return deadline_ns;
}

// The descriptors to wait for: other threads' requests, new connections, and the sockets.
std::vector<pollfd> TcpNetwork::Watched() {
  std::vector<pollfd> polled = {{waker_->descriptor(), POLLIN, 0}};
  // A listener that cannot accept would stay ready, and never let poll() wait.
  if (clock_.NowNs() >= accept_ns_) {
    for (const Socket& listener : listeners_) polled.push_back({listener.descriptor(), POLLIN, 0});
  }
  for (Connection* connection : AllConnections()) {
    const int events = POLLIN | (connection->WantsWrite() ? POLLOUT : 0);
    polled.push_back({connection->descriptor(), static_cast<short>(events), 0});
  }
  return polled;
}

// The loop of the one thread that owns all connections: waits until a socket, a request or a
// deadline needs it, then steps every connection.
void TcpNetwork::Run() {
  while (!is_stopping_.load()) {
    // While another thread pumps, this one waits for requests only, and leaves the lock to that
    // one.
    const int64_t pumped_ns = pumped_until_ns_.load() - clock_.NowNs();
    pollfd requests = {waker_->descriptor(), POLLIN, 0};
    if (pumped_ns > 0 && poll(&requests, 1, MillisecondsOf(pumped_ns)) == 0) continue;
    std::vector<pollfd> polled;
    int64_t deadline_ns = 0;
    uint64_t pumps = 0;
    {
      MutexLock lock(loop_mu_);
      IgnoreOwnPauses();
      polled = Watched();
      deadline_ns = NextDeadline();
      lateness_.Expect(std::max(deadline_ns, clock_.NowNs()));
      pumps = pumps_;
    }
    const int64_t wait_ns = std::max<int64_t>(0, deadline_ns - clock_.NowNs());
    poll(polled.data(), polled.size(), MillisecondsOf(wait_ns));
    waker_->Reset();

    MutexLock lock(loop_mu_);
    IgnoreOwnPauses();
    lateness_.Expect(clock_.NowNs());
    // Another thread has stepped connections meanwhile: descriptors may belong to other sockets
    // now.
    if (pumps != pumps_) polled.clear();
    Step(polled);
  }
  MutexLock lock(loop_mu_);
  SayGoodbye();
}

// Time in which no thread stepped although one should have does not count as silence of peers.
void TcpNetwork::IgnoreOwnPauses() {
  const int64_t late_ns = lateness_.Arrive(clock_.NowNs());
  if (late_ns == 0) return;
  for (Connection* connection : AllConnections()) connection->IgnorePause(late_ns);
}

// One round: other threads' requests, then every connection, then new ones.
void TcpNetwork::Step(std::span<const pollfd> polled) {
  std::map<int, short> ready;
  for (const pollfd& entry : polled) {
    if (entry.revents != 0) ready[entry.fd] = entry.revents;
  }
  TakeRequests();
  StepAll(ready);
  for (const Socket& listener : listeners_) {
    if (ready.contains(listener.descriptor())) AcceptAll(listener);
  }
  if (clock_.NowNs() - noted_ns_ >= kNoteNs) NoteStatus();
}

bool TcpNetwork::Pump() {
  pumped_until_ns_.store(clock_.NowNs() + kPumpedNs);
  // If the loop's thread is stepping, this one sleeps until that is done: the loop may need this
  // core.
  MutexLock lock(loop_mu_);
  IgnoreOwnPauses();
  std::vector<pollfd> polled = Watched();
  const bool is_due = NextDeadline() <= clock_.NowNs();
  if (poll(polled.data(), polled.size(), 0) > 0 || is_due) {
    ++pumps_;
    Step(polled);
  }
  lateness_.ExpectAnother(clock_.NowNs() + kPumpedNs);
  return true;
}

void TcpNetwork::AcceptAll(const Socket& listener) {
  for (size_t i = 0; i < options_.max_unauthenticated; ++i) {
    // As many as may wait for their Hello; the others stay in the system's queue.
    Result<Socket> accepted = Accept(listener);
    if (!accepted.ok()) {
      PauseAccepting(accepted.error());
      return;
    }
    if (!accepted->is_open()) return;
    if (std::exchange(is_short_, false)) log::Info("the data plane takes connections again");
    // It is unauthenticated until its Hello has been checked.
    const Result<Endpoint> remote = RemoteEndpoint(*accepted);
    if (!remote.ok()) continue;
    auto connection = std::make_unique<Connection>(
        connection_options_, clock_, static_cast<Connection::Owner&>(*this),
        std::make_shared<Outbox>(clock_, options_.max_queue_bytes), std::nullopt, remote->ToText());
    if (tls_ == nullptr) {
      connection->Start(MakePlainStream(std::move(*accepted)));
    } else {
      Result<std::unique_ptr<TlsStream>> stream = tls_->MakeStream(std::move(*accepted), true);
      if (!stream.ok()) continue;
      connection->Start(std::move(*stream));
    }
    // Connections without a Hello are few, and the oldest is closed first: so nodes of the cluster
    // always get through.
    if (unauthenticated_.size() >= options_.max_unauthenticated) unauthenticated_.pop_front();
    unauthenticated_.push_back(std::move(connection));
  }
}

// Probably out of descriptors: closes connections without a Hello first.
void TcpNetwork::PauseAccepting(const Error& why) {
  if (!std::exchange(is_short_, true))
    log::Warn("the data plane cannot take a connection; retrying", {{"why", why.message()}});
  accept_ns_ = clock_.NowNs() + kShortNs;
  if (!unauthenticated_.empty()) unauthenticated_.pop_front();
}

void TcpNetwork::TakeRequests() {
  std::vector<Request> requests;
  {
    MutexLock lock(mu_);
    requests.swap(requests_);
    for (const Request& request : requests) {
      // Under the lock, as it reads addresses and outboxes. Another thread resolves names.
      if (request.kind != Request::Kind::kDial || outgoing_.contains(request.node)) continue;
      // It may have been broken since.
      const auto peer = peers_.find(request.node);
      if (peer == peers_.end() || !peer->second.outbox) continue;
      Outgoing outgoing;
      outgoing.outbox = peer->second.outbox;
      outgoing.resolution =
          std::make_unique<Resolution>(peer->second.addresses, waker_, options_.path_rates);
      outgoing.begin_ns = std::max(clock_.NowNs(), backoffs_[request.node].next_ns);
      outgoing_.emplace(request.node, std::move(outgoing));
    }
  }
  // Without the lock, which Break takes.
  for (const Request& request : requests) {
    if (request.kind == Request::Kind::kBreak) Break(request.node, *request.why);
    if (request.kind == Request::Kind::kEnd) End(request.node, *request.why);
  }
}

void TcpNetwork::StepAll(const std::map<int, short>& ready) {
  // A step may end connections, so each node is looked up again. First the connections that this
  // node dialed, then the incoming ones.
  std::vector<NodeId> nodes;
  for (const auto& [node, outgoing] : outgoing_) nodes.push_back(node);
  for (const NodeId& node : nodes) {
    const auto found = outgoing_.find(node);
    if (found != outgoing_.end()) StepOutgoing(node, found->second, ready);
  }
  nodes.clear();
  for (const auto& [node, connection] : incoming_) nodes.push_back(node);
  for (const NodeId& node : nodes) {
    const auto found = incoming_.find(node);
    if (found == incoming_.end()) continue;
    const Status status = StepConnection(*found->second, ready);
    if (!status.ok()) Break(node, status.error());
  }
  // Then those without a Hello, and closing ones.
  StepUnauthenticated(ready);
  StepClosing(ready);
}

Status TcpNetwork::StepConnection(Connection& connection, const std::map<int, short>& ready) {
  const auto found = ready.find(connection.descriptor());
  const int events = found == ready.end() ? 0 : found->second;
  // A broken socket is read and written once more, so that its own error is reported.
  const bool is_broken = (events & (POLLERR | POLLHUP)) != 0;
  return connection.Step((events & POLLIN) != 0 || is_broken, (events & POLLOUT) != 0 || is_broken);
}

void TcpNetwork::StepOutgoing(const NodeId& node, Outgoing& outgoing,
                              const std::map<int, short>& ready) {
  // Not connected yet: resolves names, or tries the next address.
  if (!outgoing.connection) {
    const Status status = StepDial(node, outgoing);
    if (!status.ok()) DialFailed(node, status.error());
    return;
  }
  Connection& connection = *outgoing.connection;
  const bool was_up = connection.state() == Connection::State::kUp;
  const Status status =
      was_up ? StepConnection(connection, ready) : StepGreeting(connection, ready);
  if (status.ok()) {
    if (was_up || connection.state() != Connection::State::kUp) return;
    // It came up in this step: reports kUp, and the next dial needs no pause.
    backoffs_.erase(node);
    MutexLock lock(mu_);
    ReportUp(connection, peers_.at(node));
    return;
  }
  const Error why = Error(status.error()).In(connection.where());
  if (was_up) return Break(node, why);
  // It failed before it was up: messages are kept for the node's next address.
  outgoing.reasons += (outgoing.reasons.empty() ? "" : "; ") + why.message();
  {
    MutexLock lock(mu_);
    auto next = std::make_shared<Outbox>(clock_, options_.max_queue_bytes);
    // Cannot fail: limits are known only after a Hello.
    CHECK(outgoing.outbox->MoveMessagesTo(*next).ok());
    outgoing.outbox = peers_.at(node).outbox = std::move(next);
  }
  CloseInBackground(std::move(outgoing.connection), why);
}

Status TcpNetwork::StepDial(const NodeId& node, Outgoing& outgoing) {
  // Resolves names first; then tries each endpoint in turn, after the pause of earlier failures.
  if (outgoing.resolution) {
    std::optional<Result<std::vector<Endpoint>>> found = outgoing.resolution->Take();
    if (!found) return Ok();
    outgoing.resolution.reset();
    outgoing.endpoints = TRY(std::move(*found));
  }
  if (clock_.NowNs() < outgoing.begin_ns) return Ok();
  while (outgoing.next_endpoint < outgoing.endpoints.size()) {
    // A failed endpoint is no error while there is another one.
    const Endpoint& endpoint = outgoing.endpoints[outgoing.next_endpoint++];
    Result<std::unique_ptr<Connection>> connection = Connect(node, outgoing, endpoint);
    if (connection.ok()) {
      outgoing.connection = std::move(*connection);
      return Ok();
    }
    outgoing.reasons += (outgoing.reasons.empty() ? "" : "; ") +
                        std::move(connection).error().In(endpoint.ToText()).message();
  }
  return Error(Code::kUnavailable, outgoing.reasons);
}

Result<std::unique_ptr<Connection>> TcpNetwork::Connect(const NodeId& node,
                                                        const Outgoing& outgoing,
                                                        const Endpoint& endpoint) {
  if (tls_ == nullptr && !endpoint.is_loopback()) {
    return FailedPrecondition(
        "that is another machine, and this node has no certificate: make a cluster with `aster "
        "cluster init`, or join one");
  }
  // Connects in the background: the socket becomes writable when it is done.
  Socket socket = TRY(BeginConnect(endpoint));
  auto connection = std::make_unique<Connection>(connection_options_, clock_,
                                                 static_cast<Connection::Owner&>(*this),
                                                 outgoing.outbox, node, endpoint.ToText());
  if (tls_ == nullptr) {
    connection->Start(MakePlainStream(std::move(socket)));
  } else {
    connection->Start(TRY(tls_->MakeStream(std::move(socket), false)));
  }
  return connection;
}

void TcpNetwork::StepUnauthenticated(const std::map<int, short>& ready) {
  for (auto place = unauthenticated_.begin(); place != unauthenticated_.end();) {
    Connection& connection = **place;
    const Status status = StepGreeting(connection, ready);
    if (status.ok() && connection.state() != Connection::State::kUp) {
      ++place;
      continue;
    }
    // It has failed, or its node is known now.
    std::unique_ptr<Connection> owned = std::move(*place);
    place = unauthenticated_.erase(place);
    if (!status.ok()) {
      log::Debug("refused a connection",
                 {{"from", owned->where()}, {"why", status.error().message()}});
      CloseInBackground(std::move(owned), status.error());
      continue;
    }
    // A node has one incoming connection: a second one means that the first is dead, even if that
    // has not been noticed yet.
    const NodeId node = owned->peer();
    if (incoming_.contains(node)) {
      Break(node,
            Error(Code::kAborted, "it connected again: restarted, or the connection was lost"));
    }
    // From now on Send finds the connection, and the receiver gets kUp.
    MutexLock lock(mu_);
    Peer& peer = peers_[node];
    peer.incoming = owned->outbox();
    ReportUp(*(incoming_[node] = std::move(owned)), peer);
  }
}

void TcpNetwork::StepClosing(const std::map<int, short>& ready) {
  for (auto place = closing_.begin(); place != closing_.end();) {
    const Status status = StepConnection(**place, ready);
    const bool is_over = !status.ok() || (*place)->state() == Connection::State::kClosed;
    place = is_over ? closing_.erase(place) : std::next(place);
  }
}

// Closes it in the background: its Goodbye must be sent and read.
void TcpNetwork::CloseInBackground(std::unique_ptr<Connection> connection, const Error& why) {
  // Bounded: if many end together the oldest are cut off.
  connection->Close(why);
  if (connection->state() == Connection::State::kClosed) return;
  if (closing_.size() >= kMaxClosing) closing_.pop_front();
  closing_.push_back(std::move(connection));
}

void TcpNetwork::DialFailed(const NodeId& node, const Error& why) {
  // Doubles the pause before the next attempt, within limits.
  Backoff& backoff = backoffs_[node];
  backoff.pause_ns = std::clamp(2 * backoff.pause_ns, kFirstPauseNs, kLongestPauseNs);
  backoff.next_ns = clock_.NowNs() + backoff.pause_ns;
  {
    MutexLock lock(mu_);
    Peer& peer = peers_.at(node);
    if (peer.incoming) {
      // The node has connected to this one: messages use that connection.
      const Status moved = outgoing_.at(node).outbox->MoveMessagesTo(*peer.incoming);
      if (!moved.ok()) requests_.push_back({Request::Kind::kBreak, node, moved.error()});
      peer.outbox = peer.incoming;
      outgoing_.erase(node);
      waker_->Wake();
      return;
    }
  }
  Break(node, why);
}

// Ends both connections with a node, with one event. Messages in its queues are lost, as kDown
// implies.
void TcpNetwork::Break(const NodeId& node, const Error& why) {
  // First the connections, which this thread owns; then the shared state of the node.
  const auto outgoing = outgoing_.find(node);
  if (outgoing != outgoing_.end()) {
    if (outgoing->second.connection) CloseInBackground(std::move(outgoing->second.connection), why);
    outgoing_.erase(outgoing);
  }
  const auto incoming = incoming_.find(node);
  if (incoming != incoming_.end()) {
    CloseInBackground(std::move(incoming->second), why);
    incoming_.erase(incoming);
  }
  MutexLock lock(mu_);
  const auto found = peers_.find(node);
  if (found == peers_.end()) return;
  Peer& peer = found->second;
  // One event for both connections, and none if the node was never up nor dialed.
  const bool is_news = peer.is_up || peer.outbox;
  peer.outbox.reset();
  peer.incoming.reset();
  peer.is_up = false;
  const std::string who = peer.name.empty() ? fmt::format("node {}", node.ToText()) : peer.name;
  // Front ends come and go with new ids; one without an address cannot be reached again.
  if (peer.addresses.empty()) peers_.erase(found);
  if (!is_news) return;
  events_.Push({Event::Kind::kDown, node, {}, Error(why).In(who)}, 0, nullptr);
}

// Breaks the node of a machine and all front ends there, which share its certificate.
void TcpNetwork::End(const NodeId& machine, const Error& why) {
  // Gathers the ids under the lock, which Break takes itself.
  std::vector<NodeId> nodes = {machine};
  {
    MutexLock lock(mu_);
    for (const auto& [node, peer] : peers_) {
      if (node != machine && peer.machine == machine) nodes.push_back(node);
    }
  }
  for (const NodeId& node : nodes) Break(node, why);
}

void TcpNetwork::NoteStatus() {
  noted_ns_ = clock_.NowNs();
  MutexLock lock(mu_);
  for (auto& [node, peer] : peers_) {
    // Sums over the connections of both directions.
    PeerStatus status;
    const auto add = [&](const Connection& connection) {
      status.sent_bytes += connection.outbox()->sent_bytes();
      status.received_bytes += connection.received_bytes();
      const int64_t round_trip_ns = connection.round_trip_ns();
      if (round_trip_ns > 0) status.round_trip_ns = round_trip_ns;
    };
    const auto outgoing = outgoing_.find(node);
    if (outgoing != outgoing_.end() && outgoing->second.connection) {
      add(*outgoing->second.connection);
    }
    const auto incoming = incoming_.find(node);
    if (incoming != incoming_.end()) add(*incoming->second);
    peer.status = status;
  }
}

void TcpNetwork::SayGoodbye() {
  const Error why(Code::kUnavailable, "this node stops");
  for (Connection* connection : AllConnections()) connection->Close(why);
  // Only what the sockets accept at once: the end of the program does not wait for peers.
}

}  // namespace aster::net
