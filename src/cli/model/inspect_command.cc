// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster inspect: the contents of a model file, and whether Asterism can run it.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/model/architectures.h"
#include "cli/model/inspect_report.h"
#include "jinja/template.h"
#include "model/files/block_shape.h"
#include "open/builtin_models.h"
#include "open/model_identity.h"
#include "text/tokenizer.h"
#include "text/vocab_reader.h"

namespace aster::cli {
namespace {

struct InspectFlags {
  std::vector<std::string> paths;
  bool tensors = false;
  bool metadata = false;
  bool fingerprint = false;
  bool json = false;
  bool architectures = false;
};

Status CheckTokenizer(const gguf::Metadata& metadata) {
  text::Vocab vocab = TRY(text::ReadVocab(metadata));
  TRY(text::Tokenizer::Make(std::move(vocab)));
  return Ok();
}

// Making the tokenizer and parsing the template are the surest test of whether they work.
void CheckText(const gguf::ModelFiles& files, InspectReport& report) {
  if (Status tokenizer = CheckTokenizer(files.metadata()); !tokenizer.ok()) {
    report.support.obstacles.push_back("tokenizer: " + tokenizer.error().message());
  }
  const auto source = files.metadata().Get<std::string_view>("tokenizer.chat_template");
  if (!source.ok()) return;
  if (auto parsed = jinja::ChatTemplate::Parse(*source); !parsed.ok()) {
    report.template_problem = parsed.error().message();
  }
}

void CheckDrafter(const gguf::ModelFiles& files, InspectReport& report) {
  if (files.drafter() == nullptr || !report.support.shape) return;
  const auto drafter =
      model::BlockShapeOf(*files.drafter(), files.metadata(), *report.support.shape);
  if (!drafter.ok()) report.drafter_problem = drafter.error().message();
}

Result<ExitStatus> Inspect(const InspectFlags& options, Console& console) {
  const gguf::ModelFiles files = TRY(gguf::ModelFiles::Open(options.paths));
  InspectReport report{.files = &files,
                       .description = model::Describe(files),
                       .support = model::CheckSupport(files),
                       .missing_parts = {},
                       .template_problem = {},
                       .fingerprint = {},
                       .drafter_problem = {},
                       .list_tensors = options.tensors,
                       .list_metadata = options.metadata};
  // If the metadata lacks the number of layers, the obstacles say so.
  if (auto missing = files.MissingParts(); missing.ok()) report.missing_parts = std::move(*missing);
  CheckText(files, report);
  CheckDrafter(files, report);
  if (options.fingerprint) report.fingerprint = TRY(open::FingerprintOf(files, console)).ToHex();
  if (options.json) {
    console.Print(
        "{}\n", ReportToJson(report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    PrintReport(report, console);
  }
  return kExitOk;
}

}  // namespace

Run DeclareInspect(CLI::App& app) {
  auto options = std::make_shared<InspectFlags>();
  app.add_option("files", options->paths,
                 "A GGUF file; any part of a split model; several files that each hold some "
                 "layers; or the name of a built-in or pulled model (default: nova)")
      ->type_name("FILE");
  app.add_flag("--tensors", options->tensors, "List every tensor");
  app.add_flag("--metadata", options->metadata, "List every key");
  app.add_flag("--fingerprint", options->fingerprint,
               "Hash the content and print the model's fingerprint");
  app.add_flag("--json", options->json, "Print one JSON document");
  app.add_flag("--architectures", options->architectures,
               "Print which architectures can be run, and what works with them");
  app.footer(
      "Only the file's head is read, so large files take no longer than small ones (--fingerprint "
      "reads all).\n"
      "The exit status is 0 also for models that cannot be run: see \"supported\" in the JSON.");
  return [options](Console& console) -> Result<ExitStatus> {
    if (options->architectures) {
      console.Print("{}", ArchitecturesTable());
      return kExitOk;
    }
    if (options->paths.empty()) options->paths.emplace_back(open::kDefaultModel);
    for (std::string& path : options->paths) path = TRY(open::FindModel(path));
    return Inspect(*options, console);
  };
}

}  // namespace aster::cli
