// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/machine_state.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/files.h"
#include "base/float_text.h"

namespace aster::node {
namespace {

constexpr size_t kMostBytes = 4096;

// The file's first line; empty if it cannot be read.
std::string FirstLine(const std::string& path) {
  const Result<std::string> text = ReadFile(path, kMostBytes);
  return text.ok() ? text->substr(0, text->find('\n')) : "";
}

std::optional<double> Number(std::string_view text) {
  double number = 0;
  const auto parsed = FloatFromChars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || !(number >= 0 && number <= 1e9)) return std::nullopt;
  return number;
}

}  // namespace

MachineState LookAtMachine(const std::string& root) {
  MachineState state;
  state.load = Number(FirstLine(root + "/proc/loadavg")).value_or(0);
  double sum = 0;
  size_t count = 0;
  bool discharges = false;
  std::error_code error;
  const std::string folder = root + "/sys/class/power_supply";
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string supply = entry->path().string();
    // Batteries of mice and the like have another scope.
    if (FirstLine(supply + "/type") != "Battery" || FirstLine(supply + "/scope") == "Device")
      continue;
    const std::optional<double> percent = Number(FirstLine(supply + "/capacity"));
    if (!percent) continue;
    sum += std::min(*percent, 100.0) / 100;
    discharges |= FirstLine(supply + "/status") == "Discharging";
    ++count;
  }
  if (count > 0)
    state.battery =
        cluster::Battery{.charge = sum / static_cast<double>(count), .discharges = discharges};
  return state;
}

}  // namespace aster::node
