// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/core_time.h"

#include <ctime>

#include "base/clock.h"

namespace aster {

int64_t CoreTimeOfThisThreadNs() {
  timespec time{};
  // tidy: allow(time) a Clock tells what all threads share
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * kNsPerSecond + time.tv_nsec;
}

}  // namespace aster
