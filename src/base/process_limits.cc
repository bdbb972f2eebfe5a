// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/process_limits.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>

namespace aster {

uint64_t RaiseOpenFiles(uint64_t wanted) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  if (limit.rlim_cur >= wanted || limit.rlim_cur >= limit.rlim_max) return limit.rlim_cur;
  rlimit raised = limit;
  raised.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
  return setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
}

void ForbidCoreDumps() {
  // A program that collects dumps ignores the limit; exec resets the flag.
  rlimit limit = {};
  if (getrlimit(RLIMIT_CORE, &limit) == 0) {
    limit.rlim_cur = 0;
    setrlimit(RLIMIT_CORE, &limit);
  }
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

}  // namespace aster
