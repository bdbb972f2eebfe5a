// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/eval/eval_ensemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "ensemble/ensemble.h"
#include "ensemble/open_members.h"

namespace aster::cli {
namespace {

// An ensemble that answers the questions.
class EnsembleEvaluator {
 public:
  EnsembleEvaluator(const EvalOptions& options, const eval::QuestionSet& set,
                    std::span<const size_t> chosen, Console& console)
      : options_(options), set_(set), console_(console), record_(set, chosen) {}

  Result<Evaluation> Run(const std::string& out_path) {
    opened_ = TRY(ensemble::OpenMembers::Open(TRY(options_.ensemble.Members()),
                                              {.model = &options_.model,
                                               .cluster = &options_.cluster,
                                               .draft = &options_.draft,
                                               .max_running = options_.parallel},
                                              clock_, console_));
    context_ =
        options_.context == 0 ? opened_->context() : std::min(options_.context, opened_->context());
    // A bias belongs to a token id, which means another token in every vocabulary.
    if (!options_.sampling.biases.empty())
      return InvalidArgument("--logit-bias names tokens of one vocabulary: leave it out");
    settings_.sampling =
        TRY(options_.sampling.ForEngine(opened_->smallest_vocab(), /*default_seed=*/0));
    settings_.max_tokens = options_.max_tokens;
    settings_.draft = options_.draft.ForEngine();
    settings_.context_limit = context_;
    TRY(record_.Open(TRY(Header()), out_path));
    unanswered_ = record_.Unanswered();
    if (!unanswered_.empty()) TRY(AskAll());
    TRY(opened_->Save());
    return record_.Take(Name(), context_);
  }

 private:
  std::string Name() const {
    std::string name;
    for (const ensemble::Member& member : opened_->members()) {
      name += (name.empty() ? "" : "+") + member.name;
    }
    return name;
  }

  Result<eval::ResultHeader> Header() const {
    auto settings = EvalSettings(options_, settings_.sampling, context_);
    settings["policy"] = options_.ensemble.policy;
    std::string weights;
    for (const ensemble::Member& member : opened_->members()) {
      weights += fmt::format("{}{}", weights.empty() ? "" : ",", member.weight);
    }
    settings["weights"] = weights;
    return eval::ResultHeader{.model = Name(),
                              .fingerprint = TRY(opened_->Fingerprint(console_)).ToHex(),
                              .questions = set_.hash.ToHex(),
                              .settings = std::move(settings)};
  }

  Status AskAll() {
    ensemble::Ensemble ensemble(opened_->members(), clock_, options_.ensemble.ForEnsemble());
    const InterruptGuard guard;
    Progress progress(console_, clock_, "", Progress::Unit::kTokens);
    const int64_t start_ns = clock_.NowNs();
    while (failed_.ok() && !InterruptGuard::Interrupted()) {
      for (; asked_ - answered_ < options_.parallel && asked_ < unanswered_.size(); ++asked_)
        Ask(unanswered_[asked_], ensemble);
      if (ensemble.idle()) break;
      ensemble.StepOrWait();
      progress.SetLabel(record_.Progress());
      progress.Update(answered_, unanswered_.size());
    }
    record_.CountTime(clock_.NowNs() - start_ns);
    is_over_ = true;
    WarnOfAbsences();
    return failed_;
  }

  void Ask(size_t number, ensemble::Ensemble& ensemble) {
    const eval::Question& question = set_.questions[number];
    ensemble::Question asked{.settings = settings_, .is_raw = true};
    asked.conversation.messages = question.messages;
    asked.conversation.tools = question.tools;
    ensemble.Ask(std::move(asked), [this, &question](Result<ensemble::Answer> answer) {
      if (is_over_) return;
      ++answered_;
      Status added = Add(question, std::move(answer));
      if (!added.ok() && failed_.ok()) failed_ = std::move(added).error().In(question.id);
    });
  }

  Status Add(const eval::Question& question, Result<ensemble::Answer> answer) {
    // Longer than every member's context, as with one model.
    if (!answer.ok() && answer.error().code() == Code::kOutOfRange) {
      return record_.Add({.id = question.id, .category = question.category, .skipped = true});
    }
    const ensemble::Answer given = TRY(std::move(answer));
    for (const ensemble::Part& part : given.parts) {
      if (part.absence) ++absences_[part.member + ": " + part.absence->message()];
    }
    const engine::Generated& generated = given.answered.generated;
    record_.CountDrafts(generated.finish.counts.drafts);
    return record_.Add(ResultOf(question, {.text = generated.text,
                                           .reason = generated.finish.reason,
                                           .counts = generated.finish.counts,
                                           .times = generated.finish.times}));
  }

  void WarnOfAbsences() {
    for (const auto& [what, count] : absences_) {
      console_.Complain("warning", fmt::format("{} of {} answers without {}", count, answered_,
                                               ForDisplay(what)));
    }
  }

  const EvalOptions& options_;
  const eval::QuestionSet& set_;
  Console& console_;
  SystemClock clock_;
  EvalRecord record_;
  std::optional<ensemble::OpenMembers> opened_;
  respond::Settings settings_;
  uint32_t context_ = 0;
  std::vector<size_t> unanswered_;
  size_t asked_ = 0;
  size_t answered_ = 0;
  bool is_over_ = false;  // later answers do not count
  Status failed_;
  std::map<std::string, uint64_t> absences_;
};

}  // namespace

Result<Evaluation> EvaluateEnsemble(const EvalOptions& options, const eval::QuestionSet& set,
                                    std::span<const size_t> chosen, const std::string& out_path,
                                    Console& console) {
  return EnsembleEvaluator(options, set, chosen, console).Run(out_path);
}

}  // namespace aster::cli
