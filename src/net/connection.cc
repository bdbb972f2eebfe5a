// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/connection.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/check.h"

namespace aster::net {
namespace {

// Per connection and step, so that other connections have their turn.
constexpr uint64_t kReadBytesPerStep = uint64_t{8} << 20;
// The longest time for sending a Goodbye.
constexpr int64_t kGoodbyeNs = 1 * kNsPerSecond;

}  // namespace

Connection::Connection(const ConnectionOptions& options, const Clock& clock, Owner& owner,
                       std::shared_ptr<Outbox> outbox, std::optional<wire::NodeId> expected,
                       std::string where)
    : options_(options),
      clock_(clock),
      owner_(owner),
      outbox_(std::move(outbox)),
      expected_(expected),
      where_(std::move(where)),
      silence_(options.silence_ns, clock.NowNs()) {}

Connection::~Connection() {
  if (is_attached_) outbox_->Detach();
}

void Connection::Start(std::unique_ptr<Stream> stream) { StartWith(std::move(stream)); }

void Connection::Start(std::unique_ptr<TlsStream> stream) {
  tls_ = stream.get();
  StartWith(std::move(stream));
}

void Connection::StartWith(std::unique_ptr<Stream> stream) {
  CHECK(stream_ == nullptr);
  stream_ = std::move(stream);
  state_ = is_dialed() ? State::kConnecting : State::kSecuring;
  started_ns_ = last_ping_ns_ = clock_.NowNs();
}

bool Connection::WantsWrite() const {
  switch (state_) {
    case State::kConnecting:
      return true;
    case State::kSecuring:
      return stream_->HasUnsent();
    case State::kClosed:
      return false;
    default:
      return outbox_->IsBlocked();
  }
}

int64_t Connection::deadline_ns() const {
  switch (state_) {
    case State::kUp:
      return std::min(std::max(outbox_->last_sent_ns(), last_ping_ns_) + options_.heartbeat_ns,
                      silence_.deadline_ns());
    case State::kClosing:
      return started_ns_ + kGoodbyeNs;
    case State::kClosed:
      return clock_.NowNs();
    default:
      return started_ns_ + options_.handshake_ns;
  }
}

// Each state continues as far as the socket allows; an error ends the connection.
Status Connection::Step(bool is_readable, bool is_writable) {
  const int64_t now_ns = clock_.NowNs();
  // A closing connection only sends its Goodbye.
  if (state_ == State::kClosing) {
    StepClosing(now_ns);
    return Ok();
  }
  // Until kUp: connecting, TLS, then Hello from both sides.
  if (state_ == State::kConnecting || state_ == State::kSecuring) TRY(Open(is_writable));
  if (state_ == State::kGreeting || state_ == State::kUp) {
    if (is_readable || has_more_) TRY(ReadFrames());
  }
  // Timeouts and heartbeats, then queued frames.
  TRY(CheckTimeouts(clock_.NowNs()));
  if (is_attached_) TRY(outbox_->Flush());
  return Ok();
}

// kConnecting until TCP has connected, kSecuring until both sides have shown their TLS
// certificates, then kGreeting: the side that dialed sends Hello first.
Status Connection::Open(bool is_writable) {
  if (state_ == State::kConnecting) {
    // The socket becomes writable when TCP has connected or failed.
    if (!is_writable) return Ok();
    TRY(FinishConnect(stream_->descriptor()));
    state_ = State::kSecuring;
  }
  TRY(stream_->Flush());
  if (!TRY(stream_->Prepare())) return Ok();
  // From here on frames go both ways; before Hello no other frame is accepted.
  outbox_->Attach(stream_.get());
  is_attached_ = true;
  state_ = State::kGreeting;
  has_more_ = true;  // frames may have come with the last bytes of the handshake
  if (is_dialed()) TRY(outbox_->PushControl(MakeHello(options_.self)));
  return Ok();
}

// Reads frames, up to kReadBytesPerStep; then other connections have their turn.
Status Connection::ReadFrames() {
  // Bytes of an incomplete frame are a sign of life, too.
  const uint64_t before_bytes = reader_.read_bytes();
  has_more_ = false;
  for (;;) {
    std::optional<FrameReader::Arrived> arrived = TRY(reader_.Next(*stream_, limits_));
    if (reader_.read_bytes() > before_bytes) silence_.OnReceived(clock_.NowNs());
    if (!arrived) return Ok();
    TRY(Handle(std::move(*arrived)));
    if (reader_.read_bytes() - before_bytes > kReadBytesPerStep) {
      has_more_ = true;
      return Ok();
    }
  }
}

Status Connection::Handle(FrameReader::Arrived arrived) {
  wire::Message message =
      TRY(wire::Decode(arrived.header, arrived.body, std::move(arrived.payload)));
  if (const auto* goodbye = std::get_if<wire::Goodbye>(&message)) {
    const std::string who = peer_name_.empty() ? "the other side" : peer_name_;
    return Error(goodbye->why).In(fmt::format("{} says", who));
  }
  if (state_ == State::kGreeting) {
    const auto* hello = std::get_if<wire::Hello>(&message);
    // ParseHeader rejects all other frames before a Hello.
    if (hello == nullptr) return DataLoss("a message before Hello");
    return HandleHello(*hello);
  }
  return HandleMessage(std::move(message), arrived.header);
}

// A Hello has no effect before CheckHello and the owner have accepted it. Only then its limits
// hold, and frames of other types are read.
Status Connection::HandleHello(const wire::Hello& hello) {
  // Hello must name the node that the TLS certificate proves.
  const std::optional<wire::NodeId> proven = tls_ != nullptr ? tls_->peer() : std::nullopt;
  const uint16_t protocol = TRY(CheckHello(options_.self, hello, proven, expected_));
  peer_ = hello.node;
  machine_ = proven.value_or(peer_);
  peer_name_ = fmt::format("node {}{}{}{}", peer_.ToText(), hello.name.empty() ? "" : " (",
                           hello.name, hello.name.empty() ? "" : ")");
  // The owner may refuse it: revoked, or too many connections.
  TRY(owner_.OnHello(*this));
  if (!is_dialed()) TRY(outbox_->PushControl(MakeHello(options_.self)));
  // The peer's limits hold for sent frames, this node's for received ones.
  TRY(outbox_->Open(hello.credit_bytes, hello.max_frame_bytes, protocol));
  limits_ = {.max_frame_bytes = options_.self.max_frame_bytes, .hello_only = false};
  state_ = State::kUp;
  // The time that connecting took says nothing about the peer.
  silence_ = Silence(options_.silence_ns, clock_.NowNs());
  return Ok();
}

Status Connection::HandleMessage(wire::Message message, const wire::FrameHeader& header) {
  // Messages about the connection: credit, and heartbeats, which measure the round trip.
  if (const auto* credit = std::get_if<wire::Credit>(&message)) {
    return outbox_->AddCredit(credit->bytes);
  }
  if (const auto* ping = std::get_if<wire::Ping>(&message)) {
    return outbox_->PushControl(wire::Pong{ping->stamp});
  }
  if (const auto* pong = std::get_if<wire::Pong>(&message)) {
    const int64_t now_ns = clock_.NowNs();
    const auto stamp_ns = static_cast<int64_t>(pong->stamp);
    if (stamp_ns > 0 && stamp_ns < now_ns) {
      round_trips_ns_[next_round_trip_] = now_ns - stamp_ns;
      next_round_trip_ = (next_round_trip_ + 1) % round_trips_ns_.size();
    }
    return Ok();
  }
  // A message for the owner. It takes this side's credit until it is consumed, so that a peer that
  // ignores the limit is cut off before it fills the memory.
  if (!wire::TakesCredit(header.type)) return DataLoss("a second Hello");
  const uint64_t cost = wire::CostOf(header.frame_bytes());
  const uint64_t window_bytes = options_.self.credit_bytes;
  if (!MayBeInFlight(uncredited_bytes_, cost, window_bytes)) {
    return ResourceExhausted(fmt::format("it sent {} bytes more than its credit of {}",
                                         uncredited_bytes_ + cost - window_bytes, window_bytes));
  }
  uncredited_bytes_ += cost;
  owner_.OnMessage(*this, std::move(message), cost);
  return Ok();
}

// Timeouts, credit for consumed messages, and heartbeats.
Status Connection::CheckTimeouts(int64_t now_ns) {
  if (state_ != State::kUp) {
    if (now_ns < started_ns_ + options_.handshake_ns) return Ok();
    const char* reason =
        state_ == State::kConnecting ? "it does not answer" : "it does not say Hello";
    return Error(Code::kDeadlineExceeded,
                 fmt::format("{} within {} ms", reason, options_.handshake_ns / kNsPerMs));
  }
  // A peer that sends nothing, not even heartbeats, has failed.
  if (now_ns >= silence_.deadline_ns()) {
    return Error(Code::kDeadlineExceeded,
                 fmt::format("nothing was heard for {} ms: is the machine switched off, or its "
                             "network?",
                             silence_.limit_ns() / kNsPerMs));
  }
  // The peer gets credit for messages that the owner has consumed.
  const uint64_t consumed = consumed_->bytes.load();
  if (consumed >= MaxUncreditedBytes(options_.self.credit_bytes)) {
    consumed_->bytes -= consumed;
    uncredited_bytes_ -= consumed;
    TRY(outbox_->PushControl(wire::Credit{consumed}));
  }
  // Each side sends something at least once in heartbeat_ns, whatever it receives: a large frame in
  // one direction must not look like silence in the other.
  const bool is_quiet = now_ns - outbox_->last_sent_ns() >= options_.heartbeat_ns;
  if (is_quiet && now_ns - last_ping_ns_ >= options_.heartbeat_ns) {
    last_ping_ns_ = now_ns;
    TRY(outbox_->PushControl(wire::Ping{static_cast<uint64_t>(now_ns)}));
  }
  return Ok();
}

void Connection::Close(const Error& why) {
  if (state_ == State::kClosing || state_ == State::kClosed) return;
  // Queued messages are dropped; the reason is still sent.
  outbox_->Drop();
  if (is_attached_) {
    // If even that cannot be queued, nothing can be sent.
    const Status said = outbox_->PushControl(wire::Goodbye{why});
    if (!said.ok()) has_sent_all_ = true;
  }
  state_ = state_ == State::kConnecting ? State::kClosed : State::kClosing;
  started_ns_ = clock_.NowNs();
  if (state_ == State::kClosing) StepClosing(started_ns_);
}

void Connection::StepClosing(int64_t now_ns) {
  // Closing a socket with unread bytes discards what it sent last: after the Goodbye, this side
  // reads until the other one has closed.
  if (is_attached_ && !has_sent_all_) {
    if (!outbox_->Flush().ok()) {
      state_ = State::kClosed;
      return;
    }
    has_sent_all_ = outbox_->IsEmpty() && !outbox_->IsBlocked();
  } else if (!has_sent_all_) {
    has_sent_all_ = !stream_->Flush().ok() || !stream_->HasUnsent();
  }
  if (has_sent_all_) shutdown(descriptor(), SHUT_WR);
  std::array<uint8_t, 16384> scratch;
  for (int i = 0; i < 16; ++i) {
    const ssize_t count = recv(descriptor(), scratch.data(), scratch.size(), 0);
    if (count > 0) continue;
    if (count == 0 || (errno != EAGAIN && errno != EINTR)) state_ = State::kClosed;
    break;
  }
  if (now_ns - started_ns_ >= kGoodbyeNs) state_ = State::kClosed;
}

}  // namespace aster::net
