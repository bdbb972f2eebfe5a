// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Waits for the end of gRPC's own threads. For the .cc files of this folder. Must not know what is
// called.
#pragma once

namespace aster::rpc {

// gRPC runs threads of its own (timers, polling, clean-up) while it is in use, and ends them later
// in a thread that nothing waits for. If the process exits meanwhile, the TLS library is destroyed
// under them. So everything that uses gRPC has one of these as its first member, and the destructor
// of the last one waits for all of gRPC's threads. Must not be destroyed in a callback of gRPC.
class GrpcThreads {
 public:
  GrpcThreads();
  GrpcThreads(const GrpcThreads&) = delete;
  GrpcThreads& operator=(const GrpcThreads&) = delete;
  ~GrpcThreads();
};

}  // namespace aster::rpc
