// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/node.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/core_time.h"

namespace aster::stage {
namespace {

// How long Stop may have to wait for a thread that has nothing to do.
constexpr int64_t kIdleNs = 50 * kNsPerMs;
// Bounded, so that a flood of messages does not keep the node from computing.
constexpr int kEventsPerTurn = 256;
constexpr int64_t kSnapshotNs = 100 * kNsPerMs;

// Polls for an event instead of sleeping until it comes. The nodes of a group answer each other
// faster than two threads wake up one after the other; and the system gives the core of a sleeping
// thread to other programs, which keep it for milliseconds while the whole group waits.
class ShortWait {
 public:
  explicit ShortWait(net::Network& network) : network_(network) {}

  // The event, if it comes in time.
  std::optional<net::Event> Receive() {
    const Clock& clock = network_.clock();
    const int64_t begin_ns = clock.NowNs();
    const int64_t begin_core_ns = CoreTimeOfThisThreadNs();
    const int64_t end_ns = begin_ns + (begin_ns < shared_until_ns_ ? kShortestNs : kLongestNs);
    int64_t now_ns = begin_ns;
    std::optional<net::Event> event = network_.Receive(0);
    while (!event && now_ns < end_ns && network_.Pump()) {
      event = network_.Receive(0);
      now_ns = clock.NowNs();
    }
    // Only a long time without the core shows that other programs need it, too.
    if (now_ns - begin_ns > kTurnNs) {
      NoteTime(now_ns, now_ns - begin_ns - (CoreTimeOfThisThreadNs() - begin_core_ns));
    }
    return event;
  }

 private:
  // A hundred times as long as sleeping and waking up takes.
  static constexpr int64_t kLongestNs = 10 * kNsPerMs;
  // If other programs need the core: perhaps to compute what this node waits for.
  static constexpr int64_t kShortestNs = 10 * kNsPerUs;
  // The shortest time slice that the system gives another program.
  static constexpr int64_t kTurnNs = kNsPerMs;
  static constexpr int64_t kRareNs = 100 * kNsPerMs;
  static constexpr int64_t kSharedNs = 200 * kNsPerMs;

  // Programs of low priority take the core once in a while, busy ones again and again.
  void NoteTime(int64_t now_ns, int64_t lost_ns) {
    if (lost_ns < kTurnNs) return;
    if (std::exchange(lost_at_ns_, now_ns) > now_ns - kRareNs) {
      shared_until_ns_ = now_ns + kSharedNs;
    }
  }

  net::Network& network_;
  int64_t lost_at_ns_ = 0;
  int64_t shared_until_ns_ = 0;
};

}  // namespace

Node::Node(net::Network& network, SliceSource& source, StageOptions options)
    : network_(network), source_(source), options_(options) {}

Node::~Node() { Stop(); }

void Node::Start() {
  CHECK(!thread_.joinable());
  stopping_ = false;
  thread_ = std::thread([this] { Main(); });
}

void Node::Stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

void Node::Main() {
  StageServer server(network_, source_, options_);
  const Clock& clock = network_.clock();
  int64_t snapshot_ns = clock.NowNs();
  ShortWait short_wait(network_);
  while (!stopping_) {
    // All events that have come, then one frame, so that decodes overtake long prefills.
    const int64_t now_ns = clock.NowNs();
    int64_t deadline_ns =
        server.has_work() ? now_ns : std::min(now_ns + kIdleNs, server.next_tick_ns());
    std::optional<net::Event> event;
    if (deadline_ns > now_ns && server.ExpectsGroupMessage()) event = short_wait.Receive();
    for (int i = 0; i < kEventsPerTurn; ++i) {
      if (!event) event = network_.Receive(deadline_ns);
      if (!event) break;
      const bool is_for_others = options_.others && options_.others(*event);
      if (!is_for_others) server.Handle(*std::move(event));
      event.reset();
      deadline_ns = 0;  // only events that are there already
    }
    server.Tick();
    if (server.has_work()) server.Compute();
    if (clock.NowNs() < snapshot_ns) continue;
    snapshot_ns = clock.NowNs() + kSnapshotNs;
    has_lost_gpu_ = server.has_lost_gpu();
    MutexLock lock(mu_);
    snapshot_ = server.Snapshot();
    rates_ = server.Rates();
  }
}

std::vector<StageRouteStatus> Node::Snapshot() const {
  MutexLock lock(mu_);
  return snapshot_;
}

std::vector<WorkRate> Node::Rates() const {
  MutexLock lock(mu_);
  return rates_;
}

}  // namespace aster::stage
