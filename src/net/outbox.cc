// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/outbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace aster::net {

// Whether the peer accepts such a frame at all.
Status Outbox::CheckFrame(const wire::Frame& frame) const {
  if (frame.size_bytes() > max_frame_bytes_) {
    return OutOfRange(
        fmt::format("a {} of {} bytes, where the other side takes {}: send fewer tokens at once",
                    wire::NameOf(frame.type), frame.size_bytes(), max_frame_bytes_));
  }
  if (frame.version > protocol_) {
    return FailedPrecondition(fmt::format(
        "a {} needs protocol {}, and the other side speaks {}: bring both to the same version of "
        "the program",
        wire::NameOf(frame.type), frame.version, protocol_));
  }
  return Ok();
}

Status Outbox::Push(wire::Frame frame) {
  MutexLock lock(queue_mu_);
  const uint64_t bytes = frame.size_bytes();
  // A single frame always has room; otherwise the queue's limit holds.
  TRY(CheckFrame(frame));
  if (queued_bytes_ > 0 && bytes > max_queue_bytes_ - std::min(max_queue_bytes_, queued_bytes_)) {
    return ResourceExhausted(
        fmt::format("{} bytes wait for it and it reads nothing", queued_bytes_));
  }
  queued_bytes_ += bytes;
  messages_.push_back(std::move(frame));
  return Ok();
}

Status Outbox::PushControl(wire::Message message) {
  // Control frames are small: only the replies to a peer that does not read become this many.
  constexpr size_t kMostControl = 1024;
  wire::Frame frame = wire::Encode(std::move(message));
  MutexLock lock(queue_mu_);
  if (control_.size() >= kMostControl) {
    return ResourceExhausted("it sends requests and does not read the answers");
  }
  control_.push_back(std::move(frame));
  return Ok();
}

void Outbox::Attach(Stream* stream) {
  MutexLock lock(write_mu_);
  stream_ = stream;
  // The rest of a frame that began in another stream would be read as a frame here.
  writing_.reset();
  failure_.reset();
  is_blocked_.store(false, std::memory_order_relaxed);
  last_sent_ns_.store(clock_.NowNs(), std::memory_order_relaxed);
  // Control frames belong to the old stream; messages are still meant for the node.
  MutexLock queue_lock(queue_mu_);
  control_.clear();
}

Status Outbox::MoveMessagesTo(Outbox& other) {
  std::deque<wire::Frame> messages;
  {
    MutexLock lock(queue_mu_);
    // The two locks are never held together: their order would depend on the caller.
    messages.swap(messages_);
    queued_bytes_ = 0;
  }
  MutexLock lock(other.queue_mu_);
  for (wire::Frame& frame : messages) {
    TRY(other.CheckFrame(frame));
    other.queued_bytes_ += frame.size_bytes();
    other.messages_.push_back(std::move(frame));
  }
  return Ok();
}

Status Outbox::Open(uint64_t window_bytes, uint64_t max_frame_bytes, uint16_t protocol) {
  MutexLock lock(queue_mu_);
  is_open_ = true;
  window_bytes_ = window_bytes;
  max_frame_bytes_ = max_frame_bytes;
  protocol_ = protocol;
  // Messages that were queued before the limits were known must obey them, too.
  for (const wire::Frame& frame : messages_) TRY(CheckFrame(frame));
  return Ok();
}

void Outbox::Drop() {
  MutexLock lock(queue_mu_);
  is_open_ = false;
  messages_.clear();
  queued_bytes_ = 0;
}

Status Outbox::AddCredit(uint64_t bytes) {
  MutexLock lock(queue_mu_);
  if (bytes > in_flight_) {
    return DataLoss(fmt::format("it claims to have consumed {} bytes, where {} were in flight",
                                bytes, in_flight_));
  }
  in_flight_ -= bytes;
  return Ok();
}

std::optional<wire::Frame> Outbox::TakeNext() {
  MutexLock lock(queue_mu_);
  // Control frames overtake messages and take no credit: heartbeats and credit itself must always
  // get through.
  std::deque<wire::Frame>& queue = control_.empty() ? messages_ : control_;
  // A message is sent when the peer has room for it; until then it waits here, in order.
  if (queue.empty()) return std::nullopt;
  const uint64_t bytes = queue.front().size_bytes();
  if (control_.empty()) {
    const uint64_t cost = wire::CostOf(bytes);
    if (!is_open_ || !MayBeInFlight(in_flight_, cost, window_bytes_)) return std::nullopt;
    in_flight_ += cost;
    queued_bytes_ -= bytes;
  }
  std::optional<wire::Frame> frame(std::move(queue.front()));
  queue.pop_front();
  return frame;
}

Status Outbox::FlushLocked() {
  if (failure_) return *failure_;
  if (stream_ == nullptr) return Ok();
  // First the stream's rest of earlier writes (TLS records), then frames one after the other.
  if (const Status status = stream_->Flush(); !status.ok()) {
    failure_ = status.error();
    return status;
  }
  for (;;) {
    if (!writing_) {
      writing_ = TakeNext();
      written_ = 0;
    }
    if (!writing_) break;
    // The rest of the frame: its head, then the payload, which is never copied.
    const Bytes head(writing_->head);
    const Bytes payload(writing_->payload);
    const std::array<Bytes, 2> pieces = {
        head.subspan(std::min<uint64_t>(written_, head.size())),
        payload.subspan(written_ > head.size() ? written_ - head.size() : 0)};
    const Result<size_t> count = stream_->Write(pieces);
    if (!count.ok()) {
      failure_ = count.error();
      return count.error();
    }
    if (*count > 0) {
      written_ += *count;
      sent_bytes_.fetch_add(*count, std::memory_order_relaxed);
      last_sent_ns_.store(clock_.NowNs(), std::memory_order_relaxed);
    }
    // The socket is full when it takes nothing: poll() reports when it takes more.
    if (written_ < writing_->size_bytes()) {
      if (*count > 0) continue;
      is_blocked_.store(true, std::memory_order_relaxed);
      return Ok();
    }
    writing_.reset();
  }
  is_blocked_.store(stream_->HasUnsent(), std::memory_order_relaxed);
  return Ok();
}

Status Outbox::Flush() {
  MutexLock lock(write_mu_);
  return FlushLocked();
}

bool Outbox::TryFlush(uint64_t max_bytes) {
  if (queued_bytes() > max_bytes) return false;
  // Another thread is writing; this one does not wait.
  if (!write_mu_.TryLock()) return false;
  const bool is_done = FlushLocked().ok() && stream_ != nullptr && !IsBlocked();
  write_mu_.Unlock();
  return is_done;
}

bool Outbox::IsEmpty() const {
  MutexLock lock(queue_mu_);
  return control_.empty() && messages_.empty();
}

uint16_t Outbox::protocol() const {
  MutexLock lock(queue_mu_);
  return protocol_;
}

uint64_t Outbox::queued_bytes() const {
  MutexLock lock(queue_mu_);
  return queued_bytes_;
}

}  // namespace aster::net
