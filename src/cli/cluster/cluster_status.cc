// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/cluster/cluster_status.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/clock.h"
#include "base/units.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/screen_size.h"

namespace aster::cli {
namespace {

// The width if the output is no terminal.
constexpr size_t kFileColumns = 160;
constexpr ScreenSize kUsualScreen = {.columns = 80, .rows = 24};
// The longest delay of Ctrl-C.
constexpr int64_t kPollNs = 50 * kNsPerMs;

constexpr std::string_view kOtherScreen = "\x1b[?1049h\x1b[?25l";  // and hides the cursor
constexpr std::string_view kOwnScreen = "\x1b[?25h\x1b[?1049l";
constexpr std::string_view kFromTheTop = "\x1b[H";
constexpr std::string_view kRestOfLine = "\x1b[K";
constexpr std::string_view kRestOfScreen = "\x1b[J";

// False if the user wants to stop.
bool Wait(Clock& clock, int64_t deadline_ns) {
  while (!InterruptGuard::Interrupted() && clock.NowNs() < deadline_ns) {
    clock.SleepFor(std::min(kPollNs, deadline_ns - clock.NowNs()));
  }
  return !InterruptGuard::Interrupted();
}

// Overwrites line by line, without flicker; leaves out what does not fit.
void Redraw(std::string_view text, const ScreenSize& size, Console& console) {
  std::string screen(kFromTheTop);
  for (size_t row = 0; row + 1 < size.rows && !text.empty(); ++row) {
    const size_t end = std::min(text.find('\n'), text.size());
    screen += text.substr(0, end);
    screen += kRestOfLine;
    screen += "\r\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  screen += kRestOfScreen;
  console.Write(screen);
}

Result<ExitStatus> Watch(int64_t interval_ns, const ClusterSampler& look, Console& console) {
  SystemClock clock;
  std::optional<ClusterSample> earlier;
  const InterruptGuard guard;
  // An error at the start is printed on the normal screen.
  ClusterSample sample = TRY(look());
  console.Write(kOtherScreen);
  Status status;
  for (bool goes_on = true; goes_on && status.ok();) {
    const ScreenSize size = SizeOfScreen(console.out()).value_or(kUsualScreen);
    Redraw(ClusterStatusText(sample, earlier ? &*earlier : nullptr, size.columns), size, console);
    status = console.Flush();
    goes_on = Wait(clock, clock.NowNs() + interval_ns);
    if (!goes_on || !status.ok()) break;
    earlier = std::move(sample);
    Result<ClusterSample> next = look();
    if (next.ok()) {
      sample = *std::move(next);
    } else {
      status = std::move(next).error();
    }
  }
  console.Write(kOwnScreen);
  TRY(console.Flush());
  TRY(status);
  return kExitOk;
}

}  // namespace

void ClusterStatusOptions::Declare(CLI::App& app) {
  app.add_flag("--once", once, "Print once, even on a terminal");
  app.add_flag("--json", json, "Print one JSON document");
  app.add_option("--interval", interval, "Interval between two updates")->type_name("DURATION");
}

Result<ExitStatus> ShowClusterStatus(const ClusterStatusOptions& options,
                                     const ClusterSampler& look, Console& console) {
  const int64_t interval_ns = TRY(ParseDuration(options.interval).In("--interval"));
  if (console.out_is_terminal() && !options.once && !options.json) {
    return Watch(interval_ns, look, console);
  }
  SystemClock clock;
  const InterruptGuard guard;
  const ClusterSample earlier = TRY(look());
  if (!Wait(clock, clock.NowNs() + interval_ns)) return kExitInterrupted;
  const ClusterSample sample = TRY(look());
  const size_t columns = console.out_is_terminal()
                             ? SizeOfScreen(console.out()).value_or(kUsualScreen).columns
                             : kFileColumns;
  console.Write(options.json ? ClusterStatusJson(sample, &earlier)
                             : ClusterStatusText(sample, &earlier, columns));
  return kExitOk;
}

}  // namespace aster::cli
