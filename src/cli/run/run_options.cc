// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/run/run_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/files.h"
#include "base/random.h"
#include "cli/options/cluster_options.h"
#include "cli/options/draft_options.h"
#include "cli/options/model_options.h"
#include "cli/options/ranges.h"
#include "cli/run/form_files.h"
#include "cli/terminal/console.h"
#include "engine/stops.h"

namespace aster::cli {
namespace {

constexpr const char* kPromptGroup = "Prompt";

}  // namespace

void RunOptions::Declare(CLI::App& app) {
  DeclareWithoutSession(app);
  CLI::Option* name = app.add_option("--session", session,
                                     "Session to continue: a name (aster session list), or a file");
  name->group(kPromptGroup)
      ->type_name("NAME")
      ->excludes(app.get_option("--ids"))
      ->excludes(app.get_option("--system"));
  app.get_option("--text")->needs(name);
  CLI::Option* members = DeclareEnsembleOptions(app, ensemble);
  for (const char* other : {"model", "--ids", "--raw", "--session"})
    members->excludes(app.get_option(other));
  app.add_flag("--explain", explain,
               "Print why this plan was chosen, and predicted times of others (on nodes), or "
               "which member wrote the answer and why it was taken (--ensemble)");
}

void RunOptions::DeclareWithoutSession(CLI::App& app) {
  DeclareModelOptions(app, model);
  DeclareKvCacheOptions(app, model.kv_cache);
  DeclareClusterOptions(app, cluster);
  const auto add = [&](const char* flag, auto& value, const char* text) {
    return app.add_option(flag, value, text)->group(kPromptGroup);
  };
  CLI::Option* text = add("-p,--prompt", prompt, "Text to answer or to continue");
  text->type_name("TEXT");
  CLI::Option* file =
      add("--prompt-file", prompt_path, "File with the text to answer or to continue");
  file->excludes(text)->type_name("FILE");
  CLI::Option* ids = add("--ids", ids_path, "File of token ids to continue; no token is added");
  ids->excludes(text)->excludes(file)->type_name("FILE");
  CLI::Option* system_text = add("--system", system, "System message");
  system_text->excludes(ids)->type_name("TEXT");
  CLI::Option* raw_flag =
      app.add_flag("--raw", raw, "Continue the text as it is, without the chat template");
  raw_flag->group(kPromptGroup)->excludes(system_text);
  add("--think", think, "Reasoning effort, if the model's chat template has one: off, high or max")
      ->check(CLI::IsMember({"off", "high", "max"}))
      ->excludes(ids)
      ->excludes(raw_flag)
      ->type_name("MODE");
  CLI::Option* grammar = add("--grammar", grammar_path, "Grammar (GBNF) that the answer follows");
  grammar->type_name("FILE");
  add("--json-schema", schema_path, "JSON schema that the answer follows")
      ->excludes(grammar)
      ->type_name("FILE");
  add("--tools", tools_path, "Tools that the model may call, as a JSON list in OpenAI's form")
      ->excludes(ids)
      ->excludes(raw_flag)
      ->type_name("FILE");
  app.add_flag("--text", text_alone,
               "Compute the text of another model's session again with this one")
      ->group(kPromptGroup);
  app.add_option("-n,--tokens", max_tokens, "Limit of the answer in tokens")
      ->check(OneOrMore())
      ->type_name("N");
  app.add_option("--ctx", context,
                 "Context length in tokens, for prompt and answer (default: as trained)")
      ->type_name("N");
  app.add_option("--stop", stops, "Text that ends the answer. Repeatable")
      ->allow_extra_args(false)
      ->type_name("TEXT");
  app.add_flag("--ignore-eos", ignore_eos, "Continue after tokens that end an answer");
  sampling.Declare(app);
  DeclareDraftOptions(app, draft);
  app.add_flag("--json", json, "Print one JSON document at the end");
  app.add_flag("-q,--quiet", quiet, "Do not print rates at the end");
  app.add_flag("--no-history", no_history, "Do not save typed lines");
}

Result<std::string> RunOptions::ReadPrompt() const {
  if (prompt) return *prompt;
  if (!prompt_path.empty()) return ReadFile(prompt_path, text::kMaxTextBytes);
  return ReadStream(stdin, "standard input", text::kMaxTextBytes);
}

std::string RunOptions::HistoryPath() const {
  if (no_history) return "";
  const auto folder = DataDirectory();
  if (!folder.ok() || !MakeDirectories(*folder).ok()) return "";
  return *folder + "/history";
}

chat::ReasoningEffort RunOptions::Effort() const {
  return think == "off"    ? chat::ReasoningEffort::kOff
         : think == "high" ? chat::ReasoningEffort::kHigh
         : think == "max"  ? chat::ReasoningEffort::kMax
                           : chat::ReasoningEffort::kDefault;
}

Result<respond::Settings> RunOptions::Settings(uint32_t vocab_size) const {
  respond::Settings settings;
  // This seed is exact also in programs that read JSON numbers as floats.
  settings.sampling = TRY(sampling.ForEngine(vocab_size, SystemSeed() >> 11));
  TRY(engine::CheckStopStrings(stops));
  settings.stops = stops;
  if (max_tokens) settings.max_tokens = *max_tokens;
  settings.ignores_end = ignore_eos;
  settings.context_limit = context;
  settings.draft = draft.ForEngine();
  return settings;
}

Result<respond::Conversation> RunOptions::Base() const {
  respond::Conversation base;
  if (has_form() && (think == "high" || think == "max")) {
    return InvalidArgument(fmt::format(
        "--think {}: an answer of a form (--json-schema, --grammar) comes without reasoning before "
        "it; leave out one of the two",
        think));
  }
  if (!grammar_path.empty()) base.form = TRY(ReadGrammarFile(grammar_path));
  if (!schema_path.empty()) {
    base.form = TRY(ReadSchemaFile(schema_path));
    respond::SetReasoning(false, base);
  }
  if (!tools_path.empty()) TRY(ReadToolsFile(tools_path, base));
  return base;
}

}  // namespace aster::cli
