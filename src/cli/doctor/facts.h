// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The facts about a machine for `aster doctor`: from the kernel's files, and from tests (probe.h).
// Plain data. Must not know what is good or bad (diagnosis.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/doctor/kernel_files.h"

namespace aster::cli {

struct GpuFact {
  std::string name;
  std::string why_not_used;  // empty: it is used
};

struct ModelFact {
  std::string path;
  uint64_t bytes = 0;
  uint64_t cached_bytes = 0;  // in the page cache
  uint32_t device_major = 0;  // of its disk
  uint32_t device_minor = 0;
  std::optional<bool> is_rotating;  // the disk; nullopt for file systems without one
};

// Found by tests, not in files.
struct Probes {
  std::string isa;          // the chosen one
  std::string fastest_isa;  // the fastest one of this machine
  uint64_t usable_cpus = 1;
  uint64_t memory_bytes = 0;           // usable by all processes
  uint64_t available_bytes = 0;        // now
  std::optional<int64_t> loopback_ns;  // a round trip over TCP
  std::vector<GpuFact> gpus;
  std::string no_gpus_because;  // empty if there are some
  std::vector<ModelFact> models;
};

struct InterfaceFact {
  std::string name;
  std::optional<uint64_t> megabits_per_s;  // nullopt for virtual ones
  bool is_wireless = false;
};

struct Facts {
  Probes probes;
  uint64_t online_cpus = 0;  // 0: unknown
  double load = 0;           // programs that compute or wait for the disk, mean of the last minute
  std::optional<double> stolen;  // share of the time since the start that the host took
  std::string huge_pages;        // always, madvise, never; empty: unknown
  std::string governor;          // of the first cpu; empty: unknown
  std::string governor_driver;
  std::string energy_preference;
  std::optional<uint64_t> open_files;     // limit
  std::optional<uint64_t> locked_bytes;   // limit; the largest number: none
  std::vector<InterfaceFact> interfaces;  // that are up, without loopback
  std::string firewall;                   // ufw, firewalld, nftables; empty: none found
};

Facts ReadFacts(const KernelFiles& files, Probes probes);

}  // namespace aster::cli
