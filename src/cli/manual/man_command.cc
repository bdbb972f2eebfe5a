// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster man: the manual page of a command, or a folder of all of them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/manual/manual_page.h"
#include "cli/terminal/console.h"

namespace aster::cli {
namespace {

struct ManOptions {
  std::vector<std::string> command;
  std::string folder;
};

Result<const CLI::App*> Find(const CLI::App& root, const std::vector<std::string>& words) {
  const CLI::App* at = &root;
  for (const std::string& word : words) {
    const CLI::App* next = nullptr;
    for (const CLI::App* sub : at->get_subcommands(nullptr)) {
      if (sub->get_name() == word) next = sub;
    }
    if (next == nullptr) {
      return NotFound(fmt::format("there is no command {}; aster --help lists them",
                                  Harmless(fmt::format("{}", fmt::join(words, " ")))));
    }
    at = next;
  }
  return at;
}

Status WriteAll(const CLI::App& root, const std::string& folder) {
  TRY(MakeDirectories(folder));
  for (const ManualPage& page : AllManualPages(root)) {
    TRY(WriteFileAtomically(folder + "/" + page.name + ".1", AsBytes(page.text)));
  }
  return Ok();
}

}  // namespace

Run DeclareMan(CLI::App& app) {
  auto options = std::make_shared<ManOptions>();
  CLI::Option* const command =
      app.add_option("command", options->command, "Command, such as run or cluster join")
          ->type_name("COMMAND");
  app.add_option("--folder", options->folder, "Folder for the pages of all commands, a file each")
      ->excludes(command)
      ->type_name("DIR");
  app.footer(
      "The page is roff, as man reads it:\n"
      "  aster man serve | man -l -");
  return [options, &app](Console& console) -> Result<ExitStatus> {
    const CLI::App& root = *app.get_parent();
    if (!options->folder.empty()) {
      TRY(WriteAll(root, options->folder));
    } else {
      console.Write(ManualPageOf(*TRY(Find(root, options->command))).text);
    }
    return kExitOk;
  };
}

}  // namespace aster::cli
