// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/commands.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>

#include "base/files.h"
#include "base/log.h"
#include "cli/terminal/console.h"
#include "cli/wrong_usage.h"

namespace aster::cli {
namespace {

constexpr std::string_view kFooter =
    "Options of a command: aster help COMMAND, or aster COMMAND --help\n"
    "Exit status: 0 done; 1 a check failed; 2 wrong usage; 3 bad input; 4 not supported;\n"
    "             5 refused by the system; 70 a bug in aster; 130 Ctrl-C.";

constexpr size_t kMaxConfigBytes = size_t{1} << 20;

struct GlobalOptions {
  std::string color = "auto";
  std::string log_level = "warn";
  std::string log_format = "text";
};

void DeclareGlobalOptions(CLI::App& app, GlobalOptions& options) {
  app.add_option("--color", options.color, "Colours; auto: on a terminal only")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN");
  app.add_option("--log-level", options.log_level, "Lowest level of log messages")
      ->check(CLI::IsMember({"debug", "info", "warn", "error", "off"}))
      ->type_name("LEVEL");
  app.add_option("--log-format", options.log_format, "Format of log lines")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT");
}

Console::Color ColorNamed(const std::string& name) {
  if (name == "always") return Console::Color::kAlways;
  return name == "never" ? Console::Color::kNever : Console::Color::kAuto;
}

// `aster help COMMAND` is `aster COMMAND --help`, and `aster version` is `aster --version`.
std::vector<std::string> WordsOf(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) return words;
  if (words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  } else if (words.front() == "version" && words.size() == 1) {
    words.front() = "--version";
  }
  return words;
}

// CLI11's message before a key that is not an option.
constexpr std::string_view kUnknownKey = "INI was not able to parse ";

// Explains why a command line cannot be run; help and version also come this way, without an error.
ExitStatus ExplainUsage(CLI::App& app, const CLI::ParseError& error,
                        const std::vector<std::string>& words) {
  Console console(stdout, stderr, Console::Color::kAuto);
  if (error.get_exit_code() == 0) {
    if (const auto unknown = DescribeUnknownCommand(app, words)) {
      console.Complain("error", *unknown);
      return kExitUsage;
    }
    app.exit(error);
    return kExitOk;
  }
  ConfigText config;
  if (app.get_config_ptr()->count() > 0) {
    config.path = app.get_config_ptr()->as<std::string>();
    if (auto text = ReadFile(config.path, kMaxConfigBytes); text.ok()) config.text = *text;
  }
  const std::string what = error.what();
  std::string why;
  if (what.starts_with(kUnknownKey)) {
    why = DescribeUnknownKey(app, what.substr(kUnknownKey.size()), config);
  } else {
    const auto mistyped = DescribeMistyped(app, words);
    why = mistyped ? *mistyped : DescribeWrongUse(app, words, what, config);
  }
  console.Complain("error", why);
  return kExitUsage;
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
    {"run", "Run a model: one answer, or a conversation", DeclareRun},
    {"serve", "Serve models over HTTP: APIs of OpenAI, Anthropic, Ollama, llama.cpp", DeclareServe},
    {"gateway", "Put several servers behind one address", DeclareGateway},
    {"session", "Save, load, move and list sessions (conversations with their KV cache)",
     DeclareSession},
    {"node", "Run a node: compute layers for the machines of a cluster", DeclareNode},
    {"cluster", "Make, join and show a cluster of machines", DeclareCluster},
    {"pull", "Download a model from a hub or an address", DeclarePull},
    {"list", "List the models that were pulled", DeclareList},
    {"rm", "Delete a model that was pulled", DeclareRemove},
    {"inspect", "Show what is in a model file, and whether aster can run it", DeclareInspect},
    {"synth", "Write a model with random weights, for tests and benchmarks", DeclareSynth},
    {"plan", "Print the memory that a model needs, or predict times of a request on a cluster",
     DeclarePlan},
    {"quantize", "Quantise a model", DeclareQuantize},
    {"template", "Render a chat template", DeclareTemplate},
    {"bench", "Measure prefill and decode rates beside the machine's roofline", DeclareBench},
    {"perplexity", "Measure perplexity, or the KL divergence of two models", DeclarePerplexity},
    {"eval", "Measure how many questions a model answers right, or compare two results",
     DeclareEval},
    {"verify", "Compute one text in every way there is and compare the bits", DeclareVerify},
    {"logits", "Write the logits of every position of a text", DeclareLogits},
    {"devices", "List the GPUs of this machine, and the results of their self-check",
     DeclareDevices},
    {"doctor", "Show what this machine can do, what is slow and why, and what to change",
     DeclareDoctor},
    {"embed", "Compute embeddings of texts", DeclareEmbed},
    {"tokenize", "Tokenize a text, or decode tokens", DeclareTokenize},
    {"completion", "Print a shell completion script", DeclareCompletion},
    {"man", "Print the manual page of a command", DeclareMan},
};

// The only command whose options these words may name, or null. Declaring the options of all
// commands takes most of a start; only a configuration file, completions and manual pages need
// them.
const Command* OnlyCommand(std::span<const std::string> words) {
  const auto names_config = [](const std::string& word) { return word.starts_with("--config"); };
  if (words.empty() || std::ranges::any_of(words, names_config)) return nullptr;
  const auto* const command = std::ranges::find_if(
      kCommands, [&](const Command& each) { return each.name == words.front(); });
  if (command == std::end(kCommands)) return nullptr;
  return command->declare == DeclareCompletion || command->declare == DeclareMan ? nullptr
                                                                                 : command;
}

// Adds the defaults to the help of a command and of its own commands, unless the text has them. A
// zero is shown only if the text explains it: otherwise it stands for "not given".
void DescribeDefaults(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string text = option->get_description();
    if (option->get_items_expected_max() == 0 || text.find("default") != std::string::npos)
      continue;
    option->capture_default_str();
    std::string value = option->get_default_str();
    option->default_str("");
    if (value.starts_with('[') && value.ends_with(']')) value = value.substr(1, value.size() - 2);
    const bool is_unset = value == "0" && text.find(" 0: ") == std::string::npos;
    if (value.empty() || value == "{}" || value == "\"\"" || is_unset) continue;
    option->description(fmt::format("{} (default: {})", text, value));
  }
  for (CLI::App* sub : app.get_subcommands(nullptr)) DescribeDefaults(*sub);
}

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
  // A file-size limit is an error like a full disk, and does not end the process.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app(
      "Asterism runs a large language model on several ordinary machines as if they were one.",
      "aster");
  app.footer(std::string(kFooter));
  app.set_version_flag("--version", "aster " ASTER_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  app.get_formatter()->column_width(34);

  GlobalOptions options;
  DeclareGlobalOptions(app, options);
  // A mistyped key is an error, also in the tables of commands.
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.set_config("--config", "", "TOML file of options, with a table for each command")
      ->type_name("FILE");
  const std::vector<std::string> words = WordsOf(argc, argv);
  const Command* const only = OnlyCommand(words);
  std::map<const CLI::App*, Run> runs;
  for (const Command& command : AllCommands()) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    if (only != nullptr && only != &command) continue;
    runs[sub] = command.declare(*sub);
    DescribeDefaults(*sub);
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    return ExplainUsage(app, error, words);
  }
  log::Configure(log::ParseLevel(options.log_level).value(),
                 options.log_format == "json" ? log::Format::kJson : log::Format::kText);
  return RunChosen(runs.at(app.get_subcommands().front()), options);
}

}  // namespace aster::cli
