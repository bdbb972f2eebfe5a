// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/delaying_proxy.h"

#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace aster::net {
namespace {

constexpr size_t kPieceBytes = 64 << 10;
// Per direction, before the sender has to wait: a long link at a high rate holds much.
constexpr uint64_t kMostBytes = uint64_t{32} << 20;

// Bytes must arrive when they are due, also on a busy machine: otherwise a thread among others that
// compute is a quarter of a millisecond late. Without the right to a higher priority it still
// works.
void RaiseTimerPriority() {
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  const sched_param ahead{.sched_priority = 1};
  static_cast<void>(sched_setscheduler(0, SCHED_FIFO, &ahead));
}

}  // namespace

Result<std::unique_ptr<DelayingProxy>> DelayingProxy::Start(const std::string& target,
                                                            const LinkOptions& link) {
  const Endpoint endpoint = TRY(Resolve(TRY(ParseHostPort(target)))).front();
  Socket listener = TRY(Listen(TRY(Resolve(TRY(ParseHostPort("127.0.0.1:0")))).front()));
  std::unique_ptr<DelayingProxy> proxy;
  // tidy: allow(ownership) make_unique does not reach a private constructor
  proxy.reset(new DelayingProxy(std::move(listener), endpoint, link));
  proxy->address_ = TRY(LocalEndpoint(proxy->listener_)).ToText();
  try {
    proxy->thread_ = std::thread([self = proxy.get()] { self->Run(); });
  } catch (const std::system_error&) {
    return ResourceExhausted("no thread for a proxy");
  }
  return proxy;
}

DelayingProxy::DelayingProxy(Socket listener, const Endpoint& target, const LinkOptions& link)
    : listener_(std::move(listener)), target_(target), link_(link), received_(kPieceBytes) {}

DelayingProxy::~DelayingProxy() {
  is_stopping_.store(true);
  waker_.Wake();
  if (thread_.joinable()) thread_.join();
}

void DelayingProxy::SetLink(const LinkOptions& link) {
  MutexLock lock(mu_);
  link_ = link;
}

void DelayingProxy::Unplug(bool is_unplugged) {
  is_unplugged_.store(is_unplugged);
  waker_.Wake();
}

void DelayingProxy::Cut() {
  is_to_be_cut_.store(true);
  waker_.Wake();
}

int64_t DelayingProxy::NextDue() const {
  int64_t due_ns = clock_.NowNs() + kNsPerSecond;
  for (const Pair& pair : pairs_) {
    for (const Flow& flow : pair.flows) {
      if (!flow.pieces.empty()) due_ns = std::min(due_ns, flow.pieces.front().due_ns);
    }
  }
  return due_ns;
}

void DelayingProxy::Run() {
  RaiseTimerPriority();
  while (!is_stopping_.load()) {
    const bool is_unplugged = is_unplugged_.load();
    std::vector<pollfd> polled = {{waker_.descriptor(), POLLIN, 0}};
    if (!is_unplugged) polled.push_back({listener_.descriptor(), POLLIN, 0});
    const int64_t now_ns = clock_.NowNs();
    for (const Pair& pair : pairs_) {
      for (int i = 0; i < 2 && !is_unplugged; ++i) {
        const Flow& in = pair.flows[i];
        const Flow& out = pair.flows[1 - i];
        const bool reads = !in.has_ended && in.bytes < kMostBytes;
        const bool writes = !out.pieces.empty() && out.pieces.front().due_ns <= now_ns;
        const int events = (reads ? POLLIN : 0) | (writes ? POLLOUT : 0);
        if (events != 0) {
          polled.push_back({pair.ends[i].descriptor(), static_cast<short>(events), 0});
        }
      }
    }
    // Bytes that are due wait only for their socket.
    int64_t wait_ns = NextDue() - now_ns;
    if (wait_ns <= 0 || is_unplugged) wait_ns = kNsPerSecond;
    const timespec wait{wait_ns / kNsPerSecond, wait_ns % kNsPerSecond};
    ppoll(polled.data(), polled.size(), &wait, nullptr);
    waker_.Reset();
    if (is_to_be_cut_.exchange(false)) pairs_.clear();
    if (is_unplugged_.load()) continue;
    Accept();
    LinkOptions link;
    {
      MutexLock lock(mu_);
      link = link_;
    }
    for (Pair& pair : pairs_) {
      for (int from = 0; from < 2; ++from) {
        Receive(pair, from, link);
        Deliver(pair, from);
      }
    }
    pairs_.remove_if([](const Pair& pair) {
      return pair.is_broken || (pair.flows[0].is_shut && pair.flows[1].is_shut);
    });
  }
}

void DelayingProxy::Accept() {
  Result<Socket> accepted = net::Accept(listener_);
  if (!accepted.ok() || !accepted->is_open()) return;
  Result<Socket> connected = BeginConnect(target_);
  if (!connected.ok()) return;
  Pair pair;
  pair.ends[0] = std::move(*accepted);
  pair.ends[1] = std::move(*connected);
  pairs_.push_back(std::move(pair));
}

void DelayingProxy::Receive(Pair& pair, int from, const LinkOptions& link) {
  Flow& flow = pair.flows[from];
  while (!flow.has_ended && flow.bytes < kMostBytes) {
    const ssize_t count = recv(pair.ends[from].descriptor(), received_.data(), kPieceBytes, 0);
    if (count < 0) {
      // A socket that is still connecting has no data yet, either.
      if (errno != EAGAIN && errno != EINTR && errno != ENOTCONN) pair.is_broken = true;
      return;
    }
    flow.has_ended = count == 0;
    flow.is_mute = flow.is_mute || link.mute_end == from;
    if (flow.is_mute) {
      flow.is_shut = flow.has_ended;
      continue;
    }
    Flow::Piece piece;
    piece.bytes.assign(received_.begin(), received_.begin() + count);
    // The link sends one piece after another, and each arrives after the delay.
    int64_t& free_ns = free_ns_[from];
    free_ns = std::max(free_ns, clock_.NowNs());
    if (link.rate_bytes_per_s > 0) {
      free_ns += static_cast<int64_t>(static_cast<double>(count) * kNsPerSecond /
                                      static_cast<double>(link.rate_bytes_per_s));
    }
    piece.due_ns = free_ns + link.delay_ns;
    flow.bytes += piece.bytes.size();
    flow.pieces.push_back(std::move(piece));
  }
}

void DelayingProxy::Deliver(Pair& pair, int from) {
  Flow& flow = pair.flows[from];
  const int descriptor = pair.ends[1 - from].descriptor();
  while (!flow.pieces.empty() && flow.pieces.front().due_ns <= clock_.NowNs()) {
    Flow::Piece& piece = flow.pieces.front();
    if (piece.bytes.empty()) {
      shutdown(descriptor, SHUT_WR);
      flow.is_shut = true;
      flow.pieces.pop_front();
      return;
    }
    const ssize_t count = send(descriptor, piece.bytes.data() + piece.sent,
                               piece.bytes.size() - piece.sent, MSG_NOSIGNAL);
    if (count < 0) {
      if (errno != EAGAIN && errno != EINTR && errno != ENOTCONN) pair.is_broken = true;
      return;
    }
    piece.sent += static_cast<size_t>(count);
    flow.bytes -= static_cast<size_t>(count);
    if (piece.sent == piece.bytes.size()) flow.pieces.pop_front();
  }
}

}  // namespace aster::net
