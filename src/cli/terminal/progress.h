// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Progress on a terminal. Must not know what is being done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "cli/terminal/console.h"

namespace aster::cli {

// One line on standard error: the progress (with a bar for bytes), rate, and remaining time. The
// line is removed at the end. One thread at a time may call Update.
class Progress {
 public:
  enum class Unit : uint8_t { kBytes, kTokens, kSteps };
  // If standard error is not a terminal.
  enum class WithoutTerminal : uint8_t { kNothing, kPlainLines };

  Progress(const Console& console, const Clock& clock, std::string label, Unit unit = Unit::kBytes,
           WithoutTerminal without_terminal = WithoutTerminal::kNothing);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Update(uint64_t done, uint64_t total);
  // The present activity, if that changes on the way.
  void SetLabel(std::string label) { label_ = std::move(label); }

 private:
  std::string Line(uint64_t done, uint64_t total, int64_t now_ns) const;

  const Console& console_;
  const Clock& clock_;
  const Unit unit_;
  const WithoutTerminal without_terminal_;
  std::string label_;
  const int64_t start_ns_;
  std::optional<uint64_t> first_;  // done before the start; nullopt before the first update
  int64_t drawn_ns_ = 0;           // when the line was last drawn; 0 before the first time
};

}  // namespace aster::cli
