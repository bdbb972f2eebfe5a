// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/eval/eval_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "chat/prompt.h"
#include "cli/eval/eval_record.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "eval/prompt_runner.h"
#include "model/files/support.h"
#include "open/load_tokenizer.h"
#include "open/model_files.h"
#include "open/model_identity.h"
#include "open/open_model.h"

namespace aster::cli {
namespace {

using eval::Question;

// One model that answers the questions.
class Evaluator {
 public:
  Evaluator(const EvalOptions& options, const eval::QuestionSet& set,
            std::span<const size_t> chosen, Console& console)
      : options_(options), set_(set), console_(console), record_(set, chosen) {}

  Result<Evaluation> Run(const std::string& path, const std::string& out_path) {
    const gguf::ModelFiles files = TRY(open::OpenModelFiles({path}, options_.cluster));
    tokenizer_ = TRY(open::LoadTokenizer(files, path, console_));
    const model::Shape shape = TRY(model::ShapeOf(files));
    settings_.sampling = TRY(options_.sampling.ForEngine(shape.vocab_size, /*default_seed=*/0));
    settings_.max_tokens = options_.max_tokens;
    settings_.draft = options_.draft.ForEngine();
    context_ = options_.context == 0 ? shape.context_length
                                     : std::min(options_.context, shape.context_length);
    settings_.context_limit = context_;
    TRY(OpenResults(files, path, out_path));
    TRY(Prepare(files).In(path));
    if (!prompts_.empty()) TRY(Ask(files));
    return record_.Take(path, context_);
  }

 private:
  Status OpenResults(const gguf::ModelFiles& files, const std::string& path,
                     const std::string& out_path) {
    return record_.Open({.model = std::filesystem::path(path).filename().string(),
                         .fingerprint = TRY(open::FingerprintOf(files, console_)).ToHex(),
                         .questions = set_.hash.ToHex(),
                         .settings = EvalSettings(options_, settings_.sampling, context_)},
                        out_path);
  }

  // Makes a prompt of each question that is still to be asked.
  Status Prepare(const gguf::ModelFiles& files) {
    chat_ = TRY(chat::ChatPrompt::Make(files.metadata(), *tokenizer_));
    if (!chat_->has_template()) {
      return FailedPrecondition(
          "this model has no chat template, which says how it is asked; evaluate one that has");
    }
    model_ = respond::ModelOf(*chat_);
    for (const size_t chosen : record_.Unanswered()) {
      const Question& question = set_.questions[chosen];
      respond::Prompt prompt = TRY(PromptOf(question).In(question.id));
      if (prompt.tokens.size() < context_) {
        total_tokens_ += prompt.tokens.size();
        prompts_.push_back(std::move(prompt));
        question_of_prompt_.push_back(chosen);
        continue;
      }
      TRY(record_.Add({.id = question.id,
                       .category = question.category,
                       .prompt_tokens = prompt.tokens.size(),
                       .skipped = true}));
    }
    return Ok();
  }

  Result<respond::Prompt> PromptOf(const Question& question) const {
    respond::Conversation conversation;
    conversation.messages = question.messages;
    // A template without tools ignores them.
    if (model_.dialect.has_tools) conversation.tools = question.tools;
    respond::Prompt prompt = TRY(respond::MakePrompt(model_, conversation));
    // The judged text is as the model writes it, with calls and reasoning.
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
    eval::PromptRunOptions run{
        .parallel = options_.parallel, .model = model_, .settings = settings_, .on_reply = {}};
    uint64_t done_tokens = 0;
    run.on_reply = [&](size_t index, const eval::Reply& reply) {
      done_tokens += prompts_[index].tokens.size();
      record_.CountDrafts(reply.counts.drafts);
      return record_.Add(ResultOf(set_.questions[question_of_prompt_[index]], reply));
    };
    run.is_cancelled = [] { return InterruptGuard::Interrupted(); };
    run.on_step = [&] {
      progress.SetLabel(record_.Progress());
      progress.Update(done_tokens, total_tokens_);
    };
    TRY(eval::RunPrompts(opened->generator(), prompts_, run));
    TRY(opened->Save());
    record_.CountTime(clock.NowNs() - start_ns);
    return Ok();
  }

  const EvalOptions& options_;
  const eval::QuestionSet& set_;
  Console& console_;
  EvalRecord record_;
  uint32_t context_ = 0;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::optional<chat::ChatPrompt> chat_;
  respond::Model model_;
  respond::Settings settings_;
  std::vector<respond::Prompt> prompts_;
  std::vector<size_t> question_of_prompt_;
  uint64_t total_tokens_ = 0;  // of the prompts
};

}  // namespace

Result<Evaluation> Evaluate(const EvalOptions& options, const std::string& path,
                            const eval::QuestionSet& set, std::span<const size_t> chosen,
                            const std::string& out_path, Console& console) {
  return Evaluator(options, set, chosen, console).Run(path, out_path);
}

}  // namespace aster::cli
