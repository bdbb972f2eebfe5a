// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster run: a model answers, once or in a conversation.
#include "cli/run/run_command.h"
#include "cli/run/offer_pull.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "base/files.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/model/model_kind.h"
#include "cli/options/token_ids.h"
#include "cli/run/chat_session.h"
#include "cli/run/reply_printer.h"
#include "cli/run/run_ensemble.h"
#include "cli/run/run_options.h"
#include "cli/run/run_report.h"
#include "cli/session/session_keeper.h"
#include "model/files/support.h"
#include "open/load_tokenizer.h"
#include "open/model_files.h"
#include "open/open_model.h"
#include "plan/alternatives.h"
#include "respond/chat.h"
#include "text/vocab_reader.h"

namespace aster::cli {
namespace {

constexpr const char* kNoTemplate =
    "this model carries no chat template: texts are continued as they are";
constexpr const char* kNoToolsWithoutTemplate =
    "--tools: this model has no chat template, which says how tools are called; use one that has";
constexpr const char* kNoReasoning =
    "--think changes nothing: this model's chat template has no reasoning effort";

// A model that is ready to answer, with all that it needs.
struct Loaded {
  std::unique_ptr<text::Tokenizer> tokenizer;  // null: only ids are used
  std::unique_ptr<chat::ChatPrompt> prompt;    // with the tokenizer
  respond::Model model;
  std::unique_ptr<open::OpenedModel> opened;
  respond::Settings settings;
  respond::Conversation base;  // the common part of all turns
  int64_t load_ns = 0;
};

// Loads tokenizer and template from the model's file, and checks whether they suffice.
Status LoadText(const RunOptions& options, const gguf::ModelFiles& files, uint32_t vocab_size,
                Loaded& loaded, Console& console) {
  loaded.tokenizer = TRY(open::LoadTokenizer(files, options.model.paths.front(), console));
  loaded.prompt = std::make_unique<chat::ChatPrompt>(
      TRY(chat::ChatPrompt::Make(files.metadata(), *loaded.tokenizer)));
  chat::ChatPrompt& prompt = *loaded.prompt;
  prompt.SetReasoningEffort(options.Effort());
  if (!options.think.empty() && !prompt.SupportsReasoningEffort())
    console.Complain("warning", kNoReasoning);
  if (options.raw) prompt.DropTemplate();
  const bool has_tools = loaded.base.offers_tools();
  if (has_tools && !prompt.has_template()) return Unimplemented(kNoToolsWithoutTemplate);
  if (!options.raw && options.ids_path.empty() && !prompt.has_template())
    console.Complain("note", kNoTemplate);
  loaded.model = options.has_form() || has_tools ? respond::ModelWithForms(prompt, vocab_size)
                                                 : respond::ModelOf(prompt);
  if (!has_tools) return Ok();
  // Unsupported tools are refused before the weights are read.
  respond::Conversation question = loaded.base;
  question.messages.push_back({{"role", "user"}, {"content", "a"}});
  TRY(respond::RenderPrompt(loaded.model, question));
  return Ok();
}

// The user's input, from wherever it was given; with ids there is no text.
struct PromptInput {
  std::string text;
  std::vector<int32_t> ids;
};

// The tokens of the first prompt in advance; empty if unknown.
std::vector<int32_t> TokensOf(const RunOptions& options, const Loaded& loaded,
                              const PromptInput& input) {
  if (!input.ids.empty()) return input.ids;
  // A session's text precedes it.
  if (input.text.empty() || !options.session.empty() || loaded.prompt == nullptr) return {};
  if (!loaded.prompt->has_template()) {
    auto tokens = loaded.prompt->EncodeRaw(input.text, /*begins=*/true);
    return tokens.ok() ? *std::move(tokens) : std::vector<int32_t>();
  }
  respond::Conversation first = loaded.base;
  if (!options.system.empty())
    first.messages.push_back({{"role", "system"}, {"content", options.system}});
  first.messages.push_back({{"role", "user"}, {"content", input.text}});
  auto prompt = respond::MakePrompt(loaded.model, first);
  return prompt.ok() ? std::move(prompt->tokens) : std::vector<int32_t>();
}

// Options are checked first, as loading weights takes time.
Result<Loaded> Load(const RunOptions& options, const gguf::ModelFiles& files,
                    const PromptInput& input, const Clock& clock, bool is_kept, Console& console) {
  Loaded loaded;
  const model::Shape shape = TRY(model::ShapeOf(files));
  if (options.context > shape.context_length) {
    console.Complain("warning",
                     fmt::format("--ctx {}: the model was trained for {} tokens; text beyond them "
                                 "may be nonsense",
                                 options.context, shape.context_length));
  }
  loaded.base = TRY(options.Base());
  loaded.settings = TRY(options.Settings(shape.vocab_size));
  const bool needs_text = options.ids_path.empty() || !options.stops.empty() ||
                          options.has_form() || text::HasVocab(files.metadata());
  if (needs_text) TRY(LoadText(options, files, shape.vocab_size, loaded, console));
  const int64_t start_ns = clock.NowNs();
  open::ClusterOptions cluster = options.cluster;
  if (cluster.only_request) {
    cluster.only_tokens = TokensOf(options, loaded, input);
    if (!cluster.only_tokens.empty())
      cluster.only_request->prompt_tokens = static_cast<uint32_t>(cluster.only_tokens.size());
  }
  // Batches are small enough that Ctrl-C and progress take effect within a second.
  loaded.opened = TRY(open::OpenModel(files, loaded.tokenizer.get(), clock,
                                      {.model = &options.model,
                                       .cluster = &cluster,
                                       .draft = &options.draft,
                                       .batch_tokens = 256,
                                       .longest_step_ns = open::kLongestStepNs,
                                       .max_running = 1,
                                       .is_kept = is_kept},
                                      console));
  loaded.load_ns = clock.NowNs() - start_ns;
  return loaded;
}

Result<PromptInput> ReadPromptInput(const RunOptions& options) {
  PromptInput input;
  if (!options.ids_path.empty()) {
    input.ids = TRY(ReadIds(options.ids_path));
    return input;
  }
  input.text = TRY(options.ReadPrompt());
  if (input.text.empty()) {
    return InvalidArgument("the prompt is empty: give some text");
  }
  return input;
}

// Always reported: it is not the conversation that was saved.
void WarnOfDamage(const LoadedSession& session, Console& console) {
  if (!session.damage.empty()) console.Complain("warning", Harmless(session.damage));
}

// Shows the answer while it is made: to ids, or to the next question of a conversation, which is a
// session's or a new one.
Result<respond::Answered> AnswerTo(const RunOptions& options, const gguf::ModelFiles& files,
                                   const PromptInput& input, Loaded& loaded, Clock& clock,
                                   ReplyPrinter& printer, Console& console) {
  engine::Generator& generator = loaded.opened->generator();
  if (!input.ids.empty()) {
    engine::Sequence sequence = generator.NewSequence();
    return respond::Run(generator, sequence, loaded.model, loaded.settings,
                        respond::RawPrompt(input.ids, loaded.base.form), printer);
  }
  respond::Chat chat(generator, loaded.model, loaded.settings, loaded.base, options.system);
  if (!options.session.empty()) {
    SessionKeeper keeper =
        TRY(SessionKeeper::Make(files, options.model, generator, clock, console));
    const LoadedSession session = TRY(keeper.Load(options.session, chat, options.text_alone));
    if (!options.quiet) console.Note(Harmless(session.said));
    WarnOfDamage(session, console);
  }
  return chat.Ask(input.text, printer);
}

std::string FormatSeconds(double seconds) {
  return FormatDuration(static_cast<int64_t>(seconds * 1e9));
}

// KV rows that existed, or came from other nodes.
std::string ExplainRows(const plan::Alternative& planned, const conduct::RequestForecast& came) {
  const auto fetch = [](double seconds) {
    return seconds > 0 ? fmt::format(", some from other nodes in {}", FormatSeconds(seconds)) : "";
  };
  return fmt::format("KV rows: of {} tokens predicted{}; of {} tokens found{}", planned.held_tokens,
                     fetch(planned.fetch_s), came.held_tokens, fetch(came.actual_fetch_s));
}

// Predicted and actual times, and the predicted times of other kinds of plan.
void ExplainPlan(const open::OpenedModel& opened, const engine::RequestTimes& times,
                 Console& console) {
  const std::vector<plan::Alternative> alternatives = opened.alternatives();
  const std::vector<conduct::RequestForecast> forecasts = opened.forecasts();
  const conduct::RequestForecast last =
      forecasts.empty() ? conduct::RequestForecast() : forecasts.back();
  const auto fetch_ns = static_cast<int64_t>(last.actual_fetch_s * 1e9);
  for (const plan::Alternative& of : alternatives) {
    if (!of.is_taken) continue;
    console.Note(fmt::format(
        "{} was taken, with the first token predicted after {}, in all {}; it came after {}, in "
        "all {}",
        of.kind, FormatSeconds(of.first_token_s), FormatSeconds(of.request_s),
        FormatDuration(fetch_ns + times.prefill_ns),
        FormatDuration(fetch_ns + times.prefill_ns + times.decode_ns)));
    if (of.held_tokens > 0 || last.held_tokens > 0) console.Note(ExplainRows(of, last));
  }
  for (const std::string& line : plan::DescribeOthers(alternatives)) console.Note(line);
  if (alternatives.empty())
    console.Note(
        "no kinds of plan were compared: --split or --decode gave the plan, or rates are not "
        "known");
}

Status TellAnswer(const RunOptions& options, const Loaded& loaded,
                  const respond::Answered& answered, Console& console) {
  const engine::Finish& finish = answered.generated.finish;
  if (options.json) {
    const RunReport report = {.model = options.model.paths.front(),
                              .seed = loaded.settings.sampling.seed,
                              .load_ns = loaded.load_ns,
                              .answered = &answered,
                              .kv_cache = loaded.opened->kv_cache(),
                              .fetched = loaded.opened->fetched(),
                              .kv_transfers = loaded.opened->kv_transfers(),
                              .hops = loaded.opened->hops().hops,
                              .forecasts = loaded.opened->forecasts(),
                              .alternatives = options.explain ? loaded.opened->alternatives()
                                                              : std::vector<plan::Alternative>(),
                              .reasons = loaded.opened->hops().reasons,
                              .left_out = loaded.opened->left_out(),
                              .inexact = loaded.opened->inexact()};
    console.Print("{}\n",
                  RunToJson(report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return Ok();
  }
  TRY(console.Flush());
  if (options.quiet) return Ok();
  console.Note(DescribeRates(finish.counts, finish.times) +
               fmt::format("; ended by {}; seed {}", engine::FinishReasonName(finish.reason),
                           loaded.settings.sampling.seed));
  if (const std::string work = loaded.opened->DescribeWork(); !work.empty()) console.Note(work);
  if (options.explain) ExplainPlan(*loaded.opened, finish.times, console);
  return Ok();
}

// What is known about the request before there is a tokenizer.
open::ExpectedRequest Expected(const RunOptions& options, const PromptInput& input) {
  constexpr size_t kBytesOfToken = 4, kMostTokens = 1 << 20, kUsualAnswer = 256;
  const size_t prompt = input.ids.size() + input.text.size() / kBytesOfToken;
  const size_t answer = options.max_tokens.value_or(kUsualAnswer);
  return {.prompt_tokens = static_cast<uint32_t>(std::clamp(prompt, size_t{1}, kMostTokens)),
          .answer_tokens = static_cast<uint32_t>(std::min(answer, kMostTokens))};
}

Result<ExitStatus> AnswerOnce(RunOptions options, const gguf::ModelFiles& files, Console& console) {
  const PromptInput input = TRY(ReadPromptInput(options));
  // The gain of draft tokens is not predicted.
  if (!options.draft.wanted()) options.cluster.only_request = Expected(options, input);
  SystemClock clock;
  Loaded loaded = TRY(Load(options, files, input, clock, !options.session.empty(), console));
  ReplyPrinter printer(console, clock,
                       {.is_silent = options.json, .shows_parts = options.shows_parts()});
  const respond::Answered answered =
      TRY(AnswerTo(options, files, input, loaded, clock, printer, console));
  if (!options.json && !printer.ends_line()) console.Print("\n");
  const Status saved = loaded.opened->Save();  // the answer is reported in any case
  TRY(TellAnswer(options, loaded, answered, console));
  TRY(saved);
  return kExitOk;
}

// For /model, and at the beginning of a conversation.
std::string DescribeModel(const RunOptions& options, const gguf::ModelFiles& files,
                          const respond::Chat& chat) {
  const std::string name = std::filesystem::path(options.model.paths.front()).stem().string();
  return fmt::format("{}: {}, context {} tokens", Harmless(name), Harmless(DescribeKind(files)),
                     chat.context_limit());
}

Result<ExitStatus> Converse(RunOptions options, const gguf::ModelFiles& files, Console& console) {
  // Of a turn; earlier ones are in the KV cache.
  constexpr open::ExpectedRequest kUsualTurn = {.prompt_tokens = 256, .answer_tokens = 256};
  if (!options.draft.wanted()) options.cluster.only_request = kUsualTurn;
  SystemClock clock;
  Loaded loaded = TRY(Load(options, files, /*input=*/{}, clock, /*is_kept=*/true, console));
  engine::Generator& generator = loaded.opened->generator();
  respond::Chat chat(generator, loaded.model, loaded.settings, loaded.base, options.system);
  // A conversation also works without a folder to save it in.
  auto keeper = SessionKeeper::Make(files, options.model, generator, clock, console);
  if (!options.session.empty()) {
    if (!keeper.ok()) return keeper.error();
    const LoadedSession session = TRY(keeper->Load(options.session, chat, options.text_alone));
    console.Print("{}\n", Harmless(session.said));
    WarnOfDamage(session, console);
  }
  // The expected next turn: its question, after the cached text, and an answer as long as earlier
  // ones.
  const auto before_turn = [&](const std::string& text) {
    if (!options.cluster.only_request) return;
    const respond::ChatTotals& totals = chat.totals();
    open::ExpectedRequest turn = Expected(options, {.text = text, .ids = {}});
    if (totals.answers > 0)
      turn.answer_tokens = static_cast<uint32_t>(totals.counts.generated / totals.answers);
    turn.held_tokens = chat.sequence().length();
    const auto changed = loaded.opened->PrepareTurn(turn);
    if (!changed.ok()) return console.Complain("warning", Harmless(changed.error().message()));
    if (*changed && !options.quiet) console.Note("another plan takes over: " + Harmless(**changed));
  };
  const auto with_keeper = [&](auto what) -> Result<std::string> {
    if (!keeper.ok()) return keeper.error();
    return what(*keeper);
  };
  TRY(RunChatSession(
      chat, clock,
      {.model = DescribeModel(options, files, chat),
       .tools = DescribeTools(loaded.base.tools),
       .vocab_size = loaded.opened->generator().shape().vocab_size,
       .history_path = options.HistoryPath(),
       .quiet = options.quiet,
       .shows_parts = options.shows_parts(),
       .before_turn = before_turn,
       .save =
           [&](const std::string& name) {
             return with_keeper([&](SessionKeeper& kept) { return kept.Save(name, chat); });
           },
       .load =
           [&](const std::string& name) {
             return with_keeper([&](SessionKeeper& kept) -> Result<std::string> {
               LoadedSession session = TRY(kept.Load(name, chat, /*text_alone=*/true));
               WarnOfDamage(session, console);
               return std::move(session.said);
             });
           }},
      console));
  TRY(loaded.opened->Save());
  return kExitOk;
}

// Finds the session before a model is loaded. If none is named, takes the session's, if that is a
// file that exists; nodes may have the one with that name.
Status FindSessionAndModel(RunOptions& options) {
  SystemClock clock;
  const disk::SessionFolder folder = TRY(UserSessions(clock));
  const auto open = folder.Open(options.session);
  if (!open.ok() && open.error().code() == Code::kNotFound) return open.error();
  // A text file has no model, and damage is reported later.
  if (!open.ok() || !options.model.paths.empty()) return Ok();
  const disk::SessionModel& model = open->session.model;
  std::error_code ignored;
  if (!options.cluster.cluster && !std::filesystem::exists(model.path, ignored)) {
    return NotFound(fmt::format(
        "the session {} belongs to the model {}, whose file {} does not exist: name the model, too",
        options.session, Harmless(model.name), Harmless(model.path)));
  }
  options.model.paths = {model.path};
  return Ok();
}

}  // namespace

Result<ExitStatus> RunModel(RunOptions options, Console& console) {
  // When its reader closes the pipe, the program ends silently, as usual.
  std::signal(SIGPIPE, SIG_DFL);
  if (options.ensemble.is_wanted()) return RunEnsemble(options, console);
  if (!options.session.empty()) TRY(FindSessionAndModel(options));
  if (options.explain && !options.cluster.wants_nodes()) {
    return InvalidArgument(
        "--explain: one machine alone has no plan to explain; give --cluster, --local-nodes, or "
        "--ensemble");
  }
  TRY(OfferPull(options.model, console));
  TRY(options.model.Find());
  const gguf::ModelFiles files = TRY(open::OpenModelFiles(options.model.paths, options.cluster));
  const bool has_prompt =
      options.prompt || !options.prompt_path.empty() || !options.ids_path.empty();
  if (has_prompt || isatty(STDIN_FILENO) == 0)
    return AnswerOnce(std::move(options), files, console);
  if (options.json)
    return InvalidArgument("--json needs a prompt: give -p, or one on standard input");
  return Converse(std::move(options), files, console);
}

Run DeclareRun(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  options->Declare(app);
  app.footer(
      "Without a prompt, at a terminal: a conversation; /help there says more. Otherwise one "
      "answer to the prompt, which\n"
      "is a user's message if the model has a chat template, or a text to continue (--raw, or no "
      "template).\n"
      "  aster run\n"
      "  aster run m.gguf -p 'Why is the sky blue?' -n 200 --temp 0.7\n"
      "  aster run m.gguf -p 'Once upon a time' -n 64 --temp 0 --raw --json\n"
      "  aster run m.gguf --system 'Answer in French.' < question.txt\n"
      "  aster run m.gguf -p 'What is 17 * 23?' --tools tools.json\n"
      "  aster run m.gguf -p 'Name a city.' --json-schema city.json\n"
      "  aster run --ensemble nova,pulsar -p 'What is 12 * 3?' --explain");
  return [options](Console& console) { return RunModel(*options, console); };
}

}  // namespace aster::cli
