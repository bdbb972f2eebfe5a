// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster list and aster rm: the models on this machine's disk.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/model/model_kind.h"
#include "cli/terminal/console.h"
#include "cli/terminal/table.h"
#include "gguf/model_files.h"
#include "open/builtin_models.h"
#include "pull/library.h"

namespace aster::cli {
namespace {

using nlohmann::ordered_json;

// "llama 1.24B Q4_K_M", or why it cannot be read.
std::string KindOf(const pull::LibraryModel& model) {
  if (model.is_partial) return "download not finished: pull it again to go on";
  const auto files = gguf::ModelFiles::Open(model.paths);
  if (!files.ok()) return "damaged: " + files.error().message();
  return DescribeKind(*files);
}

ordered_json ToJson(const pull::LibraryModel& model) {
  return {{"name", model.name},     {"bytes", model.size_bytes},   {"kind", KindOf(model)},
          {"source", model.source}, {"partial", model.is_partial}, {"paths", model.paths}};
}

// All valid values of MODEL, one per line, for shell completion.
Result<ExitStatus> ListNames(Console& console) {
  for (const std::string_view name : open::BuiltinModels()) console.Print("{}\n", name);
  for (const auto& model : pull::ListLibrary(TRY(pull::LibraryFolder()))) {
    if (!model.is_partial) console.Print("{}\n", Harmless(model.name));
  }
  return kExitOk;
}

Result<ExitStatus> List(bool json, Console& console) {
  const std::string folder = TRY(pull::LibraryFolder());
  const auto models = pull::ListLibrary(folder);
  if (json) {
    ordered_json all = {{"folder", folder}, {"models", ordered_json::array()}};
    for (const auto& model : models) all["models"].push_back(ToJson(model));
    console.Print("{}\n", all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return kExitOk;
  }
  if (models.empty()) {
    console.Note("no model was pulled yet: aster pull hf:ORG/REPO");
    return kExitOk;
  }
  Table table(
      {Table::Align::kLeft, Table::Align::kRight, Table::Align::kLeft, Table::Align::kLeft});
  for (const auto& model : models) {
    table.AddRow({Harmless(model.name), FormatBytes(model.size_bytes), Harmless(KindOf(model)),
                  Harmless(model.source)});
  }
  console.Write(table.Render(0));
  return kExitOk;
}

// By its name; also an unfinished download, which no other command finds.
Result<pull::LibraryModel> FindToRemove(const std::string& folder, const std::string& name) {
  for (const auto& model : pull::ListLibrary(folder)) {
    if (model.name == name) return model;
  }
  return pull::FindInLibrary(folder, name);
}

Result<ExitStatus> Remove(const std::string& name, Console& console) {
  const auto model = TRY(FindToRemove(TRY(pull::LibraryFolder()), name));
  TRY(pull::RemoveFromLibrary(model));
  console.Note(fmt::format("removed {}, {}", Harmless(model.name), FormatBytes(model.size_bytes)));
  return kExitOk;
}

}  // namespace

Run DeclareList(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  auto names = std::make_shared<bool>(false);
  CLI::Option* const as_json = app.add_flag("--json", *json, "Print one JSON document");
  app.add_flag("--names", *names, "Names only, one a line, built-in models included")
      ->excludes(as_json);
  return [json, names](Console& console) {
    return *names ? ListNames(console) : List(*json, console);
  };
}

Run DeclareRemove(CLI::App& app) {
  auto name = std::make_shared<std::string>();
  app.add_option("name", *name, "Name or source of a model, as 'aster list' shows it")
      ->required()
      ->type_name("MODEL");
  return [name](Console& console) { return Remove(*name, console); };
}

}  // namespace aster::cli
