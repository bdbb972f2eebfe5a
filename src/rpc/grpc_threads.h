// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The end of gRPC's own threads. For the .cc files of this folder. Must not know what is called.
#pragma once

namespace aster::rpc {

// gRPC runs threads of its own (timers, polling, clean-up) while it is in use, and ends them later,
// by itself, in a thread that nothing waits for. A process that exits in the meantime takes the TLS
// library away from under them. So everything that uses gRPC holds one of these, as its first
// member, and the end of the last one waits for all of gRPC's threads. Not to be destroyed in a
// callback of gRPC's.
class GrpcThreads {
 public:
  GrpcThreads();
  GrpcThreads(const GrpcThreads&) = delete;
  GrpcThreads& operator=(const GrpcThreads&) = delete;
  ~GrpcThreads();
};

}  // namespace aster::rpc
