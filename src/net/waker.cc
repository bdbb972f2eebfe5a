// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/waker.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"

namespace aster::net {

Waker::Waker() : event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  CHECK_NOTE(event_.is_open(), "the system has no descriptors left");
}

void Waker::Wake() {
  if (is_awake_.exchange(true)) return;
  const uint64_t one = 1;
  CHECK(write(event_.descriptor(), &one, sizeof(one)) == sizeof(one));
}

void Waker::Reset() {
  uint64_t count = 0;
  // It may be unset: another thread is about to write.
  if (read(event_.descriptor(), &count, sizeof(count)) == sizeof(count)) is_awake_.store(false);
}

}  // namespace aster::net
