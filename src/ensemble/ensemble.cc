// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/ensemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "ensemble/choosing.h"
#include "ensemble/mixing.h"
#include "ensemble/spans.h"
#include "ensemble/symbols.h"

namespace aster::ensemble {
namespace {

// How often events that are not posted are checked, such as a member's time limit.
constexpr int64_t kMomentNs = 20 * kNsPerMs;

}  // namespace

Status CheckMembers(const std::vector<Member>& members) {
  if (members.size() < 2) return InvalidArgument("an ensemble needs two members at least");
  double total = 0;
  for (const Member& member : members) {
    if (!std::isfinite(member.weight) || member.weight < 0) {
      return InvalidArgument(
          fmt::format("the weight of {} is {}; give 0 or more", member.name, member.weight));
    }
    total += member.weight;
  }
  if (total > 0) return Ok();
  return InvalidArgument("every weight is 0: give one member more than that");
}

Ensemble::Ensemble(std::vector<Member> members, Clock& clock, EnsembleOptions options)
    : clock_(clock),
      options_(options),
      members_(WithEngines(std::move(members))),
      spellings_(Spellings()) {
  CHECK(CheckMembers(members_).ok());
}

Ensemble::~Ensemble() {
  // Requests in flight refer to their members.
  questions_.clear();
  stepped_.clear();
  threaded_.clear();
}

std::vector<Member> Ensemble::WithEngines(std::vector<Member> members) {
  for (Member& member : members) {
    if (member.engine != nullptr) continue;
    CHECK(member.generator != nullptr);
    if (member.is_elsewhere) {
      threaded_.push_back(std::make_unique<ThreadedEngine>(*member.generator, clock_));
      member.engine = threaded_.back().get();
    } else {
      stepped_.push_back(std::make_unique<SteppedEngine>(*member.generator));
      member.engine = stepped_.back().get();
    }
  }
  return members;
}

std::vector<std::unique_ptr<const Spelling>> Ensemble::Spellings() const {
  std::vector<std::unique_ptr<const Spelling>> spellings;
  const bool has_bytes = options_.policy == Policy::kBytes || options_.policy == Policy::kAuto;
  if (!has_bytes || HaveOneVocabulary(members_)) return spellings;
  for (const Member& member : members_) {
    spellings.push_back(
        std::make_unique<const Spelling>(*member.model.tokenizer, member.engine->vocab_size()));
  }
  return spellings;
}

// If the policy does not suit the question, one member's answer is chosen.
Ensemble::Decided Ensemble::PolicyFor(const Question& question) const {
  const bool has_one_author = !CanBeSpans(question, members_);
  constexpr std::string_view kOneAuthor =
      "tool calls, reasoning and log-probabilities have one author";
  constexpr std::string_view kOneVocabulary = "structured output needs members of one vocabulary";
  switch (options_.policy) {
    case Policy::kChoose:
      return {Policy::kChoose};
    case Policy::kSpans:
      if (has_one_author) return {Policy::kChoose, kOneAuthor};
      return {Policy::kSpans};
    case Policy::kBytes:
      if (has_one_author) return {Policy::kChoose, kOneAuthor};
      if (!CanBeMixed(question, members_)) return {Policy::kChoose, kOneVocabulary};
      return {Policy::kBytes};
    case Policy::kAuto:
      break;
  }
  // By the results of the evaluation (docs/ensembles.md).
  if (question.text && CanBeMixed(question, members_))
    return {Policy::kBytes, "a text is continued best by all members together"};
  return {Policy::kChoose, "whole answers are compared better than their parts"};
}

std::shared_ptr<QuestionRun> Ensemble::Make(const Question& question) const {
  const auto [policy, reason] = PolicyFor(question);
  const QuestionContext context{.members = members_,
                                .clock = clock_,
                                .wait_ns = options_.wait_ns,
                                .policy_reason = reason,
                                .spellings = spellings_};
  switch (policy) {
    case Policy::kSpans:
      return MakeSpans(context, question, ++conversations_);
    case Policy::kBytes:
      return MakeMixing(context, question, ++conversations_);
    case Policy::kChoose:
    case Policy::kAuto:
      return MakeChoosing(context, question, ++conversations_);
  }
  return nullptr;
}

Result<std::shared_ptr<QuestionRun>> Ensemble::Prepare(const Question& question) const {
  auto asked = Make(question);
  if (!asked->is_askable()) return asked->NoAnswer();
  return asked;
}

void Ensemble::Ask(std::shared_ptr<QuestionRun> question, OnAnswer on_answer, OnPiece on_piece) {
  question->Begin(mailbox_, std::move(on_answer), std::move(on_piece));
  // No member's answer would wake the thread that waits for the next step.
  if (!question->is_askable()) mailbox_->Post([] {});
  questions_.push_back(std::move(question));
}

void Ensemble::Ask(const Question& question, OnAnswer on_answer, OnPiece on_piece) {
  // If no member can take it, the next step reports that.
  Ask(Make(question), std::move(on_answer), std::move(on_piece));
}

void Ensemble::Cancel(QuestionRun& question) { question.Cancel(); }

void Ensemble::CancelAll() {
  for (const auto& asked : questions_) asked->Cancel();
}

void Ensemble::Step() {
  for (const auto& engine : stepped_) engine->Step();
  for (const Mailbox::Task& task : mailbox_->TakeAll()) task();
  // Listeners may ask more questions: the list may grow meanwhile.
  for (size_t i = 0; i < questions_.size(); ++i) {
    const std::shared_ptr<QuestionRun> asked = questions_[i];
    asked->Advance();
  }
  std::erase_if(questions_, [](const auto& asked) { return asked->is_answered(); });
}

void Ensemble::StepOrWait() {
  if (std::ranges::all_of(stepped_, [](const auto& engine) { return engine->is_idle(); }))
    mailbox_->Await(clock_, clock_.NowNs() + kMomentNs);
  Step();
}

Result<Answer> AnswerOne(Ensemble& ensemble, const Question& question,
                         const std::function<bool()>& is_cancelled, OnPiece on_piece) {
  std::optional<Result<Answer>> answer;
  ensemble.Ask(
      question, [&](Result<Answer> given) { answer = std::move(given); }, std::move(on_piece));
  while (!answer) {
    if (is_cancelled && is_cancelled()) ensemble.CancelAll();
    ensemble.StepOrWait();
  }
  return *std::move(answer);
}

}  // namespace aster::ensemble
