// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/terminal/console.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "cli/terminal/progress.h"

namespace aster::cli {
namespace {

bool IsTerminal(std::FILE* stream) { return isatty(fileno(stream)) == 1; }

bool WantsColor(std::FILE* stream, Console::Color color) {
  if (color != Console::Color::kAuto) return color == Console::Color::kAlways;
  // no-color.org: any value but the empty one turns colours off.
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* terminal = std::getenv("TERM");
  if (terminal == nullptr || std::strcmp(terminal, "dumb") == 0) return false;
  return IsTerminal(stream);
}

std::string_view EscapeOf(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kBold:
      return "\033[1m";
    case Style::kDim:
      return "\033[2m";
    case Style::kGood:
      return "\033[32m";
    case Style::kWarn:
      return "\033[33m";
    case Style::kBad:
      return "\033[31m";
    case Style::kAccent:
      return "\033[36m";
  }
  return "";
}

std::string Paint(bool color, Style style, std::string_view text) {
  if (!color || style == Style::kPlain) return std::string(text);
  return fmt::format("{}{}\033[0m", EscapeOf(style), text);
}

}  // namespace

Console::Console(std::FILE* out, std::FILE* err, Color color)
    : out_(out),
      err_(err),
      out_color_(WantsColor(out, color)),
      err_color_(WantsColor(err, color)),
      out_is_terminal_(IsTerminal(out)),
      err_is_terminal_(IsTerminal(err)) {}

void Console::Write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), out_) != text.size()) write_failed_ = true;
}

void Console::Complain(std::string_view kind, std::string_view message) {
  const Style style = kind == "error" ? Style::kBad : Style::kWarn;
  const std::string line =
      fmt::format("aster: {} {}\n", Paint(err_color_, style, fmt::format("{}:", kind)), message);
  std::fwrite(line.data(), 1, line.size(), err_);
}

open::StepProgress Console::StartProgress(std::string label) {
  struct Step {
    Step(const Console& console, std::string label) : progress(console, clock, std::move(label)) {}
    SystemClock clock;
    Progress progress;
  };
  return [step = std::make_shared<Step>(*this, std::move(label))](uint64_t done, uint64_t total) {
    step->progress.Update(done, total);
  };
}

void Console::Note(std::string_view message) {
  const std::string line = Paint(err_color_, Style::kDim, message) + "\n";
  std::fwrite(line.data(), 1, line.size(), err_);
}

std::string Console::Styled(Style style, std::string_view text) const {
  return Paint(out_color_, style, text);
}

Status Console::Flush() {
  if (std::fflush(out_) != 0) return SystemError(errno, "standard output");
  if (write_failed_) return ResourceExhausted("standard output: not everything could be written");
  return Ok();
}

std::string Harmless(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte >= ' ' && byte != 0x7f) || c == '\n' || c == '\t') shown.push_back(c);
  }
  return shown;
}

Result<std::string> ReadStream(std::FILE* stream, std::string_view name, size_t limit_bytes) {
  std::string text;
  std::array<char, 1 << 16> piece;
  while (const size_t count = std::fread(piece.data(), 1, piece.size(), stream)) {
    if (count > limit_bytes - text.size()) {
      return ResourceExhausted(
          fmt::format("{}: more than {} bytes; give it in parts", name, limit_bytes));
    }
    text.append(piece.data(), count);
  }
  if (std::ferror(stream) != 0) return SystemError(errno, name);
  return text;
}

}  // namespace aster::cli
