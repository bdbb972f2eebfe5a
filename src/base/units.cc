// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

#include "base/float_text.h"

namespace aster {
namespace {

// Three significant digits: 1.23, 12.3, 123. Above, all of them: 1023.
std::string ThreeDigits(double value) {
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

// value in the largest of the units (each `step` times the one before) in which it is at least 1;
// in the next one if rounding would show `step` itself.
std::string Scaled(double value, double step, std::span<const std::string_view> units) {
  size_t unit = 0;
  while (unit + 1 < units.size() && value >= step - 0.5) {
    value /= step;
    ++unit;
  }
  return fmt::format("{} {}", ThreeDigits(value), units[unit]);
}

struct Unit {
  std::string_view name;  // in lower case
  double factor;
};

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

bool EqualsInLowerCase(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

// A number that is not negative and one of the units, as a whole number below `limit`.
std::optional<uint64_t> ParseScaled(std::string_view text, std::span<const Unit> units,
                                    double limit) {
  text = Trimmed(text);
  double number = 0;
  const auto [rest, error] =
      FloatFromChars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{} || !(number >= 0)) return {};
  const std::string_view name = Trimmed(text.substr(static_cast<size_t>(rest - text.data())));
  for (const Unit& unit : units) {
    if (!EqualsInLowerCase(name, unit.name)) continue;
    const double value = std::floor(number * unit.factor);
    if (!(value < limit)) return {};
    return static_cast<uint64_t>(value);
  }
  return {};
}

}  // namespace

std::string FormatBytes(uint64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  return Scaled(static_cast<double>(bytes) / 1024, 1024, kUnits);
}

std::string FormatCount(uint64_t count) {
  constexpr std::array<std::string_view, 4> kUnits = {"K", "M", "B", "T"};
  if (count < 1000) return fmt::format("{}", count);
  return Scaled(static_cast<double>(count) / 1000, 1000, kUnits);
}

std::string FormatRate(double per_second, std::string_view what) {
  return fmt::format("{} {}/s", ThreeDigits(per_second), what);
}

std::string FormatByteRate(double bytes_per_second) {
  constexpr std::array<std::string_view, 5> kUnits = {"B/s", "KB/s", "MB/s", "GB/s", "TB/s"};
  return Scaled(bytes_per_second, 1000, kUnits);
}

std::string FormatDuration(int64_t duration_ns) {
  constexpr std::array<std::string_view, 4> kUnits = {"ns", "µs", "ms", "s"};
  constexpr int64_t kSecondNs = 1'000'000'000;
  constexpr uint64_t kMinute = 60;
  constexpr uint64_t kHour = 60 * kMinute;
  constexpr uint64_t kDay = 24 * kHour;
  const uint64_t ns =
      duration_ns < 0 ? 0 - static_cast<uint64_t>(duration_ns) : static_cast<uint64_t>(duration_ns);
  const char* sign = duration_ns < 0 ? "-" : "";
  const uint64_t s = (ns + kSecondNs / 2) / kSecondNs;
  if (ns < 1000) return fmt::format("{}{} ns", sign, ns);
  if (s < kMinute) return fmt::format("{}{}", sign, Scaled(static_cast<double>(ns), 1000, kUnits));
  if (s < kHour) return fmt::format("{}{} min {:02} s", sign, s / kMinute, s % kMinute);
  if (s < kDay) return fmt::format("{}{} h {:02} min", sign, s / kHour, s % kHour / kMinute);
  return fmt::format("{}{} d {:02} h", sign, s / kDay, s % kDay / kHour);
}

Result<uint64_t> ParseBytes(std::string_view text) {
  constexpr Unit kUnits[] = {
      {"", 1},       {"b", 1},        {"k", 0x1p10},   {"kib", 0x1p10}, {"kb", 1e3},
      {"m", 0x1p20}, {"mib", 0x1p20}, {"mb", 1e6},     {"g", 0x1p30},   {"gib", 0x1p30},
      {"gb", 1e9},   {"t", 0x1p40},   {"tib", 0x1p40}, {"tb", 1e12},
  };
  const std::optional<uint64_t> bytes = ParseScaled(text, kUnits, 0x1p64);
  if (bytes) return *bytes;
  return InvalidArgument(
      fmt::format("'{}' is not a size; write for example 4096, 64 MiB or 1.5 GB", text));
}

Result<uint64_t> ParseCount(std::string_view text) {
  constexpr Unit kUnits[] = {{"", 1}, {"k", 1e3}, {"m", 1e6}, {"b", 1e9}, {"t", 1e12}};
  const std::optional<uint64_t> count = ParseScaled(text, kUnits, 0x1p64);
  if (count) return *count;
  return InvalidArgument(
      fmt::format("'{}' is not a count; write for example 4096, 128K or 1.2B", text));
}

Result<int64_t> ParseDuration(std::string_view text) {
  constexpr Unit kUnits[] = {{"ns", 1},  {"us", 1e3},   {"µs", 1e3},   {"ms", 1e6},
                             {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
  const std::optional<uint64_t> ns = ParseScaled(text, kUnits, 0x1p63);
  if (ns) return static_cast<int64_t>(*ns);
  return InvalidArgument(
      fmt::format("'{}' is not a duration; write for example 500 ms, 1.5 s or 2 min", text));
}

}  // namespace aster
