// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/run/run_ensemble.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "cli/run/chat_session.h"
#include "cli/run/reply_printer.h"
#include "cli/run/run_report.h"
#include "cli/terminal/seconds.h"
#include "ensemble/ensemble.h"
#include "ensemble/ensemble_chat.h"
#include "ensemble/explanation.h"
#include "ensemble/open_members.h"

namespace aster::cli {
namespace {

Result<ensemble::Question> QuestionOf(const RunOptions& options, const std::string& text,
                                      uint32_t vocab_size) {
  ensemble::Question question{.conversation = TRY(options.Base()),
                              .settings = TRY(options.Settings(vocab_size))};
  nlohmann::ordered_json& messages = question.conversation.messages;
  if (!options.system.empty())
    messages.push_back({{"role", "system"}, {"content", options.system}});
  messages.push_back({{"role", "user"}, {"content", text}});
  return question;
}

std::string NameOf(const std::vector<ensemble::Member>& members) {
  std::string name;
  for (const ensemble::Member& member : members) name += (name.empty() ? "" : "+") + member.name;
  return name;
}

void PrintJson(const std::string& name, const ensemble::Answer& answer, uint64_t seed,
               int64_t load_ns, Console& console) {
  nlohmann::ordered_json json =
      RunToJson({.model = name, .seed = seed, .load_ns = load_ns, .answered = &answer.answered});
  json["ensemble"] = ensemble::ExplanationToJson(answer);
  console.Print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

// Why the answer was taken, or at least which members are missing.
void PrintAnswerParts(const RunOptions& options, const ensemble::Answer& answer, Console& console) {
  if (options.explain) return console.Note(Harmless(ensemble::Explain(answer)));
  for (const ensemble::Part& part : answer.parts) {
    if (part.absence)
      console.Complain("warning", fmt::format("without {}: {}", Harmless(part.member),
                                              Harmless(part.absence->message())));
  }
}

Status TellAnswer(const RunOptions& options, const ensemble::Answer& answer, uint64_t seed,
                  int64_t answer_ns, Console& console) {
  TRY(console.Flush());
  PrintAnswerParts(options, answer, console);
  if (options.quiet) return Ok();
  const engine::RequestCounts& counts = answer.answered.generated.finish.counts;
  console.Note(
      fmt::format("{} members: prompts {} tokens, answers {} tokens, {:.2f} s; {} {}; seed {}",
                  answer.parts.size(), counts.prompt, counts.generated, Seconds(answer_ns),
                  answer.policy == ensemble::Policy::kChoose ? "taken from" : "written by",
                  Harmless(ensemble::Authors(answer)), seed));
  return Ok();
}

Result<ensemble::OpenMembers> OpenAll(const RunOptions& options, const Clock& clock,
                                      Console& console) {
  // Each with its own template and vocabulary.
  ensemble::MemberOptions members = TRY(options.ensemble.Members());
  members.effort = options.Effort();
  members.has_forms = options.shows_parts();
  return ensemble::OpenMembers::Open(members,
                                     {.model = &options.model,
                                      .cluster = &options.cluster,
                                      .draft = &options.draft,
                                      .batch_tokens = 256,
                                      .max_running = 8},
                                     clock, console);
}

// Shows the answer. When it returns, members have no threads any more.
Result<ensemble::Answer> AnswerBy(const ensemble::OpenMembers& opened, const RunOptions& options,
                                  const ensemble::Question& question, Clock& clock,
                                  Console& console) {
  ensemble::Ensemble ensemble(opened.members(), clock, options.ensemble.ForEnsemble());
  ReplyPrinter printer(console, clock,
                       {.is_silent = options.json, .shows_parts = options.shows_parts()});
  // Text that is certain is shown at once.
  ensemble::OnPiece on_piece = [&](const ensemble::AnswerPiece& piece) {
    printer.OnPiece({.text = piece.text, .events = piece.events, .tokens = piece.tokens});
  };
  ensemble::Answer answer =
      TRY(ensemble::AnswerOne(ensemble, question, /*is_cancelled=*/nullptr, std::move(on_piece)));
  ensemble::Tell(answer, printer);
  if (!options.json && !printer.ends_line()) console.Print("\n");
  return answer;
}

Result<ExitStatus> AnswerTogether(const RunOptions& options, Console& console) {
  const std::string text = TRY(options.ReadPrompt());
  if (text.empty()) return InvalidArgument("the prompt is empty: give some text");
  SystemClock clock;
  const int64_t start_ns = clock.NowNs();
  auto opened = TRY(OpenAll(options, clock, console));
  // The question, and their common answer.
  const ensemble::Question question = TRY(QuestionOf(options, text, opened.smallest_vocab()));
  const uint64_t seed = question.settings.sampling.seed;
  const int64_t loaded_ns = clock.NowNs();
  const ensemble::Answer answer = TRY(AnswerBy(opened, options, question, clock, console));
  if (options.json) {
    PrintJson(NameOf(opened.members()), answer, seed, loaded_ns - start_ns, console);
  } else {
    TRY(TellAnswer(options, answer, seed, clock.NowNs() - loaded_ns, console));
  }
  TRY(opened.Save());
  return kExitOk;
}

Result<std::string> RefuseToKeep(const std::string& /*name*/) {
  return Unimplemented(
      "a conversation of an ensemble cannot be saved or loaded; run one of its members alone");
}

Status TalkWith(const ensemble::OpenMembers& opened, const RunOptions& options, Clock& clock,
                Console& console) {
  const uint32_t context =
      options.context == 0 ? opened.context() : std::min(options.context, opened.context());
  const respond::Conversation base = TRY(options.Base());
  ensemble::Ensemble ensemble(opened.members(), clock, options.ensemble.ForEnsemble());
  ensemble::EnsembleChat chat(ensemble, TRY(options.Settings(opened.smallest_vocab())), base,
                              options.system, context);
  return RunChatSession(
      chat, clock,
      {.model = fmt::format("{}: an ensemble, context {} tokens",
                            Harmless(NameOf(opened.members())), context),
       .tools = DescribeTools(base.tools),
       .vocab_size = opened.smallest_vocab(),
       .history_path = options.HistoryPath(),
       .has_vocabularies = true,
       .quiet = options.quiet,
       .shows_parts = options.shows_parts(),
       .tell_more = [&] { PrintAnswerParts(options, *chat.last_answer(), console); },
       .save = RefuseToKeep,
       .load = RefuseToKeep},
      console);
}

Result<ExitStatus> ConverseTogether(const RunOptions& options, Console& console) {
  SystemClock clock;
  auto opened = TRY(OpenAll(options, clock, console));
  TRY(TalkWith(opened, options, clock, console));
  TRY(opened.Save());
  return kExitOk;
}

}  // namespace

Result<ExitStatus> RunEnsemble(const RunOptions& options, Console& console) {
  if (!options.sampling.biases.empty())
    return InvalidArgument("--logit-bias names tokens of one vocabulary: leave it out");
  const bool has_prompt = options.prompt || !options.prompt_path.empty();
  if (has_prompt || isatty(STDIN_FILENO) == 0) return AnswerTogether(options, console);
  if (options.json)
    return InvalidArgument("--json needs a prompt: give -p, or one on standard input");
  return ConverseTogether(options, console);
}

}  // namespace aster::cli
