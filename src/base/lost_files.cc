// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/lost_files.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <string_view>

namespace aster {
namespace {

// The handler may read these at any moment: `begin` is set last and cleared first.
struct Mapping {
  std::atomic<bool> is_taken = false;
  std::atomic<uintptr_t> begin = 0;
  std::atomic<size_t> size = 0;
  std::array<char, 512> path = {};  // ends with 0
};

std::array<Mapping, 256> mappings;

void Write(std::string_view text) {
  // An error of this write cannot be reported.
  static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
}

// May only call functions that are safe in a signal handler.
void OnBusError(int number, siginfo_t* info, void* /*context*/) {
  const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
  const auto lost = std::ranges::find_if(mappings, [&](const Mapping& mapping) {
    const uintptr_t begin = mapping.begin;
    return begin != 0 && begin <= at && at - begin < mapping.size;
  });
  if (lost != mappings.end()) {
    Write("error: ");
    Write(lost->path.data());
    Write(
        " cannot be read any more: it was cut while it was in use, or its disk failed. Put a new "
        "version of a model beside the old one and rename it, instead of writing over it.\n");
  }
  std::signal(number, SIG_DFL);
  raise(number);  // takes effect when this function has ended
}

}  // namespace

void NameLostFiles() {
  struct sigaction action{};
  action.sa_sigaction = OnBusError;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

void NoteMapping(const uint8_t* data, size_t size, const std::string& path) {
  for (Mapping& mapping : mappings) {
    if (mapping.is_taken.exchange(true)) continue;
    const size_t length = std::min(path.size(), mapping.path.size() - 1);
    std::memcpy(mapping.path.data(), path.data(), length);
    mapping.path[length] = 0;
    mapping.size = size;
    mapping.begin = reinterpret_cast<uintptr_t>(data);
    return;
  }
}

void ForgetMapping(const uint8_t* data) {
  for (Mapping& mapping : mappings) {
    if (mapping.begin != reinterpret_cast<uintptr_t>(data)) continue;
    mapping.begin = 0;
    mapping.is_taken = false;
    return;
  }
}

}  // namespace aster
