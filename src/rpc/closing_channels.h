// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The end of channels that are still connecting. gRPC 1.51 loses a connection whose channel goes
// after its TLS handshake and before the other side's first settings: it stays open for as long as
// the process lives, and gRPC's threads with it. For the .cc files of this folder. Must not know
// what is called.
#pragma once

#include <cstdint>
#include <memory>

namespace grpc {
class Channel;
}

namespace aster::rpc {

// A node that is well is connected to in milliseconds; one that stands still sends nothing that
// could be lost.
inline constexpr int64_t kMostConnectingNs = 1'000'000'000;

// Lets go of it: a channel that is connecting goes in a thread of its own, when it has connected or
// failed, or at this time of SystemClock.
void CloseChannel(std::shared_ptr<grpc::Channel> channel, int64_t until_ns);

// Returns when none of them is left.
void AwaitClosingChannels();

}  // namespace aster::rpc
