// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Shared by both sides of gRPC's calls: errors, deadlines, and log output. For the .cc files of
// this folder. Must not know what is called.
#pragma once

#include <grpc/support/time.h>
#include <grpcpp/support/status.h>

#include <cstdint>

#include "base/result.h"

namespace aster::rpc {

grpc::Status ToGrpc(const Error& error);
grpc::Status ToGrpc(const Status& status);
// For a status that is not OK. Its text, which any machine may have written, is made safe to show.
Error FromGrpc(const grpc::Status& status);

gpr_timespec DeadlineIn(int64_t duration_ns);
// The time until the deadline; kNeverNs without one.
int64_t LeftUntil(gpr_timespec deadline);

// gRPC and protobuf log connections and messages to standard error, with text from any peer; from
// now on that goes to our log, at the debug level.
void SendForeignLogsToOurs();

}  // namespace aster::rpc
