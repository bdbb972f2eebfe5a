// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster session: conversations saved with their KV cache.
#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <optional>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/run/run_command.h"
#include "cli/session/session_commands.h"
#include "cli/session/session_keeper.h"
#include "cli/terminal/console.h"

namespace aster::cli {
namespace {

constexpr Command kSessionCommands[] = {
    {"save", "Compute a text or a conversation once, and save it with its KV cache",
     DeclareSessionSave},
    {"load", "Continue a session, without computing it again", DeclareSessionLoad},
    {"list", "List sessions", DeclareSessionList},
    {"show", "Show a session", DeclareSessionShow},
    {"rm", "Remove sessions, and the pages that no other session has", DeclareSessionRemove},
    {"export", "Write a session as one self-contained file", DeclareSessionExport},
    {"import", "Import a file that export has written", DeclareSessionImport},
    {"move", "Move a session to another machine of the cluster", DeclareSessionMove},
};

constexpr const char* kNameText = "Name of the session, or a path with a slash";

}  // namespace

Run DeclareSession(CLI::App& app) {
  app.require_subcommand(1);
  app.footer(
      "  aster session save rules qwen.gguf --prompt-file rules.txt\n"
      "  aster session load rules\n"
      "  aster run --session rules -p 'May I keep a goat?'\n"
      "In a conversation, /save NAME and /load NAME do the same. docs/sessions.md describes the "
      "files.");
  auto runs = std::make_shared<std::map<const CLI::App*, Run>>();
  for (const Command& command : kSessionCommands) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    runs->emplace(sub, command.declare(*sub));
  }
  return
      [runs, &app](Console& console) { return runs->at(app.get_subcommands().front())(console); };
}

Run DeclareSessionLoad(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  CLI::Option* name =
      app.add_option("name", options->session, kNameText)->required()->type_name("NAME");
  options->DeclareWithoutSession(app);
  name->excludes(app.get_option("--ids"))->excludes(app.get_option("--system"));
  app.footer(
      "The default model is the session's own. A prompt (-p, --prompt-file or standard input) is "
      "answered, as with\n"
      "`aster run --session NAME`; without one the conversation goes on.");
  return [options](Console& console) { return RunModel(*options, console); };
}

Run DeclareSessionRemove(CLI::App& app) {
  auto names = std::make_shared<std::vector<std::string>>();
  app.add_option("names", *names, "Names of the sessions")->required()->type_name("NAME");
  return [names](Console& console) -> Result<ExitStatus> {
    SystemClock clock;
    disk::SessionFolder folder = TRY(UserSessions(clock));
    uint64_t bytes = 0;
    std::optional<Error> failed;
    for (const std::string& name : *names) {
      const auto removed = folder.Remove(name);
      if (removed.ok()) {
        bytes += *removed;
      } else if (!failed) {
        failed = removed.error();
      } else {
        console.Complain("error", Harmless(removed.error().message()));
      }
    }
    // The removed bytes are reported also after an error.
    if (bytes > 0 || !failed) console.Print("{} freed\n", FormatBytes(bytes));
    TRY(console.Flush());
    return failed ? Result<ExitStatus>(*std::move(failed)) : kExitOk;
  };
}

Run DeclareSessionExport(CLI::App& app) {
  struct Options {
    std::string name;
    std::string path;
  };
  auto options = std::make_shared<Options>();
  app.add_option("name", options->name, "Name of the session")->required()->type_name("NAME");
  app.add_option("file", options->path, "File to write")->required()->type_name("FILE");
  return [options](Console&) -> Result<ExitStatus> {
    SystemClock clock;
    TRY(TRY(UserSessions(clock)).Export(options->name, options->path));
    return kExitOk;
  };
}

Run DeclareSessionImport(CLI::App& app) {
  struct Options {
    std::string path;
    std::string name;
    bool force = false;
  };
  auto options = std::make_shared<Options>();
  app.add_option("file", options->path, "File to import")->required()->type_name("FILE");
  app.add_option("name", options->name, "Name of the session")->required()->type_name("NAME");
  app.add_flag("--force", options->force, "Replace a session of that name");
  return [options](Console&) -> Result<ExitStatus> {
    using IfThere = disk::SessionFolder::IfThere;
    SystemClock clock;
    const Status imported = TRY(UserSessions(clock))
                                .Import(options->path, options->name,
                                        options->force ? IfThere::kReplace : IfThere::kRefuse);
    if (!imported.ok() && imported.error().code() == Code::kAlreadyExists) {
      return Error(Code::kAlreadyExists,
                   imported.error().message() + "; give another name, or --force to replace it");
    }
    TRY(imported);
    return kExitOk;
  };
}

}  // namespace aster::cli
