// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What waits to be sent on one connection: words about the connection first, messages in order as
// far as the receiver's credit goes (backpressure: a receiver that consumes nothing is sent
// nothing). Must not know what messages mean, nor what reads the stream.
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

// How much may be in flight without having been consumed: `cost` more if it fits into the window,
// or if nearly nothing is, so that a frame of any size goes. Both sides keep this rule.
constexpr bool MayBeUnderWay(uint64_t under_way, uint64_t cost, uint64_t window) {
  return under_way <= window / 4 || (cost <= window && under_way <= window - cost);
}

// Safe for concurrent use.
class Outbox {
 public:
  // The clock outlives it. At least one message is taken, whatever its size.
  Outbox(const Clock& clock, uint64_t max_queue_bytes)
      : clock_(clock), max_queue_bytes_(max_queue_bytes) {}

  // A message. ResourceExhausted if the queue is full; otherwise an error if the message is larger
  // than the peer takes, or of a later protocol than it speaks.
  Status Push(wire::Frame frame) EXCLUDES(queue_mu_);
  // About the connection: before all messages that wait, and without credit. An error if the peer
  // makes us say ever more and takes nothing.
  Status PushControl(wire::Message message) EXCLUDES(queue_mu_);
  // Those that wait go by another way, behind what waits there. An error if one cannot.
  Status MoveMessagesTo(Outbox& other) EXCLUDES(queue_mu_, other.queue_mu_);

  // From now on words about the connection go through this stream, which outlives the outbox or
  // Detach(). What waits to be said about an earlier connection is forgotten.
  void Attach(Stream* stream) EXCLUDES(write_mu_, queue_mu_);
  void Detach() { Attach(nullptr); }
  // From now on messages too. An error if one that waits is larger than the peer takes, or of a
  // later protocol.
  Status Open(uint64_t window_bytes, uint64_t max_frame_bytes,
              uint16_t protocol = wire::kNewestProtocol) EXCLUDES(queue_mu_);
  // No messages any more; what is about the connection still goes.
  void Drop() EXCLUDES(queue_mu_);
  // The peer has consumed `bytes`. An error if they were never sent.
  Status AddCredit(uint64_t bytes) EXCLUDES(queue_mu_);

  // Hands to the stream what it takes now.
  Status Flush() EXCLUDES(write_mu_, queue_mu_);
  // The same, unless another thread is at it or the next message is larger than `max_bytes`: then
  // false, and another thread has to Flush(). Errors wait for that too.
  bool TryFlush(uint64_t max_bytes) EXCLUDES(write_mu_, queue_mu_);

  // Whether to flush again as soon as the socket can be written to.
  bool IsBlocked() const { return is_blocked_.load(std::memory_order_relaxed); }
  bool IsEmpty() const EXCLUDES(queue_mu_);
  uint64_t queued_bytes() const EXCLUDES(queue_mu_);
  uint16_t protocol() const EXCLUDES(queue_mu_);  // that both speak; before Open the newest
  uint64_t sent_bytes() const { return sent_bytes_.load(std::memory_order_relaxed); }
  // When the stream last took something.
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

  Mutex write_mu_;  // before queue_mu_
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
  uint64_t under_way_ GUARDED_BY(queue_mu_) = 0;
};

}  // namespace aster::net
