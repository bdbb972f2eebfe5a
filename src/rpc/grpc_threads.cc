// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "rpc/grpc_threads.h"

#include <grpc/grpc.h>

#include <atomic>

#include "base/clock.h"
#include "base/log.h"
#include "rpc/closing_channels.h"

namespace aster::rpc {
namespace {

std::atomic<int> grpc_users = 0;

// Connections that close give up their hold on gRPC in its own threads, soon after the object that
// owned them is gone; the last of them ends the threads.
void WaitForTheEndOfGrpc() {
  SystemClock clock;
  constexpr int kMostSteps = 10'000;
  for (int step = 0; step < kMostSteps; ++step) {
    if (grpc_is_initialized() == 0 || grpc_users > 0) return;
    clock.SleepFor(kNsPerMs);
  }
  log::Warn("gRPC's threads do not end; going on without them");
}

}  // namespace

GrpcThreads::GrpcThreads() {
  ++grpc_users;
  grpc_init();
}

GrpcThreads::~GrpcThreads() {
  const bool is_last = --grpc_users == 0;
  if (is_last) AwaitClosingChannels();
  // Ends the threads here and now where nothing of gRPC's own is left, unlike grpc_shutdown().
  grpc_shutdown_blocking();
  if (is_last) WaitForTheEndOfGrpc();
}

}  // namespace aster::rpc
