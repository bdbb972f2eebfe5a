// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What the facts of a machine mean for inference: what is slow and why, what it costs, and the
// command that corrects it. Must not know where facts come from, nor how findings are shown.
#pragma once

#include <string>
#include <vector>

#include "cli/doctor/facts.h"

namespace aster::cli {

enum class Level {
  kGood,
  kUnknown,  // cannot be determined here
  kNote,     // worth knowing; no cost until it is needed
  kSlow,     // costs speed
  kBad,      // a requested feature does not work
};
// "good", "unknown" and so on.
const char* LevelName(Level level);

struct Finding {
  std::string subject = {};  // a stable key: "huge_pages"
  Level level = Level::kGood;
  std::string found = {};
  std::string cost = {};  // empty if it is good
  std::string fix = {};   // a command, or a sentence; empty if there is nothing to change
};

std::vector<Finding> Diagnose(const Facts& facts);

}  // namespace aster::cli
