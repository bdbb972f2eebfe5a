// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What the facts of a machine mean for inference: what is slow and why, what it costs, and the
// command that mends it. Must not know where facts come from, nor how findings are shown.
#pragma once

#include <string>
#include <vector>

#include "cli/doctor/facts.h"

namespace aster::cli {

enum class Level {
  kGood,
  kUnknown,  // it cannot be seen here
  kNote,     // worth knowing; costs nothing as long as nothing is asked of it
  kSlow,     // costs speed
  kBad,      // what was asked for does not work
};
// "good", "unknown" and so on.
const char* LevelName(Level level);

struct Finding {
  std::string subject = {};  // a key that stays: "huge_pages"
  Level level = Level::kGood;
  std::string found = {};
  std::string cost = {};  // empty where it is good
  std::string mend = {};  // a command, or a sentence; empty where there is nothing to change
};

std::vector<Finding> Diagnose(const Facts& facts);

}  // namespace aster::cli
