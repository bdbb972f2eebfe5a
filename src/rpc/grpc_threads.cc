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

// Closing connections release gRPC on its own threads, soon after their owner is destroyed; the
// last of them ends the threads.
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
  // Unlike grpc_shutdown(), ends the threads here and now if gRPC has no objects left.
  grpc_shutdown_blocking();
  if (is_last) WaitForTheEndOfGrpc();
}

}  // namespace aster::rpc
