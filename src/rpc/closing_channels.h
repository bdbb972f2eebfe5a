// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Closes channels that are still connecting. gRPC 1.51 leaks a connection whose channel is
// destroyed after its TLS handshake and before the other side's first settings: it stays open as
// long as the process lives, and gRPC's threads with it. For the .cc files of this folder. Must not
// know what is called.
#pragma once

#include <cstdint>
#include <memory>

namespace grpc {
class Channel;
}

namespace aster::rpc {

// Connecting to a healthy node takes milliseconds; a stalled one sends nothing that could leak.
inline constexpr int64_t kMostConnectingNs = 1'000'000'000;

// Destroys the channel: one that is connecting, in a thread of its own, when it has connected or
// failed, or at this time of SystemClock.
void CloseChannel(std::shared_ptr<grpc::Channel> channel, int64_t until_ns);

// Waits until none of them is left.
void AwaitClosingChannels();

}  // namespace aster::rpc
