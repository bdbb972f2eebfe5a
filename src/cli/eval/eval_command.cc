// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster eval: how many questions models answer correctly, and whether two differ significantly.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/eval/eval_ensemble.h"
#include "cli/eval/eval_options.h"
#include "cli/eval/eval_report.h"
#include "cli/eval/eval_run.h"
#include "eval/result_file.h"
#include "open/builtin_models.h"

namespace aster::cli {
namespace {

void PrintJson(const nlohmann::ordered_json& json, Console& console) {
  console.Print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

Result<ExitStatus> CompareFiles(const EvalOptions& options, Console& console) {
  const std::string& first_path = options.compare[0];
  const std::string& second_path = options.compare[1];
  const eval::Results first = TRY(eval::ReadResults(first_path));
  const eval::Results second = TRY(eval::ReadResults(second_path));
  if (first.header.questions != second.header.questions) {
    console.Complain("warning", "these are results of different files of questions");
  }
  const eval::Comparison comparison = TRY(eval::Compare(first.results, second.results));
  const ComparedFiles files{.first = first_path, .second = second_path, .comparison = &comparison};
  if (options.json) {
    PrintJson(ComparisonToJson(files, options.verbose), console);
  } else {
    PrintComparison(files, options.verbose, console);
  }
  return kExitOk;
}

Result<ExitStatus> EvaluateModels(const EvalOptions& options, Console& console) {
  const std::string path = options.questions_path.empty()
                               ? TRY(open::FindBesideModels(open::kQuestionsFile))
                               : options.questions_path;
  const std::string text = TRY(ReadFile(path, eval::kMaxQuestionBytes));
  const eval::QuestionSet set = TRY(eval::ParseQuestions(text).In(path));
  const std::vector<size_t> chosen = TRY(eval::Select(set, options.selection).In(path));
  std::vector<Evaluation> evaluations;
  bool interrupted = false;
  const size_t count = options.ensemble.is_wanted() ? 1 : options.model.paths.size();
  for (size_t m = 0; m < count && !interrupted; ++m) {
    const std::string out_path = options.out_paths.empty() ? "" : options.out_paths[m];
    evaluations.push_back(
        options.ensemble.is_wanted()
            ? TRY(EvaluateEnsemble(options, set, chosen, out_path, console))
            : TRY(Evaluate(options, options.model.paths[m], set, chosen, out_path, console)));
    interrupted = evaluations.back().results.size() < chosen.size();
  }
  if (options.json) {
    PrintJson(EvaluationsToJson(evaluations), console);
  } else {
    PrintEvaluations(evaluations, console);
  }
  return interrupted ? kExitInterrupted : kExitOk;
}

}  // namespace

Run DeclareEval(CLI::App& app) {
  auto options = std::make_shared<EvalOptions>();
  options->Declare(app);
  app.callback([options] {
    const size_t models = std::max<size_t>(1, options->model.paths.size());
    if (!options->out_paths.empty() && options->out_paths.size() != models) {
      throw CLI::ValidationError("--out", "give one for each model, or none");
    }
  });
  return [options](Console& console) -> Result<ExitStatus> {
    if (!options->compare.empty()) return CompareFiles(*options, console);
    TRY(options->model.Find());
    return EvaluateModels(*options, console);
  };
}

}  // namespace aster::cli
