// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/doctor/facts.h"

#include <fmt/format.h>

#include <charconv>
#include <numeric>
#include <type_traits>

#include "base/float_text.h"
#include "base/machine.h"

namespace aster::cli {
namespace {

template <typename T>
std::optional<T> NumberIn(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return std::nullopt;
  const char* const end = text.data() + text.size();
  T value{};
  std::from_chars_result read{};
  if constexpr (std::is_floating_point_v<T>) {
    read = FloatFromChars(text.data() + begin, end, value);
  } else {
    read = std::from_chars(text.data() + begin, end, value);
  }
  if (read.ec != std::errc{}) return std::nullopt;
  return value;
}

// The rest of the line that begins with `name`; empty if there is none.
std::string_view LineOf(std::string_view text, std::string_view name) {
  for (size_t begin = 0; begin < text.size();) {
    const std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
    if (line.starts_with(name)) return line.substr(name.size());
    begin += line.size() + 1;
  }
  return "";
}

// "always [madvise] never" → "madvise"
std::string Chosen(std::string_view text) {
  const size_t begin = text.find('[');
  const size_t end = text.find(']');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return "";
  return std::string(text.substr(begin + 1, end - begin - 1));
}

// Of /proc/self/limits: "Max open files            1024                 524288               files"
std::optional<uint64_t> SoftLimit(std::string_view limits, std::string_view name) {
  const std::string_view line = LineOf(limits, name);
  const size_t begin = line.find_first_not_of(' ');
  if (begin == std::string_view::npos) return std::nullopt;
  if (line.substr(begin).starts_with("unlimited")) return UINT64_MAX;
  return NumberIn<uint64_t>(line);
}

// Of /proc/stat: "cpu  user nice system idle iowait irq softirq steal …", in ticks.
std::optional<double> StolenPart(std::string_view stat) {
  constexpr size_t kSteal = 7;
  std::string_view line = LineOf(stat, "cpu ");
  std::vector<double> ticks;
  while (ticks.size() <= kSteal) {
    const auto number = NumberIn<uint64_t>(line);
    if (!number) return std::nullopt;
    ticks.push_back(static_cast<double>(*number));
    line.remove_prefix(line.find_first_not_of(' '));
    line.remove_prefix(std::min(line.find(' '), line.size()));
  }
  const double all = std::accumulate(ticks.begin(), ticks.end(), 0.0);
  return all > 0 ? ticks[kSteal] / all : 0;
}

std::vector<InterfaceFact> Interfaces(const KernelFiles& files) {
  constexpr std::string_view kFolder = "/sys/class/net/";
  std::vector<InterfaceFact> interfaces;
  for (const std::string& name : files.List(kFolder)) {
    const std::string folder = std::string(kFolder) + name;
    if (name == "lo" || files.Read(folder + "/operstate") != "up") continue;
    const auto speed = NumberIn<int64_t>(files.Read(folder + "/speed"));
    InterfaceFact fact{.name = name, .megabits_per_s = {}, .is_wireless = false};
    if (speed.value_or(0) > 0) fact.megabits_per_s = static_cast<uint64_t>(*speed);
    fact.is_wireless = files.Has(folder + "/wireless");
    interfaces.push_back(std::move(fact));
  }
  return interfaces;
}

// As far as a user without privileges can see it.
std::string Firewall(const KernelFiles& files) {
  if (LineOf(files.Read("/etc/ufw/ufw.conf"), "ENABLED=").starts_with("yes")) return "ufw";
  if (files.Has("/run/firewalld")) return "firewalld";
  if (files.Read("/etc/nftables.conf").find("policy drop") != std::string::npos) return "nftables";
  return "";
}

// A partition has no such settings, the disk's folder around it has.
std::optional<bool> IsRotating(const KernelFiles& files, const ModelFact& model) {
  const std::string disk =
      fmt::format("/sys/dev/block/{}:{}", model.device_major, model.device_minor);
  for (const char* queue : {"/queue/rotational", "/../queue/rotational"}) {
    const std::string text = files.Read(disk + queue);
    if (!text.empty()) return text == "1";
  }
  return std::nullopt;
}

}  // namespace

Facts ReadFacts(const KernelFiles& files, Probes probes) {
  constexpr std::string_view kCpus = "/sys/devices/system/cpu";
  const std::string frequency = std::string(kCpus) + "/cpu0/cpufreq/";
  const std::string limits = files.Read("/proc/self/limits");
  Facts facts;
  facts.probes = std::move(probes);
  for (ModelFact& model : facts.probes.models) model.is_rotating = IsRotating(files, model);
  const std::string online = files.Read(std::string(kCpus) + "/online");
  if (const auto cpus = machine_internal::ParseCpuList(online)) facts.online_cpus = cpus->size();
  facts.load = NumberIn<double>(files.Read("/proc/loadavg")).value_or(0);
  facts.stolen = StolenPart(files.Read("/proc/stat"));
  facts.huge_pages = Chosen(files.Read("/sys/kernel/mm/transparent_hugepage/enabled"));
  facts.governor = files.Read(frequency + "scaling_governor");
  facts.governor_driver = files.Read(frequency + "scaling_driver");
  facts.energy_preference = files.Read(frequency + "energy_performance_preference");
  facts.open_files = SoftLimit(limits, "Max open files");
  facts.locked_bytes = SoftLimit(limits, "Max locked memory");
  facts.interfaces = Interfaces(files);
  facts.firewall = Firewall(files);
  return facts;
}

}  // namespace aster::cli
