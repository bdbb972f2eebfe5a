// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The frames that wait to be sent on one connection: control frames first, then messages in order
// within the receiver's credit (backpressure: a receiver that consumes nothing is sent nothing).
// Must not know what messages mean, nor what reads the stream.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "net/stream.h"
#include "wire/codec.h"

namespace aster::net {

// Whether `cost` more bytes may be in flight, unconsumed: if they fit into the window, or if almost
// nothing is in flight, so that a frame of any size can be sent. Both sides keep this rule.
constexpr bool MayBeInFlight(uint64_t in_flight, uint64_t cost, uint64_t window) {
  return in_flight <= window / 4 || (cost <= window && in_flight <= window - cost);
}

// Safe for concurrent use.
class Outbox {
 public:
  // The clock outlives it. It accepts at least one message, whatever its size.
  Outbox(const Clock& clock, uint64_t max_queue_bytes)
      : clock_(clock), max_queue_bytes_(max_queue_bytes) {}

  // A message. ResourceExhausted if the queue is full; another error if the message is larger than
  // the peer accepts, or of a later protocol.
  Status Push(wire::Frame frame) EXCLUDES(queue_mu_);
  // A control frame: sent before all waiting messages, without credit. An error if the peer causes
  // ever more of them and reads nothing.
  Status PushControl(wire::Message message) EXCLUDES(queue_mu_);
  // Moves waiting messages to another outbox, after those that wait there. An error if it cannot
  // take one.
  Status MoveMessagesTo(Outbox& other) EXCLUDES(queue_mu_, other.queue_mu_);

  // Sends control frames on this stream, which outlives the outbox or Detach(). Drops control
  // frames of an earlier connection.
  void Attach(Stream* stream) EXCLUDES(write_mu_, queue_mu_);
  void Detach() { Attach(nullptr); }
  // Also sends messages from now on. An error if a waiting one is larger than the peer accepts, or
  // of a later protocol.
  Status Open(uint64_t window_bytes, uint64_t max_frame_bytes,
              uint16_t protocol = wire::kNewestProtocol) EXCLUDES(queue_mu_);
  // Drops messages now and later; control frames are still sent.
  void Drop() EXCLUDES(queue_mu_);
  // The peer has consumed `bytes`. An error if they were never sent.
  Status AddCredit(uint64_t bytes) EXCLUDES(queue_mu_);

  // Writes what the stream accepts now.
  Status Flush() EXCLUDES(write_mu_, queue_mu_);
  // The same, unless another thread is writing or the next message is larger than `max_bytes`: then
  // returns false, and another thread has to Flush(), which also reports errors.
  bool TryFlush(uint64_t max_bytes) EXCLUDES(write_mu_, queue_mu_);

  // Whether to flush again as soon as the socket is writable.
  bool IsBlocked() const { return is_blocked_.load(std::memory_order_relaxed); }
  bool IsEmpty() const EXCLUDES(queue_mu_);
  uint64_t queued_bytes() const EXCLUDES(queue_mu_);
  uint16_t protocol() const EXCLUDES(queue_mu_);  // that both speak; before Open the newest
  uint64_t sent_bytes() const { return sent_bytes_.load(std::memory_order_relaxed); }
  // When the stream last accepted bytes.
  int64_t last_sent_ns() const { return last_sent_ns_.load(std::memory_order_relaxed); }

 private:
  Status CheckFrame(const wire::Frame& frame) const REQUIRES(queue_mu_);
  Status FlushLocked() REQUIRES(write_mu_) EXCLUDES(queue_mu_);
  std::optional<wire::Frame> TakeNext() EXCLUDES(queue_mu_);

  const Clock& clock_;
  const uint64_t max_queue_bytes_;
  std::atomic<bool> is_blocked_ = false;
  std::atomic<uint64_t> sent_bytes_ = 0;
  std::atomic<int64_t> last_sent_ns_ = 0;

  Mutex write_mu_;  // taken before queue_mu_
  Stream* stream_ GUARDED_BY(write_mu_) = nullptr;
  std::optional<wire::Frame> writing_ GUARDED_BY(write_mu_);
  uint64_t written_ GUARDED_BY(write_mu_) = 0;  // of writing_
  std::optional<Error> failure_ GUARDED_BY(write_mu_);

  mutable Mutex queue_mu_;
  std::deque<wire::Frame> control_ GUARDED_BY(queue_mu_);
  std::deque<wire::Frame> messages_ GUARDED_BY(queue_mu_);
  uint64_t queued_bytes_ GUARDED_BY(queue_mu_) = 0;  // of messages_
  bool is_open_ GUARDED_BY(queue_mu_) = false;
  uint64_t window_bytes_ GUARDED_BY(queue_mu_) = 0;
  uint64_t max_frame_bytes_ GUARDED_BY(queue_mu_) = UINT64_MAX;
  uint16_t protocol_ GUARDED_BY(queue_mu_) = wire::kNewestProtocol;
  uint64_t in_flight_ GUARDED_BY(queue_mu_) = 0;
};

}  // namespace aster::net
