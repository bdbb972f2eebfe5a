// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The Network of real machines: TCP, with TLS unless it never leaves this machine. One thread moves
// all bytes; small messages are sent by the calling thread, and a receiving thread may do the work
// itself (Pump). Must not know what messages mean.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "net/connection.h"
#include "net/credentials.h"
#include "net/event_queue.h"
#include "net/lateness.h"
#include "net/network.h"
#include "net/path_rates.h"
#include "net/resolution.h"
#include "net/socket.h"
#include "net/tls.h"
#include "net/waker.h"

namespace aster::net {

struct TcpOptions {
  Credentials credentials;
  // HOST:PORT each; port 0 takes any free one. Without certificates only loopback. Empty: the node
  // connects to others and cannot be reached.
  std::vector<std::string> listen;
  std::string name;         // for users
  uint32_t arithmetic = 0;  // nodes with another arithmetic are refused

  uint64_t max_frame_bytes = uint64_t{512} << 20;  // largest frame that this node accepts
  uint64_t credit_bytes = uint64_t{64} << 20;      // of messages that wait here to be received
  uint64_t max_queue_bytes = uint64_t{512} << 20;  // of messages for one node; more: it is down
  int64_t handshake_ns = 5 * kNsPerSecond;
  int64_t heartbeat_ns = kNsPerSecond / 2;
  int64_t silence_ns = 2 * kNsPerSecond;
  size_t max_unauthenticated = 32;  // connections without a Hello; the oldest is closed
  size_t max_connections = 256;     // with nodes
  size_t max_of_machine = 64;       // of those, with the node and the front ends of one machine
  // Called for every connection, by the network's thread, with the proven node (also for its
  // instances): an error refuses it, for example if the node was revoked.
  std::function<Status(const wire::NodeId&)> admit;
  // Measured rates of the addresses of nodes that have several; or null.
  std::shared_ptr<const PathRates> path_rates = nullptr;
};

// The state of one node.
struct PeerStatus {
  wire::NodeId node;
  wire::NodeId machine;  // the owner of the shown certificate: `node`, unless that is an instance
  std::string name;
  bool is_up = false;
  int64_t round_trip_ns = 0;  // the shortest of the last heartbeats; 0: not measured
  uint64_t sent_bytes = 0;
  uint64_t received_bytes = 0;
  uint64_t queued_bytes = 0;
};

// Safe for concurrent use, except that one thread receives.
class TcpNetwork final : public Network, private Connection::Owner {
 public:
  static Result<std::unique_ptr<TcpNetwork>> Start(TcpOptions options);
  // Sends Goodbye to all nodes.
  ~TcpNetwork() override;

  wire::NodeId self() const override { return connection_options_.self.node; }
  void Introduce(const wire::NodeId& node, const std::vector<std::string>& addresses) override
      EXCLUDES(mu_);
  Status Send(const wire::NodeId& to, wire::Message message) override EXCLUDES(mu_);
  std::optional<Event> Receive(int64_t deadline_ns) override;
  bool Pump() override EXCLUDES(loop_mu_);
  uint16_t ProtocolOf(const wire::NodeId& node) const override EXCLUDES(mu_);
  const Clock& clock() const override { return clock_; }

  // The addresses that it listens on.
  const std::vector<std::string>& addresses() const { return addresses_; }
  std::vector<PeerStatus> Peers() const EXCLUDES(mu_);
  // Closes the connections of the node and its instances, with this reason: kDown follows for each.
  // For revoked nodes.
  void Disconnect(const wire::NodeId& node, Error why) EXCLUDES(mu_);

 private:
  // The state of a node, shared between threads.
  struct Peer {
    std::vector<std::string> addresses;
    std::string name;
    std::optional<wire::NodeId> machine;  // of the last connection
    std::shared_ptr<Outbox> outbox;       // for messages; null once it is down
    std::shared_ptr<Outbox> incoming;     // of the connection that the node made, while that is up
    bool is_up = false;
    PeerStatus status;  // as of the loop's last look
  };
  // A request to the loop.
  struct Request {
    // kEnd breaks the node and its instances.
    enum class Kind : uint8_t { kDial, kBreak, kEnd };
    Kind kind;
    wire::NodeId node;
    std::optional<Error> why;  // for kBreak and kEnd
  };
  // An attempt to reach a node, or the resulting connection. Used by the loop.
  struct Outgoing {
    std::shared_ptr<Outbox> outbox;
    std::unique_ptr<Resolution> resolution;
    std::vector<Endpoint> endpoints;
    size_t next_endpoint = 0;
    std::string reasons;  // why earlier endpoints failed
    int64_t begin_ns = 0;
    std::unique_ptr<Connection> connection;
  };
  // A message of a connection whose kUp has not been reported yet.
  struct Early {
    Event event;
    uint64_t cost = 0;
    std::shared_ptr<Consumed> consumed;
  };
  struct Backoff {
    int64_t next_ns = 0;  // earliest next attempt
    int64_t pause_ns = 0;
  };

  TcpNetwork(TcpOptions options, const wire::NodeId& self, std::unique_ptr<TlsContext> tls);
  Status OpenListeners();

  void Dial(Peer& peer, const wire::NodeId& node) REQUIRES(mu_);
  Status PushTo(const wire::NodeId& to, wire::Frame frame, std::shared_ptr<Outbox>& outbox)
      EXCLUDES(mu_);

  // The rest runs in the loop, by the thread that holds loop_mu_.
  Status OnHello(Connection& connection) override EXCLUDES(mu_);
  void OnMessage(Connection& connection, wire::Message message, uint64_t cost) override;

  Status StepGreeting(Connection& connection, const std::map<int, short>& ready);
  void ReportUp(const Connection& connection, Peer& peer) REQUIRES(mu_);
  void Run() EXCLUDES(loop_mu_);
  std::vector<pollfd> Watched();
  void Step(std::span<const pollfd> polled);
  void IgnoreOwnPauses() REQUIRES(loop_mu_);
  std::vector<Connection*> AllConnections();
  int64_t NextDeadline();
  void AcceptAll(const Socket& listener);
  void PauseAccepting(const Error& why);
  void TakeRequests() EXCLUDES(mu_);
  void StepAll(const std::map<int, short>& ready);
  void StepOutgoing(const wire::NodeId& node, Outgoing& outgoing,
                    const std::map<int, short>& ready);
  Status StepDial(const wire::NodeId& node, Outgoing& outgoing);
  Result<std::unique_ptr<Connection>> Connect(const wire::NodeId& node, const Outgoing& outgoing,
                                              const Endpoint& endpoint);
  Status StepConnection(Connection& connection, const std::map<int, short>& ready);
  void StepUnauthenticated(const std::map<int, short>& ready);
  void StepClosing(const std::map<int, short>& ready);
  void DialFailed(const wire::NodeId& node, const Error& why) EXCLUDES(mu_);
  void Break(const wire::NodeId& node, const Error& why) EXCLUDES(mu_);
  void End(const wire::NodeId& machine, const Error& why) EXCLUDES(mu_);
  void CloseInBackground(std::unique_ptr<Connection> connection, const Error& why);
  void NoteStatus() EXCLUDES(mu_);
  void SayGoodbye();

  const TcpOptions options_;
  const ConnectionOptions connection_options_;
  const std::unique_ptr<TlsContext> tls_;  // null: a password instead
  SystemClock clock_;
  const std::shared_ptr<Waker> waker_ = std::make_shared<Waker>();
  EventQueue events_{clock_};
  std::vector<Socket> listeners_;
  std::vector<std::string> addresses_;
  std::atomic<bool> is_stopping_ = false;

  mutable Mutex mu_;
  std::map<wire::NodeId, Peer> peers_ GUARDED_BY(mu_);
  std::vector<Request> requests_ GUARDED_BY(mu_);

  // Held while connections are stepped, by the loop's thread or one that pumps; taken before mu_.
  Mutex loop_mu_;
  uint64_t pumps_ GUARDED_BY(loop_mu_) = 0;  // that found sockets ready
  Lateness lateness_ GUARDED_BY(loop_mu_);
  // Until then the loop's thread leaves the sockets to the one that pumps; 0: none pumps.
  std::atomic<int64_t> pumped_until_ns_ = 0;

  // Used by the thread that holds loop_mu_.
  std::map<wire::NodeId, Outgoing> outgoing_;
  std::map<wire::NodeId, std::unique_ptr<Connection>> incoming_;
  std::list<std::unique_ptr<Connection>> unauthenticated_;  // the oldest first
  std::list<std::unique_ptr<Connection>> closing_;
  std::map<wire::NodeId, Backoff> backoffs_;
  int64_t accept_ns_ = 0;  // earliest next accept
  bool is_short_ = false;  // the last accept failed
  bool is_greeting_ = false;
  std::vector<Early> early_;
  int64_t noted_ns_ = 0;

  std::thread loop_;  // last: it uses all the others
};

}  // namespace aster::net
