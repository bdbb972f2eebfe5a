// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/eval/eval_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <unordered_map>

#include "base/utf8.h"
#include "chat/prompt.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/seconds.h"
#include "eval/asker.h"
#include "eval/result_file.h"
#include "eval/score.h"
#include "open/load_tokenizer.h"
#include "open/model_files.h"
#include "open/model_identity.h"
#include "open/open_model.h"

namespace aster::cli {
namespace {

using eval::Question;
using eval::QuestionResult;

// Everything that changes replies; threads and how many are asked at once do not.
std::map<std::string, std::string> SettingsOf(const EvalOptions& options,
                                              const engine::SamplingOptions& sampling,
                                              uint32_t context) {
  std::map<std::string, std::string> settings = {
      {"max_tokens", fmt::format("{}", options.max_tokens)},
      {"context", fmt::format("{}", context)},
      {"kv_type", options.model.kv_type},
      {"kv_window", fmt::format("{}", options.model.kv_window)},
      {"kv_sinks", fmt::format("{}", options.model.kv_sinks)},
      {"temperature", fmt::format("{}", sampling.temperature)},
      {"repetition_penalty", fmt::format("{}", sampling.repetition_penalty)},
      {"presence_penalty", fmt::format("{}", sampling.presence_penalty)},
      {"frequency_penalty", fmt::format("{}", sampling.frequency_penalty)},
      {"penalty_window", fmt::format("{}", sampling.penalty_window)}};
  std::string biases;
  for (const engine::TokenBias& bias : sampling.biases) {
    biases += fmt::format("{}{}={}", biases.empty() ? "" : ",", bias.id, bias.bias);
  }
  if (!biases.empty()) settings["logit_bias"] = biases;
  // Of nodes, where they make it other bits than one machine's.
  if (options.cluster.rows != "f32") settings["wire"] = options.cluster.rows;
  if (options.cluster.kv_wire != "exact") settings["kv_wire"] = options.cluster.kv_wire;
  if (sampling.temperature == 0) return settings;
  settings["seed"] = fmt::format("{}", sampling.seed);
  settings["top_k"] = fmt::format("{}", sampling.top_k);
  settings["top_p"] = fmt::format("{}", sampling.top_p);
  settings["min_p"] = fmt::format("{}", sampling.min_p);
  settings["typical_p"] = fmt::format("{}", sampling.typical_p);
  return settings;
}

QuestionResult ResultOf(const Question& question, const eval::Reply& reply) {
  // What is judged is what stands in the file: bytes that are no characters cannot.
  const std::string text = ToValidUtf8(reply.text);
  QuestionResult result{.id = question.id,
                        .category = question.category,
                        .prompt_tokens = reply.counts.prompt,
                        .reply_tokens = reply.counts.generated,
                        .reply = text,
                        .expected = question.answer,
                        .right = eval::IsRight(text, question.answer, question.extract),
                        .finish = std::string(engine::FinishReasonName(reply.reason)),
                        .waited_s = Seconds(reply.times.waited_ns),
                        .prefill_s = Seconds(reply.times.prefill_ns),
                        .decode_s = Seconds(reply.times.decode_ns)};
  const auto found = eval::FindAnswer(text, question.extract);
  if (found) result.extracted = std::string(*found);
  return result;
}

// One model on its way through the questions.
class Evaluator {
 public:
  Evaluator(const EvalOptions& options, const eval::QuestionSet& set,
            std::span<const size_t> chosen, Console& console)
      : options_(options), set_(set), chosen_(chosen), console_(console) {}

  Result<Evaluation> Run(const std::string& path, const std::string& out_path) {
    evaluation_.model = path;
    evaluation_.wanted = chosen_.size();
    const gguf::ModelFiles files = TRY(open::OpenModelFiles({path}, options_.cluster));
    tokenizer_ = TRY(open::LoadTokenizer(files, path, console_));
    const model::Shape shape = TRY(model::ReadShape(files.metadata()));
    settings_.sampling = TRY(options_.sampling.ForEngine(shape.vocab_size, /*default_seed=*/0));
    settings_.max_tokens = options_.max_tokens;
    settings_.draft = options_.draft.ForEngine();
    evaluation_.context = options_.context == 0 ? shape.context_length
                                                : std::min(options_.context, shape.context_length);
    settings_.context_limit = evaluation_.context;
    TRY(OpenResults(files, path, out_path));
    TRY(Prepare(files).In(path));
    if (!prompts_.empty()) TRY(Ask(files));
    Sort();
    return std::move(evaluation_);
  }

 private:
  Status OpenResults(const gguf::ModelFiles& files, const std::string& path,
                     const std::string& out_path) {
    evaluation_.header = {
        .model = std::filesystem::path(path).filename().string(),
        .fingerprint = TRY(open::FingerprintOf(files, console_)).ToHex(),
        .questions = set_.hash.ToHex(),
        .settings = SettingsOf(options_, settings_.sampling, evaluation_.context)};
    for (size_t i = 0; i < chosen_.size(); ++i) place_.emplace(IdOf(i), i);
    if (out_path.empty()) return Ok();
    file_ = TRY(eval::ResultFile::Open(out_path, evaluation_.header));
    for (const QuestionResult& result : file_->earlier()) {
      if (!place_.contains(result.id)) continue;  // of a run with more questions
      evaluation_.results.push_back(result);
      tally_.Add(result);
    }
    evaluation_.resumed = evaluation_.results.size();
    return Ok();
  }

  // Makes a prompt of each question that is still to be asked.
  Status Prepare(const gguf::ModelFiles& files) {
    chat_ = TRY(chat::ChatPrompt::Make(files.metadata(), *tokenizer_));
    if (!chat_->has_template()) {
      return FailedPrecondition(
          "this model has no chat template, which says how it is asked; evaluate one that has");
    }
    model_ = respond::ModelOf(*chat_);
    std::vector<bool> is_there(chosen_.size());
    for (const QuestionResult& result : evaluation_.results) is_there[place_.at(result.id)] = true;
    for (size_t i = 0; i < chosen_.size(); ++i) {
      if (is_there[i]) continue;
      const Question& question = set_.questions[chosen_[i]];
      respond::Prompt prompt = TRY(PromptOf(question).In(question.id));
      if (prompt.tokens.size() < evaluation_.context) {
        total_tokens_ += prompt.tokens.size();
        prompts_.push_back(std::move(prompt));
        question_of_prompt_.push_back(chosen_[i]);
        continue;
      }
      TRY(Take({.id = question.id,
                .category = question.category,
                .prompt_tokens = prompt.tokens.size(),
                .skipped = true}));
    }
    return Ok();
  }

  Result<respond::Prompt> PromptOf(const Question& question) const {
    respond::Conversation conversation;
    conversation.messages = question.messages;
    // A template that has no place for tools leaves them out.
    if (model_.dialect.has_tools) conversation.tools = question.tools;
    respond::Prompt prompt = TRY(respond::MakePrompt(model_, conversation));
    // What is judged is the text as the model writes it, calls and reasoning included.
    prompt.is_raw = true;
    return prompt;
  }

  Status Ask(const gguf::ModelFiles& files) {
    const SystemClock clock;
    const auto opened = TRY(open::OpenModel(files, tokenizer_.get(), clock,
                                            {.model = &options_.model,
                                             .cluster = &options_.cluster,
                                             .draft = &options_.draft,
                                             .max_running = options_.parallel},
                                            console_));
    const InterruptGuard guard;
    Progress progress(console_, clock, "", Progress::Unit::kTokens);
    const int64_t start_ns = clock.NowNs();
    eval::AskOptions ask{
        .parallel = options_.parallel, .model = model_, .settings = settings_, .on_reply = {}};
    uint64_t done_tokens = 0;
    ask.on_reply = [&](size_t index, const eval::Reply& reply) {
      done_tokens += prompts_[index].tokens.size();
      evaluation_.drafts += reply.counts.drafts;
      return Take(ResultOf(set_.questions[question_of_prompt_[index]], reply));
    };
    ask.is_cancelled = [] { return InterruptGuard::Interrupted(); };
    ask.on_step = [&] {
      progress.SetLabel(fmt::format("{}: {} of {}, {:.1f} % right", evaluation_.header.model,
                                    evaluation_.results.size(), chosen_.size(),
                                    100 * tally_.rate()));
      progress.Update(done_tokens, total_tokens_);
    };
    TRY(eval::AskAll(opened->generator(), prompts_, ask));
    TRY(opened->Save());
    evaluation_.seconds = Seconds(clock.NowNs() - start_ns);
    return Ok();
  }

  Status Take(QuestionResult result) {
    if (file_) TRY(file_->Add(result));
    tally_.Add(result);
    evaluation_.results.push_back(std::move(result));
    return Ok();
  }

  void Sort() {
    std::ranges::sort(evaluation_.results, {},
                      [&](const QuestionResult& result) { return place_.at(result.id); });
  }

  const std::string& IdOf(size_t i) const { return set_.questions[chosen_[i]].id; }

  const EvalOptions& options_;
  const eval::QuestionSet& set_;
  const std::span<const size_t> chosen_;
  Console& console_;
  Evaluation evaluation_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::optional<chat::ChatPrompt> chat_;
  respond::Model model_;
  respond::Settings settings_;
  std::optional<eval::ResultFile> file_;
  std::unordered_map<std::string_view, size_t> place_;  // of an id, in chosen_
  std::vector<respond::Prompt> prompts_;
  std::vector<size_t> question_of_prompt_;
  uint64_t total_tokens_ = 0;  // of the prompts
  eval::Tally tally_;
};

}  // namespace

Result<Evaluation> Evaluate(const EvalOptions& options, const std::string& path,
                            const eval::QuestionSet& set, std::span<const size_t> chosen,
                            const std::string& out_path, Console& console) {
  return Evaluator(options, set, chosen, console).Run(path, out_path);
}

}  // namespace aster::cli
