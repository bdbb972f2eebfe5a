// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// One connection to another node, from the first byte to the last: connecting, TLS, Hello, messages
// and credit, heartbeats, Goodbye. Its owner's loop drives it; it never waits. Must not know other
// connections of the same node.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "net/event_queue.h"
#include "net/frame_reader.h"
#include "net/handshake.h"
#include "net/outbox.h"
#include "net/silence.h"
#include "net/stream.h"
#include "net/tls.h"
#include "wire/messages.h"

namespace aster::net {

struct ConnectionOptions {
  Introduction self;
  int64_t handshake_ns = 5 * kNsPerSecond;  // from connecting to Hello; also for the Goodbye
  int64_t heartbeat_ns = kNsPerSecond / 2;  // the longest time without sending
  int64_t silence_ns = 2 * kNsPerSecond;    // the least silence of a failed peer: net/silence.h
};

// Not for concurrent use, except for its outbox.
class Connection {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    // The peer is known now. An error refuses it, and is sent to it.
    virtual Status OnHello(Connection& connection) = 0;
    virtual void OnMessage(Connection& connection, wire::Message message, uint64_t cost) = 0;
  };

  enum class State {
    kConnecting,  // until the socket is connected
    kSecuring,    // until the TLS handshake is done
    kGreeting,    // until the other side's Hello
    kUp,
    kClosing,  // sending Goodbye
    kClosed,
  };

  // Options, clock and owner outlive it. `expected`: the node that it must reach; nullopt for
  // incoming connections.
  Connection(const ConnectionOptions& options, const Clock& clock, Owner& owner,
             std::shared_ptr<Outbox> outbox, std::optional<wire::NodeId> expected,
             std::string where);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Call one of them first.
  void Start(std::unique_ptr<Stream> stream);
  void Start(std::unique_ptr<TlsStream> stream);

  int descriptor() const { return stream_->descriptor(); }
  bool WantsWrite() const;
  // There is more to read although the socket has no more data.
  bool HasMore() const { return has_more_ && (state_ == State::kGreeting || state_ == State::kUp); }

  // Call it when the socket can be read or written, when something was put into the outbox, and
  // from time to time. After an error, Close() or destroy the connection.
  Status Step(bool is_readable, bool is_writable);
  // The latest time for the next Step().
  int64_t deadline_ns() const;
  // The loop did not run for `pause_ns`: silence in this time says nothing about the peer, nor does
  // a late Hello.
  void IgnorePause(int64_t pause_ns) {
    silence_.IgnorePause(pause_ns);
    started_ns_ += pause_ns;
  }

  // Sends the reason and closes, as far as possible: Step() until kClosed.
  void Close(const Error& why);

  State state() const { return state_; }
  bool is_dialed() const { return expected_.has_value(); }
  // Valid once OnHello was called.
  const wire::NodeId& peer() const { return peer_; }
  // The owner of the shown certificate: peer(), or the node whose instance the peer is.
  const wire::NodeId& machine() const { return machine_; }
  const std::string& peer_name() const { return peer_name_; }
  const std::string& where() const { return where_; }
  const std::shared_ptr<Outbox>& outbox() const { return outbox_; }
  const std::shared_ptr<Consumed>& consumed() const { return consumed_; }
  // The shortest of the last few heartbeats, as late wake-ups of threads do not count. 0: not
  // measured yet.
  int64_t round_trip_ns() const {
    int64_t shortest_ns = 0;
    for (const int64_t each_ns : round_trips_ns_) {
      if (each_ns > 0 && (shortest_ns == 0 || each_ns < shortest_ns)) shortest_ns = each_ns;
    }
    return shortest_ns;
  }
  uint64_t received_bytes() const { return reader_.read_bytes(); }
  // Bytes that may be consumed before the peer gets credit for them.
  static uint64_t MaxUncreditedBytes(uint64_t window_bytes) { return window_bytes / 4; }

 private:
  void StartWith(std::unique_ptr<Stream> stream);
  Status Open(bool is_writable);
  Status ReadFrames();
  Status Handle(FrameReader::Arrived arrived);
  Status HandleHello(const wire::Hello& hello);
  Status HandleMessage(wire::Message message, const wire::FrameHeader& header);
  Status CheckTimeouts(int64_t now_ns);
  void StepClosing(int64_t now_ns);

  const ConnectionOptions& options_;
  const Clock& clock_;
  Owner& owner_;
  const std::shared_ptr<Outbox> outbox_;
  const std::optional<wire::NodeId> expected_;
  const std::string where_;
  const std::shared_ptr<Consumed> consumed_ = std::make_shared<Consumed>();

  std::unique_ptr<Stream> stream_;
  TlsStream* tls_ = nullptr;  // stream_, if it is one
  FrameReader reader_;
  State state_ = State::kConnecting;
  bool is_attached_ = false;  // the outbox to the stream
  bool has_sent_all_ = false;
  bool has_more_ = false;
  wire::Limits limits_{.max_frame_bytes = wire::kMaxGreetingBytes, .hello_only = true};
  wire::NodeId peer_;
  wire::NodeId machine_;
  std::string peer_name_;
  uint64_t uncredited_bytes_ = 0;  // received, and not returned as credit yet
  int64_t started_ns_ = 0;         // of connecting, or of closing
  Silence silence_;
  int64_t last_ping_ns_ = 0;
  std::array<int64_t, 4> round_trips_ns_ = {};  // a ring
  size_t next_round_trip_ = 0;
};

}  // namespace aster::net
