// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/terminal/progress.h"

#include <algorithm>

#include "base/units.h"

namespace aster::cli {
namespace {

// Often enough to look alive, seldom enough to cost nothing.
constexpr int64_t kRedrawNs = 100'000'000;

void WriteTo(std::FILE* stream, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

std::string Amount(Progress::Unit unit, uint64_t amount) {
  return unit == Progress::Unit::kBytes ? FormatBytes(amount) : fmt::format("{}", amount);
}

std::string Rate(Progress::Unit unit, double per_second) {
  switch (unit) {
    case Progress::Unit::kBytes:
      return FormatByteRate(per_second) + "  ";
    case Progress::Unit::kTokens:
      return FormatRate(per_second, "tokens") + "  ";
    case Progress::Unit::kSteps:
      return "";
  }
  return "";
}

}  // namespace

Progress::Progress(const Console& console, const Clock& clock, std::string label, Unit unit)
    : console_(console),
      clock_(clock),
      unit_(unit),
      label_(std::move(label)),
      start_ns_(clock.NowNs()) {}

Progress::~Progress() {
  if (drawn_ns_ != 0) WriteTo(console_.err(), "\r\033[K");
}

void Progress::Update(uint64_t done, uint64_t total) {
  if (!console_.shows_progress()) return;
  const int64_t now_ns = clock_.NowNs();
  if (now_ns - std::max(drawn_ns_, start_ns_) < kRedrawNs) return;
  drawn_ns_ = now_ns;
  const double seconds = static_cast<double>(now_ns - start_ns_) * 1e-9;
  const double rate = static_cast<double>(done) / seconds;
  std::string line =
      fmt::format("\r\033[K{}  {} of {}", label_, Amount(unit_, done), Amount(unit_, total));
  if (rate > 0 && total > done) {
    const double left_ns = static_cast<double>(total - done) / rate * 1e9;
    line += fmt::format("  {}{} left", Rate(unit_, rate),
                        FormatDuration(static_cast<int64_t>(left_ns)));
  }
  WriteTo(console_.err(), line);
}

}  // namespace aster::cli
