// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/node.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"

namespace aster::stage {
namespace {

// How long Stop may have to wait for a thread that has nothing to do.
constexpr int64_t kIdleNs = 50 * kNsPerMs;
// A flood of messages does not keep it from computing.
constexpr int kEventsPerTurn = 256;
constexpr int64_t kSnapshotNs = 100 * kNsPerMs;

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
  while (!stopping_) {
    // All events that have come, then one frame, so that decodes overtake long prefills.
    const int64_t now_ns = clock.NowNs();
    int64_t deadline_ns =
        server.has_work() ? now_ns : std::min(now_ns + kIdleNs, server.next_tick_ns());
    for (int i = 0; i < kEventsPerTurn; ++i) {
      std::optional<net::Event> event = network_.Receive(deadline_ns);
      if (!event) break;
      server.Handle(*std::move(event));
      deadline_ns = 0;  // only events that are there already
    }
    server.Tick();
    if (server.has_work()) server.Compute();
    if (clock.NowNs() < snapshot_ns) continue;
    snapshot_ns = clock.NowNs() + kSnapshotNs;
    has_lost_gpu_ = server.has_lost_gpu();
    MutexLock lock(mu_);
    snapshot_ = server.Snapshot();
  }
}

std::vector<StageRouteStatus> Node::Snapshot() const {
  MutexLock lock(mu_);
  return snapshot_;
}

}  // namespace aster::stage
