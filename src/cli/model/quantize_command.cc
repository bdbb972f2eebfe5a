// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster quantize: converts a model's weights to fewer bits.
#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/machine.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/table.h"
#include "open/builtin_models.h"
#include "quant/quantize_file.h"

namespace aster::cli {
namespace {

using gguf::TensorTypeName;
using quant::PlannedTensor;
using quant::QuantizeError;
using quant::QuantizePlan;
using quant::QuantizeReport;

struct QuantizeFlags {
  std::vector<std::string> paths;  // the files to read; the last one is written
  std::string type;
  std::string importance_path;
  std::vector<std::string> overrides;
  bool pure = false;
  bool keep_output = false;
  bool dry_run = false;
  bool json = false;
  size_t threads = 0;
};

Result<quant::TypeRules> RulesOf(const QuantizeFlags& options) {
  quant::TypeRules rules;
  rules.recipe = TRY(quant::RecipeNamed(options.type));
  rules.pure = options.pure;
  rules.keep_output = options.keep_output;
  for (const std::string& text : options.overrides) {
    rules.overrides.push_back(TRY(quant::TypeOverride::Parse(text)));
  }
  return rules;
}

// All tensors that get one type.
struct TypeSummary {
  uint64_t tensor_count = 0;
  uint64_t parameter_count = 0;
  uint64_t bytes_before = 0;
  uint64_t bytes_after = 0;
  uint64_t converted_count = 0;  // tensors; the others are copied
  QuantizeError error;
};
using Summaries = std::map<gguf::TensorType, TypeSummary>;

// report: null for a dry run, which measures no errors.
Summaries Summarize(const QuantizePlan& plan, const QuantizeReport* report) {
  Summaries summaries;
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlannedTensor& planned = plan.tensors[i];
    TypeSummary& summary = summaries[planned.type];
    ++summary.tensor_count;
    summary.parameter_count += planned.tensor->element_count;
    summary.bytes_before += planned.tensor->data.size();
    summary.bytes_after += planned.bytes;
    if (planned.converts()) ++summary.converted_count;
    if (report != nullptr) summary.error += report->errors[i];
  }
  return summaries;
}

double BitsPerWeight(uint64_t bytes, uint64_t parameter_count) {
  return parameter_count == 0 ? 0 : 8.0 * static_cast<double>(bytes) / parameter_count;
}

uint64_t ParameterCount(const QuantizePlan& plan) {
  uint64_t count = 0;
  for (const PlannedTensor& planned : plan.tensors) count += planned.tensor->element_count;
  return count;
}

// The error of one tensor or of many; null if no weight was changed.
nlohmann::ordered_json ErrorJson(bool converted, const QuantizeReport* report,
                                 const QuantizeError& error) {
  if (!converted || report == nullptr) return nullptr;
  return error.Relative();
}

nlohmann::ordered_json TensorsJson(const QuantizePlan& plan, const QuantizeReport* report) {
  nlohmann::ordered_json tensors = nlohmann::ordered_json::array();
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlannedTensor& planned = plan.tensors[i];
    const QuantizeError error = report != nullptr ? report->errors[i] : QuantizeError();
    nlohmann::ordered_json tensor = {
        {"name", planned.tensor->name},
        {"type_before", TensorTypeName(planned.tensor->type)},
        {"type", TensorTypeName(planned.type)},
        {"bytes_before", planned.tensor->data.size()},
        {"bytes", planned.bytes},
        {"relative_rmse", ErrorJson(planned.converts(), report, error)}};
    if (!planned.note.empty()) tensor["note"] = planned.note;
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

nlohmann::ordered_json ToJson(const QuantizeFlags& options, const QuantizePlan& plan,
                              const QuantizeReport* report) {
  nlohmann::ordered_json types = nlohmann::ordered_json::array();
  for (const auto& [type, summary] : Summarize(plan, report)) {
    types.push_back(
        {{"type", TensorTypeName(type)},
         {"tensors", summary.tensor_count},
         {"parameters", summary.parameter_count},
         {"bytes_before", summary.bytes_before},
         {"bytes", summary.bytes_after},
         {"relative_rmse", ErrorJson(summary.converted_count > 0, report, summary.error)}});
  }
  nlohmann::ordered_json json = {
      {"path", options.paths.back()},
      {"type", options.type},
      {"dry_run", options.dry_run},
      {"parameters", ParameterCount(plan)},
      {"bytes_before", plan.bytes_before},
      {"bytes", plan.bytes_after},
      {"bits_per_weight", BitsPerWeight(plan.bytes_after, ParameterCount(plan))},
      {"warnings", plan.warnings},
      {"types", std::move(types)},
      {"tensors", TensorsJson(plan, report)}};
  if (report != nullptr) json["file_bytes"] = report->file_bytes;
  return json;
}

std::string ErrorText(const TypeSummary& summary, const QuantizeReport* report) {
  if (report == nullptr) return "";
  if (summary.converted_count == 0) return "copied";
  const double error = summary.error.Relative();
  return error == 0 ? "exact" : fmt::format("{:.3g} %", 100 * error);
}

void PrintReport(const QuantizeFlags& options, const QuantizePlan& plan,
                 const QuantizeReport* report, Console& console) {
  using enum Table::Align;
  Table table({kLeft, kRight, kRight, kRight, kRight, kRight, kRight});
  table.AddRow({"type", "tensors", "parameters", "before", "after", "bits/weight",
                report != nullptr ? "error" : ""});
  const auto add = [&](const std::string& name, const TypeSummary& summary) {
    table.AddRow(
        {name, fmt::format("{}", summary.tensor_count), FormatCount(summary.parameter_count),
         FormatBytes(summary.bytes_before), FormatBytes(summary.bytes_after),
         fmt::format("{:.2f}", BitsPerWeight(summary.bytes_after, summary.parameter_count)),
         ErrorText(summary, report)});
  };
  TypeSummary all;
  for (const auto& [type, summary] : Summarize(plan, report)) {
    add(TensorTypeName(type), summary);
    all.tensor_count += summary.tensor_count;
    all.parameter_count += summary.parameter_count;
    all.bytes_before += summary.bytes_before;
    all.bytes_after += summary.bytes_after;
    all.converted_count += summary.converted_count;
    all.error += summary.error;
  }
  add("all", all);
  console.Write(table.Render(0));
  for (const PlannedTensor& planned : plan.tensors) {
    if (planned.note.empty()) continue;
    console.Print("{} becomes {}: {}\n", ForDisplay(planned.tensor->name),
                  TensorTypeName(planned.type), planned.note);
  }
  if (report != nullptr) {
    console.Print("{}  {}\n", options.paths.back(), FormatBytes(report->file_bytes));
  } else {
    console.Print("Nothing was written (--dry-run).\n");
  }
}

Result<QuantizeReport> Write(const QuantizeFlags& options, const gguf::ModelFiles& files,
                             const QuantizePlan& plan, Console& console) {
  ThreadPool pool(options.threads == 0 ? UsableCpuCount() : options.threads);
  SystemClock clock;
  Progress progress(console, clock, "quantising");
  return quant::WriteQuantized(
      files, plan, options.paths.back(), pool,
      [&](uint64_t done, uint64_t total) { progress.Update(done, total); });
}

Result<ExitStatus> Quantize(const QuantizeFlags& options, Console& console) {
  const quant::TypeRules rules = TRY(RulesOf(options));
  std::vector<std::string> inputs(options.paths.begin(), options.paths.end() - 1);
  for (std::string& path : inputs) path = TRY(open::FindModel(path));
  const gguf::ModelFiles files = TRY(gguf::ModelFiles::Open(inputs));
  std::optional<quant::ImportanceMatrix> importance;
  if (!options.importance_path.empty()) {
    importance = TRY(quant::ImportanceMatrix::Load(options.importance_path));
  }
  const QuantizePlan plan =
      TRY(quant::PlanQuantization(files, rules, importance ? &*importance : nullptr));
  for (const std::string& warning : plan.warnings) console.Complain("warning", warning);
  std::optional<QuantizeReport> report;
  if (!options.dry_run) {
    TRY(files.CompareCopies());
    report = TRY(Write(options, files, plan, console));
  }
  const QuantizeReport* written = report ? &*report : nullptr;
  if (options.json) {
    console.Print("{}\n", ToJson(options, plan, written)
                              .dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    PrintReport(options, plan, written, console);
  }
  return kExitOk;
}

std::string Footer() {
  std::string types;
  for (const quant::Recipe& recipe : quant::AllRecipes()) {
    types += fmt::format("\n  {:<10}{}", recipe.name, recipe.summary);
  }
  return "Types, with their bits per weight:" + types +
         "\n"
         "\n"
         "Names with _S, _M or _L, Q2_K and IQ2_XXS are mixes: the most sensitive tensors get more "
         "bits.\n"
         "Norms, biases and routers stay in F32. If rows are not whole blocks of a type, the\n"
         "nearest type with smaller blocks is used, and the summary says so.\n"
         "The error is the root mean square difference, relative to the weights.\n"
         "\n"
         "  aster quantize model-f16.gguf model.gguf --type Q4_K_M\n"
         "  aster quantize model.gguf small.gguf --type IQ2_XXS --imatrix model.imatrix\n"
         "  aster quantize model.gguf out.gguf --type Q4_K --tensor-type 'blk.*.attn_v=Q8_0'\n"
         "  aster quantize model-00001-of-00003.gguf one.gguf --type Q8_0 --dry-run";
}

}  // namespace

Run DeclareQuantize(CLI::App& app) {
  auto options = std::make_shared<QuantizeFlags>();
  app.add_option("files", options->paths,
                 "Model (one file, any part of a split one, or slices), then the file to write")
      ->required()
      ->expected(2, -1)
      ->type_name("IN... OUT");
  app.add_option("--type", options->type, "Type of the weights, see below")
      ->required()
      ->type_name("TYPE");
  app.add_option("--imatrix", options->importance_path,
                 "Importance matrix (GGUF or .dat): weights of the columns")
      ->type_name("FILE");
  app.add_option("--tensor-type", options->overrides,
                 "PATTERN=TYPE for tensors of certain names, such as ffn_down=Q6_K; * and ? stand "
                 "for any characters. Repeatable; the first match counts")
      ->type_name("PATTERN=TYPE")
      ->allow_extra_args(false);
  app.add_flag("--keep-output", options->keep_output, "Keep output.weight as it is");
  app.add_flag("--pure", options->pure, "TYPE for every matrix, the output too, instead of a mix");
  app.add_flag("--dry-run", options->dry_run, "Print types and sizes, and write nothing");
  app.add_option("--threads", options->threads, "Threads (default: all cores)")->type_name("N");
  app.add_flag("--json", options->json, "Print one JSON document");
  app.footer(Footer());
  return [options](Console& console) { return Quantize(*options, console); };
}

}  // namespace aster::cli
