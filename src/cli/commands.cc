// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/commands.h"

#include <CLI/CLI.hpp>
#include <csignal>

#include "base/log.h"
#include "cli/terminal/console.h"

namespace aster::cli {
namespace {

constexpr std::string_view kFooter =
    "Every command explains itself: aster COMMAND --help\n"
    "Exit status: 0 done; 1 the answer is no; 2 wrong usage; 3 bad input; 4 not supported;\n"
    "             5 the machine refused; 70 a mistake in aster itself; 130 Ctrl-C.";

struct GlobalOptions {
  std::string color = "auto";
  std::string log_level = "warn";
  std::string log_format = "text";
};

void DeclareGlobalOptions(CLI::App& app, GlobalOptions& options) {
  app.add_option("--color", options.color, "Colours: auto means on a terminal")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN");
  app.add_option("--log-level", options.log_level, "Least important message to log")
      ->check(CLI::IsMember({"debug", "info", "warn", "error", "off"}))
      ->type_name("LEVEL");
  app.add_option("--log-format", options.log_format,
                 "Log lines for people (text) or programs (json)")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT");
}

Console::Color ColorNamed(const std::string& name) {
  if (name == "always") return Console::Color::kAlways;
  return name == "never" ? Console::Color::kNever : Console::Color::kAuto;
}

int RunChosen(const Run& run, const GlobalOptions& options) {
  Console console(stdout, stderr, ColorNamed(options.color));
  Result<ExitStatus> status = run(console);
  if (status.ok()) {
    if (Status flushed = console.Flush(); !flushed.ok()) status = std::move(flushed).error();
  }
  if (status.ok()) return *status;
  console.Complain("error", status.error().message());
  return ExitStatusOf(status.error());
}

constexpr Command kCommands[] = {
    {"run", "Let a model answer, once or in a conversation", DeclareRun},
    {"serve", "Answer programs, in the HTTP dialects that they speak", DeclareServe},
    {"session", "Keep conversations, and go on from them", DeclareSession},
    {"node", "Compute slices of models for other machines", DeclareNode},
    {"cluster", "Say which machines belong together", DeclareCluster},
    {"inspect", "Say what a model file is, and whether aster can run it", DeclareInspect},
    {"synth", "Write a model with random weights, for tests and benchmarks", DeclareSynth},
    {"plan", "Say what a model would take, by slice, before anybody has it", DeclarePlan},
    {"quantize", "Write a model with its weights in fewer bits", DeclareQuantize},
    {"template", "Show the prompt that a chat template makes of a conversation", DeclareTemplate},
    {"bench", "Measure how fast a model runs here, beside the machine's limits", DeclareBench},
    {"perplexity", "Measure how well a model foresees a text, or how far two differ",
     DeclarePerplexity},
    {"eval", "Ask models questions and count right answers, or compare two such counts",
     DeclareEval},
    {"verify", "Compute one text in every way there is and compare the bits", DeclareVerify},
    {"logits", "Write the logits behind every token of a text", DeclareLogits},
    {"tokenize", "Show what a model makes of a text, or turn tokens back into text",
     DeclareTokenize},
    {"completion", "Print the shell script that completes aster's commands and options",
     DeclareCompletion},
};

}  // namespace

std::span<const Command> AllCommands() { return kCommands; }

ExitStatus ExitStatusOf(const Error& error) {
  switch (error.code()) {
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kAlreadyExists:
    case Code::kFailedPrecondition:
    case Code::kOutOfRange:
    case Code::kDataLoss:
      return kExitInput;
    case Code::kUnimplemented:
      return kExitUnsupported;
    case Code::kInternal:
      return kExitInternal;
    default:
      return kExitSystem;
  }
}

int Main(int argc, char** argv) {
  // A file that must not grow further is like a disk that is full: an error, and not the end.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app(
      "Asterism makes a few ordinary machines behave like one good machine for running large "
      "language models.",
      "aster");
  app.footer(std::string(kFooter));
  app.set_version_flag("--version", "aster " ASTER_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  app.get_formatter()->column_width(34);

  GlobalOptions options;
  DeclareGlobalOptions(app, options);
  // A mistyped key is an error, in the tables of commands too.
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.set_config("--config", "", "Options from a TOML file, with a table for each command")
      ->type_name("FILE");
  std::map<const CLI::App*, Run> runs;
  for (const Command& command : AllCommands()) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    runs[sub] = command.declare(*sub);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version come this way too, with exit code 0.
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  log::Configure(log::ParseLevel(options.log_level).value(),
                 options.log_format == "json" ? log::Format::kJson : log::Format::kText);
  return RunChosen(runs.at(app.get_subcommands().front()), options);
}

}  // namespace aster::cli
