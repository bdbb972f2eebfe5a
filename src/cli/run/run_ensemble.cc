// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/run/run_ensemble.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "cli/run/run_report.h"
#include "cli/terminal/seconds.h"
#include "ensemble/ensemble.h"
#include "ensemble/explanation.h"
#include "ensemble/open_members.h"

namespace aster::cli {
namespace {

Status CheckEnsemble(const RunOptions& options) {
  const bool has_prompt = options.prompt || !options.prompt_path.empty();
  if (!has_prompt && isatty(STDIN_FILENO) != 0)
    return InvalidArgument("--ensemble answers one prompt: give -p, or one on standard input");
  if (!options.sampling.biases.empty())
    return InvalidArgument("--logit-bias names tokens of one vocabulary: leave it out");
  return Ok();
}

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

std::string NameOf(const ensemble::Answer& answer) {
  std::string name;
  for (const ensemble::Part& part : answer.parts) name += (name.empty() ? "" : "+") + part.member;
  return name;
}

void PrintJson(const ensemble::Answer& answer, uint64_t seed, int64_t load_ns, Console& console) {
  nlohmann::ordered_json json = RunToJson(
      {.model = NameOf(answer), .seed = seed, .load_ns = load_ns, .answered = &answer.answered});
  json["ensemble"] = ensemble::ExplanationToJson(answer);
  console.Print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

Status PrintAnswer(const RunOptions& options, const ensemble::Answer& answer, uint64_t seed,
                   int64_t answer_ns, Console& console) {
  const engine::Generated& generated = answer.answered.generated;
  console.Print("{}{}", generated.text, generated.text.ends_with('\n') ? "" : "\n");
  TRY(console.Flush());
  if (options.explain) {
    console.Note(Harmless(ensemble::Explain(answer)));
  } else {
    for (const ensemble::Part& part : answer.parts) {
      if (part.absence)
        console.Complain("warning", fmt::format("without {}: {}", Harmless(part.member),
                                                Harmless(part.absence->message())));
    }
  }
  if (options.quiet) return Ok();
  const engine::RequestCounts& counts = generated.finish.counts;
  console.Note(fmt::format(
      "{} members: prompts {} tokens, answers {} tokens, {:.2f} s; taken from {}; seed {}",
      answer.parts.size(), counts.prompt, counts.generated, Seconds(answer_ns),
      Harmless(answer.author()), seed));
  return Ok();
}

}  // namespace

Result<ExitStatus> RunEnsemble(const RunOptions& options, Console& console) {
  TRY(CheckEnsemble(options));
  const std::string text = TRY(options.ReadPrompt());
  if (text.empty()) return InvalidArgument("the prompt is empty: give some text");
  // The members, each with its own template and vocabulary.
  SystemClock clock;
  const int64_t start_ns = clock.NowNs();
  ensemble::MemberOptions members = options.ensemble.members;
  members.thinking = options.Thinking();
  members.has_forms = options.has_form() || !options.tools_path.empty();
  auto opened = TRY(ensemble::OpenMembers::Open(members,
                                                {.model = &options.model,
                                                 .cluster = &options.cluster,
                                                 .draft = &options.draft,
                                                 .batch_tokens = 256,
                                                 .max_running = 8},
                                                clock, console));
  // The question, and what they answer together.
  ensemble::Question question = TRY(QuestionOf(options, text, opened.smallest_vocab()));
  const uint64_t seed = question.settings.sampling.seed;
  const int64_t loaded_ns = clock.NowNs();
  ensemble::Ensemble ensemble(opened.members(), clock, options.ensemble.ForEnsemble());
  const ensemble::Answer answer = TRY(ensemble::AnswerOne(ensemble, std::move(question)));
  if (options.json) {
    PrintJson(answer, seed, loaded_ns - start_ns, console);
  } else {
    TRY(PrintAnswer(options, answer, seed, clock.NowNs() - loaded_ns, console));
  }
  TRY(opened.Save());
  return kExitOk;
}

}  // namespace aster::cli
