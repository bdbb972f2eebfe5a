// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Asks one model the questions of an evaluation. Must not know how results are shown.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/eval/eval_options.h"
#include "cli/terminal/console.h"
#include "engine/speculation.h"
#include "eval/questions.h"
#include "eval/results.h"

namespace aster::cli {

struct Evaluation {
  std::string model;  // its path
  eval::ResultHeader header;
  std::vector<eval::QuestionResult> results;  // in the order of the questions
  uint32_t context = 0;                       // tokens of question and reply
  uint64_t wanted = 0;                        // questions; more than results where interrupted
  uint64_t resumed = 0;                       // results that were there before
  double seconds = 0;                         // of asking
  engine::DraftCounts drafts = {};            // of this run
};

// Asks set.questions[chosen[i]], but for those that `out_path` (empty: none) has already. Ctrl-C
// ends it with what there is.
Result<Evaluation> Evaluate(const EvalOptions& options, const std::string& path,
                            const eval::QuestionSet& set, std::span<const size_t> chosen,
                            const std::string& out_path, Console& console);

}  // namespace aster::cli
