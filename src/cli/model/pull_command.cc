// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster pull: downloads a model from a hub or a URL to this machine's disk.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/model/pull_progress.h"
#include "cli/terminal/console.h"
#include "open/builtin_models.h"

namespace aster::cli {
namespace {

struct PullFlags {
  std::string source;
  std::string folder;
  std::string token_path;
  bool json = false;
};

void Print(const pull::Pulled& pulled, bool json, Console& console) {
  if (json) {
    const nlohmann::ordered_json all = {
        {"paths", pulled.paths}, {"bytes", pulled.size_bytes}, {"was_here", pulled.was_here}};
    console.Print("{}\n", all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  for (const std::string& path : pulled.paths) console.Print("{}\n", Harmless(path));
  console.Note(fmt::format("{}{}", FormatBytes(pulled.size_bytes),
                           pulled.was_here ? ", all of it here already" : ""));
}

Result<ExitStatus> PullFor(const PullFlags& flags, Console& console) {
  for (const std::string_view name : open::BuiltinModels()) {
    if (flags.source != name) continue;
    return InvalidArgument(
        fmt::format("{} comes with aster: run it with 'aster run {}'", name, name));
  }
  const auto source = TRY(pull::ParseSource(flags.source));
  Print(TRY(PullModel(source, flags.folder, flags.token_path, console)), flags.json, console);
  return kExitOk;
}

}  // namespace

Run DeclarePull(CLI::App& app) {
  auto flags = std::make_shared<PullFlags>();
  app.add_option(
         "source", flags->source,
         "hf:ORG/REPO, hf:ORG/REPO:QUANTISATION, hf:ORG/REPO:FILE.gguf, or the address of a "
         ".gguf file; of a split model, any part")
      ->required()
      ->type_name("SOURCE");
  app.add_option("--to", flags->folder,
                 "Folder for the files (default: where aster looks for models)")
      ->type_name("FOLDER");
  app.add_option("--token-file", flags->token_path, "File with the hub's token (default: HF_TOKEN)")
      ->type_name("FILE");
  app.add_flag("--json", flags->json, "Print one JSON document");
  app.footer(
      "Run the command again to resume an interrupted download. https_proxy, http_proxy and "
      "no_proxy\n"
      "name proxies, ASTER_HUB or HF_ENDPOINT another hub.");
  return [flags](Console& console) { return PullFor(*flags, console); };
}

}  // namespace aster::cli
