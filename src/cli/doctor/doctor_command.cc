// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster doctor: this machine's abilities, what is slow and why, and what to change.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/doctor/diagnosis.h"
#include "cli/doctor/probe.h"
#include "cli/options/model_options.h"
#include "cli/terminal/console.h"
#include "gguf/model_files.h"

namespace aster::cli {
namespace {

using nlohmann::ordered_json;

struct DoctorOptions {
  open::ModelOptions model;
  bool json = false;
};

Style StyleOf(Level level) {
  constexpr Style kStyles[] = {Style::kGood, Style::kDim, Style::kAccent, Style::kWarn,
                               Style::kBad};
  return kStyles[static_cast<size_t>(level)];
}

ordered_json ToJson(const std::vector<Finding>& findings) {
  ordered_json list = ordered_json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"subject", finding.subject},
                    {"level", LevelName(finding.level)},
                    {"found", finding.found},
                    {"cost", finding.cost},
                    {"mend", finding.fix}});
  }
  return {{"findings", list}};
}

void Print(const Finding& finding, Console& console) {
  console.Print(
      "{} {:<16} {}\n",
      console.Styled(StyleOf(finding.level), fmt::format("{:<7}", LevelName(finding.level))),
      finding.subject, Harmless(finding.found));
  if (!finding.cost.empty()) console.Print("        costs: {}\n", Harmless(finding.cost));
  if (!finding.fix.empty()) console.Print("        fix:   {}\n", Harmless(finding.fix));
}

void PrintAll(const std::vector<Finding>& findings, Console& console) {
  for (const Finding& finding : findings) Print(finding, console);
  const auto slow = std::ranges::count_if(
      findings, [](const Finding& finding) { return finding.level >= Level::kSlow; });
  console.Print("{}\n", slow == 0 ? "Nothing here makes inference slow."
                                  : fmt::format("Worth a change: {}.", slow));
}

// Every file of a given model; none for the built-in default, which is small.
Result<std::vector<std::string>> FilesOf(open::ModelOptions model) {
  if (model.paths.empty()) return std::vector<std::string>{};
  TRY(model.Find());
  const auto files = TRY(gguf::ModelFiles::Open(model.paths));
  std::vector<std::string> paths;
  for (const gguf::File& file : files.files()) paths.push_back(file.path());
  return paths;
}

Result<ExitStatus> Examine(const DoctorOptions& options, Console& console) {
  const SystemClock clock;
  Probes probes = TRY(ProbeMachine(TRY(FilesOf(options.model)), clock));
  const std::vector<Finding> findings = Diagnose(ReadFacts(KernelFiles(), std::move(probes)));
  if (options.json) {
    console.Print("{}\n",
                  ToJson(findings).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    PrintAll(findings, console);
  }
  const bool is_bad = std::ranges::any_of(
      findings, [](const Finding& finding) { return finding.level == Level::kBad; });
  return is_bad ? kExitNo : kExitOk;
}

}  // namespace

Run DeclareDoctor(CLI::App& app) {
  auto options = std::make_shared<DoctorOptions>();
  DeclareModel(app, options->model, "default: none");
  app.get_option("model")->description("Model whose files are checked, too");
  app.add_flag("--json", options->json, "Print one JSON document");
  app.footer(
      "Each line is a finding: good; unknown, where it cannot be seen; note; slow, which costs "
      "speed; bad, which does not\n"
      "work. The exit status is 1 where one is bad.\n"
      "  aster doctor\n"
      "  aster doctor big.gguf --json");
  return [options](Console& console) { return Examine(*options, console); };
}

}  // namespace aster::cli
