// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/terminal/progress.h"

#include <algorithm>

#include "base/units.h"

namespace aster::cli {
namespace {

// Often enough to look alive, seldom enough to cost nothing.
constexpr int64_t kRedrawNs = 100'000'000;
// For lines that stay.
constexpr int64_t kLineNs = 10 * kNsPerSecond;
constexpr size_t kBarWidth = 20;

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

Progress::Progress(const Console& console, const Clock& clock, std::string label, Unit unit,
                   WithoutTerminal without_terminal)
    : console_(console),
      clock_(clock),
      unit_(unit),
      without_terminal_(without_terminal),
      label_(std::move(label)),
      start_ns_(clock.NowNs()) {}

Progress::~Progress() {
  if (drawn_ns_ != 0 && console_.shows_progress()) WriteTo(console_.err(), "\r\033[K");
}

std::string Progress::Line(uint64_t done, uint64_t total, int64_t now_ns) const {
  std::string line = label_ + "  ";
  if (unit_ == Unit::kBytes && total > 0) {
    const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
    const auto filled = static_cast<size_t>(part * kBarWidth);
    if (console_.shows_progress())
      line += fmt::format("[{:<{}}] ", std::string(filled, '#'), kBarWidth);
    line += fmt::format("{:.0f} %  ", 100 * part);
  }
  line += Amount(unit_, done);
  // A download may have no length.
  if (total > 0) line += " of " + Amount(unit_, total);
  // Bytes of an earlier run say nothing about the rate.
  const double seconds = static_cast<double>(now_ns - start_ns_) * 1e-9;
  const double rate = static_cast<double>(done - std::min(done, first_.value_or(0))) / seconds;
  if (rate > 0) line += "  " + Rate(unit_, rate);
  if (rate > 0 && total > done) {
    const double left_ns = static_cast<double>(total - done) / rate * 1e9;
    if (!line.ends_with("  ")) line += "  ";
    line += FormatDuration(static_cast<int64_t>(left_ns)) + " left";
  }
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

void Progress::Update(uint64_t done, uint64_t total) {
  const bool is_drawn = console_.shows_progress();
  if (!is_drawn && without_terminal_ == WithoutTerminal::kNothing) return;
  if (!first_) first_ = done;
  const int64_t now_ns = clock_.NowNs();
  if (now_ns - std::max(drawn_ns_, start_ns_) < (is_drawn ? kRedrawNs : kLineNs)) return;
  drawn_ns_ = now_ns;
  const std::string line = Line(done, total, now_ns);
  WriteTo(console_.err(), is_drawn ? "\r\033[K" + line : line + "\n");
}

}  // namespace aster::cli
