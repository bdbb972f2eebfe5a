// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/result.h"

#include <fmt/format.h>

#include <system_error>

namespace aster {

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kCancelled:
      return "cancelled";
    case Code::kUnknown:
      return "unknown";
    case Code::kInvalidArgument:
      return "invalid argument";
    case Code::kDeadlineExceeded:
      return "deadline exceeded";
    case Code::kNotFound:
      return "not found";
    case Code::kAlreadyExists:
      return "already exists";
    case Code::kPermissionDenied:
      return "permission denied";
    case Code::kResourceExhausted:
      return "resource exhausted";
    case Code::kFailedPrecondition:
      return "failed precondition";
    case Code::kAborted:
      return "aborted";
    case Code::kOutOfRange:
      return "out of range";
    case Code::kUnimplemented:
      return "unimplemented";
    case Code::kInternal:
      return "internal";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kDataLoss:
      return "data loss";
    case Code::kUnauthenticated:
      return "unauthenticated";
  }
  return "unknown";
}

Error Error::In(std::string_view where) && {
  message_ = fmt::format("{}: {}", where, message_);
  return std::move(*this);
}

namespace {

Code CodeOfErrno(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENODEV:
      return Code::kNotFound;
    case EEXIST:
      return Code::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return Code::kResourceExhausted;
    case ETIMEDOUT:
      return Code::kDeadlineExceeded;
    case EINVAL:
    case EISDIR:
    case ENOTDIR:
      return Code::kInvalidArgument;
    case EIO:
      return Code::kDataLoss;
    default:
      return Code::kUnknown;
  }
}

}  // namespace

void FailForLackOfValue(const Error& error) {
  CheckFailed(__FILE__, __LINE__, "ok()", error.message());
}

Error SystemError(int error_number, std::string_view what) {
  return {CodeOfErrno(error_number),
          fmt::format("{}: {}", what, std::generic_category().message(error_number))};
}

}  // namespace aster
