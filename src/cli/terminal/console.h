// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Output for a user or a script: plain for scripts and files, colour only on a terminal. Must not
// know any command.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/result.h"
#include "open/reporter.h"

namespace aster::cli {

// How a piece of text is emphasised on a terminal.
enum class Style { kPlain, kBold, kDim, kGood, kWarn, kBad, kAccent };

// Not for concurrent use.
class Console final : public open::Reporter {
 public:
  // Colour follows the terminal, the NO_COLOR convention and `--color`.
  enum class Color { kAuto, kAlways, kNever };

  Console(std::FILE* out, std::FILE* err, Color color);

  template <typename... Args>
  void Print(fmt::format_string<Args...> format, Args&&... args) {
    Write(fmt::format(format, std::forward<Args>(args)...));
  }
  // To standard output, unchanged.
  void Write(std::string_view text);
  // A line to standard error, after `aster: `.
  void Complain(std::string_view kind, std::string_view message) override;
  // A line on standard error, drawn by progress.h.
  open::StepProgress StartProgress(std::string label) override;

  // A line to standard error that needs no action; dim if there are colours.
  void Note(std::string_view message);

  // `text` with the style's colour if standard output has colours.
  std::string Styled(Style style, std::string_view text) const;
  bool shows_color() const { return out_color_; }
  bool shows_progress() const { return err_is_terminal_; }
  std::FILE* out() const { return out_; }
  std::FILE* err() const { return err_; }
  bool out_is_terminal() const { return out_is_terminal_; }

  // Waits until everything written has reached the system; returns the error of a full disk or a
  // closed pipe.
  Status Flush();

 private:
  std::FILE* const out_;
  std::FILE* const err_;
  const bool out_color_;
  const bool err_color_;
  const bool out_is_terminal_;
  const bool err_is_terminal_;
  bool write_failed_ = false;
};

// Removes control characters, as text from elsewhere must not control the terminal.
std::string Harmless(std::string_view text);

// The rest of a stream. An error if that is more than `limit_bytes`.
Result<std::string> ReadStream(std::FILE* stream, std::string_view name, size_t limit_bytes);

}  // namespace aster::cli
