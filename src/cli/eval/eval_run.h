// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Asks one model the questions of an evaluation. Must not know how results are shown.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "cli/eval/eval_options.h"
#include "cli/eval/eval_record.h"
#include "cli/terminal/console.h"
#include "eval/questions.h"

namespace aster::cli {

// Asks set.questions[chosen[i]], except those that `out_path` (empty: none) has already. Ctrl-C
// ends it with the results so far.
Result<Evaluation> Evaluate(const EvalOptions& options, const std::string& path,
                            const eval::QuestionSet& set, std::span<const size_t> chosen,
                            const std::string& out_path, Console& console);

}  // namespace aster::cli
