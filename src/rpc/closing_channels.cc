// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "rpc/closing_channels.h"

#include <grpcpp/channel.h>

#include <atomic>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "rpc/grpc_support.h"

namespace aster::rpc {
namespace {

std::atomic<int> closing = 0;

bool IsConnecting(grpc::Channel& channel) {
  return channel.GetState(/*try_to_connect=*/false) == GRPC_CHANNEL_CONNECTING;
}

}  // namespace

void CloseChannel(std::shared_ptr<grpc::Channel> channel, int64_t until_ns) {
  if (!IsConnecting(*channel)) return;
  ++closing;
  // A connecting channel makes progress only while a thread waits for it.
  std::thread([channel = std::move(channel), until_ns]() mutable {
    const SystemClock clock;
    while (clock.NowNs() < until_ns && IsConnecting(*channel))
      channel->WaitForStateChange(GRPC_CHANNEL_CONNECTING, DeadlineIn(until_ns - clock.NowNs()));
    channel.reset();
    --closing;
  }).detach();
}

void AwaitClosingChannels() {
  SystemClock clock;
  while (closing > 0) clock.SleepFor(kNsPerMs);
}

}  // namespace aster::rpc
