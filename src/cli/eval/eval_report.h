// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The output of `aster eval` at the end, for users and for scripts. Must not know how it was
// measured.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "cli/eval/eval_record.h"
#include "cli/terminal/console.h"
#include "eval/score.h"

namespace aster::cli {

// One table, with a column for each model.
void PrintEvaluations(std::span<const Evaluation> evaluations, Console& console);
nlohmann::ordered_json EvaluationsToJson(std::span<const Evaluation> evaluations);

struct ComparedFiles {
  std::string first;  // paths
  std::string second;
  const eval::Comparison* comparison = nullptr;
};

// With `verbose`, also the changed replies.
void PrintComparison(const ComparedFiles& files, bool verbose, Console& console);
nlohmann::ordered_json ComparisonToJson(const ComparedFiles& files, bool verbose);

}  // namespace aster::cli
