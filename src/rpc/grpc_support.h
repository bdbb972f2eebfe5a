// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What both sides of gRPC's calls need: errors and deadlines as gRPC has them, and silence. For the
// .cc files of this folder. Must not know what is called.
#pragma once

#include <grpc/support/time.h>
#include <grpcpp/support/status.h>

#include <cstdint>

#include "base/result.h"

namespace aster::rpc {

grpc::Status ToGrpc(const Error& error);
grpc::Status ToGrpc(const Status& status);
// Of a status that is not OK. Its text, which any machine may have written, is made fit to be
// shown.
Error FromGrpc(const grpc::Status& status);

gpr_timespec DeadlineIn(int64_t duration_ns);
// Until the deadline; kNeverNs where there is none.
int64_t LeftUntil(gpr_timespec deadline);

// gRPC and protobuf write to standard error what happens to connections and messages, which any
// peer may fill; from now on it goes to our log, at the debug level.
void SendForeignLogsToOurs();

}  // namespace aster::rpc
