// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <pthread.h>

#include <cstddef>

#include "base/lost_files.h"
#include "cli/commands.h"

namespace {

// With the usual 8 MiB stack the system allocates at least one huge page of 2 MiB for every thread.
// In nodes, whose memory is counted, threads get small stacks: a few pages.
void UseSmallStacks() {
  constexpr size_t kStackBytes = size_t{1} << 20;
  pthread_attr_t attributes;
  if (pthread_getattr_default_np(&attributes) != 0) return;
  if (pthread_attr_setstacksize(&attributes, kStackBytes) == 0) {
    pthread_setattr_default_np(&attributes);
  }
  pthread_attr_destroy(&attributes);
}

}  // namespace

int main(int argc, char** argv) {
  UseSmallStacks();
  aster::NameLostFiles();
  return aster::cli::Main(argc, argv);
}
