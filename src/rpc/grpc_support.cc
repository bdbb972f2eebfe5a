// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "rpc/grpc_support.h"

#include <google/protobuf/stubs/logging.h>  // tidy: allow(leftover) its own name
#include <grpc/support/log.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/utf8.h"
#include "rpc/limits.h"

namespace aster::rpc {
namespace {

static_assert(static_cast<int>(Code::kUnauthenticated) == grpc::StatusCode::UNAUTHENTICATED &&
              static_cast<int>(Code::kCancelled) == grpc::StatusCode::CANCELLED);

// Allows TLS 1.3 only. gRPC has no option for that, only for the ciphers of older versions: the one
// given here needs another kind of certificate than the cluster's, so no older handshake succeeds.
// Set before threads start, which might read the environment at the same time; gRPC reads it later.
const bool kHasOnlyTls13 =
    setenv("GRPC_SSL_CIPHER_SUITES", "ECDHE-RSA-AES256-GCM-SHA384", /*replace=*/1) == 0;

// Error texts are sent in a field for a few KiB.
std::string Bounded(std::string_view text) {
  std::string bounded = ForDisplay(text.substr(0, kMaxErrorBytes));
  if (bounded.size() > kMaxErrorBytes)
    bounded.resize(ValidUtf8Prefix(std::string_view(bounded).substr(0, kMaxErrorBytes)));
  return bounded;
}

}  // namespace

grpc::Status ToGrpc(const Error& error) {
  return {static_cast<grpc::StatusCode>(error.code()), Bounded(error.message())};
}

grpc::Status ToGrpc(const Status& status) {
  return status.ok() ? grpc::Status::OK : ToGrpc(status.error());
}

Error FromGrpc(const grpc::Status& status) {
  const int code = status.error_code();
  const bool is_known =
      code >= int{grpc::StatusCode::CANCELLED} && code <= int{grpc::StatusCode::UNAUTHENTICATED};
  return {is_known ? static_cast<Code>(code) : Code::kUnknown, Bounded(status.error_message())};
}

gpr_timespec DeadlineIn(int64_t duration_ns) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(duration_ns, GPR_TIMESPAN));
}

int64_t LeftUntil(gpr_timespec deadline) {
  if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) return kNeverNs;
  const gpr_timespec left = gpr_time_sub(deadline, gpr_now(deadline.clock_type));
  constexpr int64_t kMaxSeconds = kNeverNs / kNsPerSecond - 1;
  if (left.tv_sec > kMaxSeconds) return kNeverNs;
  return left.tv_sec * kNsPerSecond + left.tv_nsec;
}

void SendForeignLogsToOurs() {
  CHECK(kHasOnlyTls13);
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
  gpr_set_log_function([](gpr_log_func_args* line) {
    log::Debug("grpc", {{"message", std::string_view(line->message)}});
  });
  google::protobuf::SetLogHandler(
      [](google::protobuf::LogLevel /*level*/, const char* /*file*/, int /*line*/,
         const std::string& message) { log::Debug("protobuf", {{"message", message}}); });
}

}  // namespace aster::rpc
