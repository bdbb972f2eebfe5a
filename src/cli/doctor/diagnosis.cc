// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/doctor/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/units.h"

namespace aster::cli {
namespace {

Finding InstructionSet(const Facts& facts) {
  const Probes& probes = facts.probes;
  Finding finding{.subject = "instruction_set", .found = probes.isa};
  if (probes.isa != probes.fastest_isa) {
    finding.level = Level::kSlow;
    finding.found = fmt::format("{}, though this processor has {}", probes.isa, probes.fastest_isa);
    finding.cost = "Every product of matrices takes longer, several times as long with ref";
    finding.fix = "unset ASTER_ISA";
  } else if (probes.isa == "ref") {
    finding.level = Level::kSlow;
    finding.found = "ref: plain C++, since this processor has neither AVX2 with FMA nor NEON";
    finding.cost = "Every product of matrices takes several times as long";
    finding.fix = "Compute on another machine of a cluster: aster run MODEL --cluster";
  }
  return finding;
}

Finding Cores(const Facts& facts) {
  const uint64_t usable = facts.probes.usable_cpus;
  Finding finding{.subject = "cores", .found = fmt::format("{} usable", usable)};
  if (usable >= facts.online_cpus) return finding;
  finding.level = Level::kSlow;
  finding.found = fmt::format("{} of {} usable: a cpu set or a control group limits this process",
                              usable, facts.online_cpus);
  finding.cost =
      fmt::format("Prefill has at most {}/{} of the machine's rate", usable, facts.online_cpus);
  finding.fix =
      "Raise the limit where it was set: docker run --cpus, systemctl set-property UNIT CPUQuota=, "
      "taskset";
  return finding;
}

Finding Load(const Facts& facts) {
  Finding finding{.subject = "load", .found = fmt::format("{:.1f}", facts.load)};
  const auto cores = static_cast<double>(std::max<uint64_t>(facts.probes.usable_cpus, 1));
  if (facts.load < cores / 2) return finding;
  finding.level = Level::kSlow;
  finding.found = fmt::format("{:.1f} on {} cores: other programs compute", facts.load, cores);
  finding.cost = "A step waits for its slowest core, so that one shared core slows all of them";
  finding.fix = "ps -eo pid,pcpu,comm --sort=-pcpu | head";
  return finding;
}

Finding Stolen(const Facts& facts) {
  Finding finding{.subject = "stolen_time"};
  if (!facts.stolen) {
    finding.level = Level::kUnknown;
    finding.found = "/proc/stat does not say";
    return finding;
  }
  finding.found = fmt::format("{:.1f} % since the start", *facts.stolen * 100);
  if (*facts.stolen < 0.02) return finding;
  finding.level = Level::kSlow;
  finding.found += ": the host ran other virtual machines on these cores";
  finding.cost = "Rates vary from minute to minute, and threads wait for the one that was stopped";
  finding.fix = "Ask the host for cores of its own (pinned, not shared)";
  return finding;
}

Finding Memory(const Facts& facts) {
  const uint64_t all = facts.probes.memory_bytes;
  const uint64_t available = facts.probes.available_bytes;
  Finding finding{
      .subject = "memory",
      .found = fmt::format("{} available of {}", FormatBytes(available), FormatBytes(all))};
  if (available >= all / 4) return finding;
  finding.level = Level::kSlow;
  finding.cost = "Weights that do not fit are read from the disk again for every token";
  finding.fix = "ps -eo pid,rss,comm --sort=-rss | head";
  return finding;
}

Finding HugePages(const Facts& facts) {
  Finding finding{.subject = "huge_pages", .found = facts.huge_pages};
  if (facts.huge_pages.empty()) {
    finding.level = Level::kUnknown;
    finding.found = "this kernel has no transparent huge pages, or does not show them";
  } else if (facts.huge_pages == "never") {
    finding.level = Level::kSlow;
    finding.cost =
        "Up to a third of the time to read weights and KV rows goes into address look-ups";
    finding.fix = "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled";
  }
  return finding;
}

constexpr const char* kCpuFiles = "/sys/devices/system/cpu/cpu*/cpufreq/";

// With these drivers "powersave" is the usual governor, and the preference sets the speed.
bool HasPreference(const Facts& facts) {
  return !facts.energy_preference.empty() &&
         (facts.governor_driver == "intel_pstate" || facts.governor_driver == "amd-pstate-epp");
}

Finding Governor(const Facts& facts) {
  Finding finding{.subject = "cpu_governor", .found = facts.governor};
  if (facts.governor.empty()) {
    finding.level = Level::kUnknown;
    finding.found = "not visible, as in most virtual machines: the host controls it";
    return finding;
  }
  const bool by_preference = HasPreference(facts);
  if (by_preference) finding.found += ", preference " + facts.energy_preference;
  const std::string& chosen = by_preference ? facts.energy_preference : facts.governor;
  const bool is_slow = chosen == "powersave" || chosen == "power" || chosen == "balance_power";
  if (!is_slow) return finding;
  finding.level = Level::kSlow;
  finding.cost = "Cores stay at a low frequency, or take long to leave it after each wait";
  finding.fix = fmt::format("echo performance | sudo tee {}{}", kCpuFiles,
                            by_preference ? "energy_performance_preference" : "scaling_governor");
  return finding;
}

Finding OpenFiles(const Facts& facts) {
  constexpr uint64_t kWanted = 4096;  // as in the systemd unit of aster serve
  Finding finding{.subject = "open_files"};
  if (!facts.open_files) {
    finding.level = Level::kUnknown;
    finding.found = "/proc/self/limits does not say";
    return finding;
  }
  finding.found = fmt::format("limit {}", *facts.open_files);
  if (*facts.open_files >= kWanted) return finding;
  finding.level = Level::kNote;
  finding.cost = "aster serve makes connections wait beyond that number, less a few for its files";
  finding.fix = fmt::format("ulimit -n {}", kWanted);
  return finding;
}

Finding LockedMemory(const Facts& facts) {
  Finding finding{.subject = "locked_memory"};
  if (!facts.locked_bytes) {
    finding.level = Level::kUnknown;
    finding.found = "/proc/self/limits does not say";
  } else {
    finding.found =
        fmt::format("limit {}; aster locks none",
                    *facts.locked_bytes == UINT64_MAX ? "none" : FormatBytes(*facts.locked_bytes));
  }
  return finding;
}

Finding Loopback(const Facts& facts) {
  constexpr int64_t kSlowNs = 200 * kNsPerUs;
  Finding finding{.subject = "loopback"};
  if (!facts.probes.loopback_ns) {
    finding.level = Level::kBad;
    finding.found = "no connection to 127.0.0.1";
    finding.cost = "Neither aster serve nor --local-nodes work";
    finding.fix = "sudo ip link set lo up";
    return finding;
  }
  const int64_t round_trip_ns = *facts.probes.loopback_ns;
  finding.found = fmt::format("round trip {}", FormatDuration(round_trip_ns));
  if (round_trip_ns < kSlowNs) return finding;
  finding.level = Level::kSlow;
  finding.cost = fmt::format(
      "Waking a core takes long; on nodes every token waits about {} more for each of them",
      FormatDuration(round_trip_ns));
  finding.fix =
      "sudo cpupower idle-set -D 50 (no deep sleep of idle cores), or a less busy machine";
  return finding;
}

// The time for a gigabyte, of KV rows or of weights that nodes fetch.
std::string TimeOfGigabyte(uint64_t megabits_per_s) {
  const double seconds =
      double{uint64_t{1} << 30} * 8 / (static_cast<double>(megabits_per_s) * 1e6);
  return FormatDuration(static_cast<int64_t>(seconds * kNsPerSecond));
}

Finding Interface(const InterfaceFact& link) {
  constexpr uint64_t kGood = 1000;
  Finding finding{.subject = "interface " + link.name};
  if (!link.megabits_per_s && !link.is_wireless) {
    finding.level = Level::kUnknown;
    finding.found =
        "its rate is not visible; aster cluster status shows the measured rates of links";
    return finding;
  }
  finding.found = link.megabits_per_s ? fmt::format("{} Mbit/s", *link.megabits_per_s) : "";
  if (link.is_wireless) finding.found += link.megabits_per_s ? ", wireless" : "wireless";
  if (!link.is_wireless && *link.megabits_per_s >= kGood) return finding;
  finding.level = Level::kNote;
  finding.cost =
      link.is_wireless
          ? "Each hidden state between nodes takes milliseconds, and some take far longer"
          : fmt::format("On nodes: 1 GiB of weights or KV rows takes {}",
                        TimeOfGigabyte(*link.megabits_per_s));
  finding.fix = link.is_wireless
                    ? "Connect the nodes of a cluster by cable"
                    : fmt::format("sudo ethtool {} (what was negotiated, and why)", link.name);
  return finding;
}

Finding Firewall(const Facts& facts) {
  Finding finding{.subject = "firewall", .found = facts.firewall};
  if (facts.firewall.empty()) {
    finding.level = Level::kUnknown;
    finding.found = "none is visible without root's rights";
    return finding;
  }
  finding.level = Level::kNote;
  finding.cost = "Other machines may not reach a node here (ports 7424 and 7425)";
  finding.fix =
      facts.firewall == "ufw" ? "sudo ufw allow 7424:7425/tcp"
      : facts.firewall == "firewalld"
          ? "sudo firewall-cmd --permanent --add-port=7424-7425/tcp && sudo firewall-cmd --reload"
          : "Let tcp dport { 7424, 7425 } in, in /etc/nftables.conf; then: sudo nft -f "
            "/etc/nftables.conf";
  return finding;
}

Finding Gpu(const GpuFact& gpu) {
  Finding finding{.subject = "gpu", .found = gpu.name};
  if (gpu.why_not_used.empty()) {
    finding.found += ", used with --gpu-layers";
    return finding;
  }
  finding.level = Level::kNote;
  finding.cost = "Not used: " + gpu.why_not_used;
  finding.fix = "aster devices";
  return finding;
}

Finding NoGpu(const Facts& facts) {
  const std::string& why = facts.probes.no_gpus_because;
  return {.subject = "gpu",
          .level = Level::kNote,
          .found = "none: " + (why.empty() ? "no Vulkan driver lists one" : why),
          .cost = "Everything is computed by the processor",
          .fix =
              "Where there is one: sudo apt install libvulkan1 mesa-vulkan-drivers, or its "
              "maker's driver"};
}

// The weights must be in memory, and are read from the disk first.
Finding Model(const ModelFact& model, const Facts& facts) {
  const uint64_t missing_bytes = model.bytes - std::min(model.bytes, model.cached_bytes);
  Finding finding{.subject = "model",
                  .found = fmt::format("{}: {}, of which {} in the page cache", model.path,
                                       FormatBytes(model.bytes), FormatBytes(model.cached_bytes))};
  if (model.is_rotating.value_or(false))
    finding.found += ", on a disk that the system takes for a rotating one";
  if (model.bytes > facts.probes.memory_bytes) {
    finding.level = Level::kBad;
    finding.cost = "It does not fit into this machine's memory";
    finding.fix = fmt::format(
        "aster plan {} (how many machines it takes), or a file with fewer bits", model.path);
  } else if (missing_bytes > facts.probes.available_bytes) {
    finding.level = Level::kSlow;
    finding.cost = "It does not fit into the memory that is available now";
    finding.fix = "End other programs (ps -eo pid,rss,comm --sort=-rss | head), or use --cluster";
  } else if (missing_bytes > model.bytes / 10) {
    finding.level = Level::kSlow;
    finding.cost = fmt::format("Loading reads {} from the disk", FormatBytes(missing_bytes));
    finding.fix = fmt::format("cat {} > /dev/null", model.path);
  }
  return finding;
}

}  // namespace

const char* LevelName(Level level) {
  constexpr const char* kNames[] = {"good", "unknown", "note", "slow", "bad"};
  return kNames[static_cast<size_t>(level)];
}

std::vector<Finding> Diagnose(const Facts& facts) {
  std::vector<Finding> findings = {InstructionSet(facts), Cores(facts),        Load(facts),
                                   Stolen(facts),         Governor(facts),     Memory(facts),
                                   HugePages(facts),      LockedMemory(facts), OpenFiles(facts)};
  for (const ModelFact& model : facts.probes.models) findings.push_back(Model(model, facts));
  for (const GpuFact& gpu : facts.probes.gpus) findings.push_back(Gpu(gpu));
  if (facts.probes.gpus.empty()) findings.push_back(NoGpu(facts));
  findings.push_back(Loopback(facts));
  for (const InterfaceFact& link : facts.interfaces) findings.push_back(Interface(link));
  findings.push_back(Firewall(facts));
  return findings;
}

}  // namespace aster::cli
