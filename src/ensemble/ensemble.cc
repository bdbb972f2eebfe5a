// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/ensemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "ensemble/mixture.h"

namespace aster::ensemble {

// One question on its way: answers, then ratings, then the choice.
class Ensemble::Choosing {
 public:
  Choosing(const std::vector<Member>& members, const Clock& clock, int64_t wait_ns,
           Question question, OnAnswer on_answer)
      : members_(members),
        clock_(clock),
        wait_ns_(wait_ns),
        question_(std::move(question)),
        on_answer_(std::move(on_answer)) {
    for (const Member& member : members) {
      voices_.push_back(std::make_unique<Voice>(member, question_));
      if (member.weight > 0) voices_.back()->Ask(question_);
    }
  }

  bool is_busy() const {
    return std::ranges::any_of(voices_, [](const auto& voice) { return voice->is_busy(); });
  }
  bool is_answered() const { return phase_ == Phase::kDone; }

  // The member can do nothing any more.
  void Lose(size_t member, const Error& why) { voices_[member]->Leave(why); }
  void Cancel() {
    for (const auto& voice : voices_) voice->Leave(Cancelled());
    is_cancelled_ = true;
  }
  void Advance() {
    if (is_cancelled_ && phase_ != Phase::kDone) return Finish();
    for (const auto& voice : voices_) voice->EndIfComplete();
    if (phase_ == Phase::kAnswering && HasHeard()) BeginRating();
    if (phase_ == Phase::kRating && HasHeard()) Finish();
  }

 private:
  enum class Phase : uint8_t { kAnswering, kRating, kDone };

  static Error Cancelled() { return {Code::kCancelled, "the question was cancelled"}; }

  // Whether no voice is waited for: all are through, or have had their time since the first was.
  bool HasHeard() {
    const auto is_awaited = [](const auto& voice) { return voice->is_awaited(); };
    if (std::ranges::none_of(voices_, is_awaited)) return true;
    const bool has_first =
        phase_ == Phase::kRating ||
        std::ranges::any_of(voices_, [](const auto& voice) { return voice->has_answered(); });
    if (has_first && !deadline_ns_) deadline_ns_ = clock_.NowNs() + wait_ns_;
    if (!deadline_ns_ || clock_.NowNs() < *deadline_ns_) return false;
    for (const auto& voice : voices_) {
      voice->Leave(
          Error(Code::kDeadlineExceeded, fmt::format("not done {:.1f} s after others were",
                                                     static_cast<double>(wait_ns_) * 1e-9)));
    }
    return true;
  }

  void BeginRating() {
    phase_ = Phase::kRating;
    deadline_ns_.reset();
    // Equal answers are one candidate.
    for (size_t i = 0; i < voices_.size(); ++i) {
      if (!voices_[i]->has_answered()) continue;
      const auto same = std::ranges::find_if(candidates_, [&](const Candidate& candidate) {
        return voices_[candidate.authors.front()]->written() == voices_[i]->written();
      });
      if (same != candidates_.end()) {
        same->authors.push_back(i);
      } else {
        candidates_.push_back({.authors = {i}, .text = voices_[i]->written().text});
      }
    }
    // Where all agree there is nothing to rate.
    if (candidates_.size() < 2) return;
    for (size_t c = 0; c < candidates_.size(); ++c) {
      const Written& written = voices_[candidates_[c].authors.front()]->written();
      for (const auto& voice : voices_) voice->Rate(written, c);
    }
  }

  void Finish() {
    phase_ = Phase::kDone;
    if (is_cancelled_) return on_answer_(Cancelled());
    if (candidates_.empty()) return on_answer_(NoAnswer());
    on_answer_(Choose());
  }

  // Why the first member that was asked has none.
  Error NoAnswer() const {
    for (size_t i = 0; i < voices_.size(); ++i) {
      const auto& absence = voices_[i]->absence();
      if (absence) return Error(*absence).In(members_[i].name);
    }
    return {Code::kInternal, "no member was asked"};
  }

  Answer Choose() {
    Answer answer;
    for (size_t c = 0; candidates_.size() > 1 && c < candidates_.size(); ++c) RateCandidate(c);
    // Of equally probable ones, that of the first member.
    answer.chosen = static_cast<size_t>(
        std::ranges::min_element(candidates_, {}, &Candidate::bits_per_byte) - candidates_.begin());
    answer.answered = voices_[candidates_[answer.chosen].authors.front()]->answered();
    engine::RequestCounts total;
    for (size_t i = 0; i < voices_.size(); ++i) {
      answer.parts.push_back(PartOf(i));
      const Part& part = answer.parts.back();
      total.prompt += part.counts.prompt;
      total.cached += part.counts.cached;
      total.generated += part.counts.generated;
      total.replayed += part.counts.replayed;
      total.drafts += part.counts.drafts;
    }
    answer.answered.generated.finish.counts = total;
    answer.candidates = std::move(candidates_);
    return answer;
  }

  void RateCandidate(size_t c) {
    Candidate& candidate = candidates_[c];
    const uint64_t bytes = voices_[candidate.authors.front()]->written().bytes();
    std::vector<double> log_chances, weights;
    for (size_t i = 0; i < voices_.size(); ++i) {
      log_chances.push_back(voices_[i]->LogChance(c));
      weights.push_back(members_[i].weight);
      candidate.member_bits.push_back(BitsPerByte(log_chances.back(), bytes));
    }
    candidate.bits_per_byte = BitsPerByte(MixedLogChance(log_chances, weights), bytes);
  }

  Part PartOf(size_t i) const {
    const engine::Finish& finish = voices_[i]->answered().generated.finish;
    return {.member = members_[i].name,
            .weight = members_[i].weight,
            .has_answered = voices_[i]->has_answered(),
            .absence = voices_[i]->absence(),
            .counts = finish.counts,
            .times = finish.times,
            .rated_tokens = voices_[i]->rated_tokens()};
  }

  const std::vector<Member>& members_;
  const Clock& clock_;
  const int64_t wait_ns_;
  const Question question_;
  const OnAnswer on_answer_;
  std::vector<std::unique_ptr<Voice>> voices_;  // of every member
  Phase phase_ = Phase::kAnswering;
  bool is_cancelled_ = false;
  std::optional<int64_t> deadline_ns_;  // of the phase
  std::vector<Candidate> candidates_;
};

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

Ensemble::Ensemble(std::vector<Member> members, const Clock& clock, EnsembleOptions options)
    : members_(std::move(members)), clock_(clock), options_(options) {
  CHECK(CheckMembers(members_).ok());
}

Ensemble::~Ensemble() {
  Cancel();
  // Cancelled requests end in the next step of their generators.
  for (const Member& member : members_) {
    while (!member.generator->idle() && member.generator->Step().ok()) {
    }
  }
}

void Ensemble::Ask(Question question, OnAnswer on_answer) {
  questions_.push_back(std::make_unique<Choosing>(members_, clock_, options_.wait_ns,
                                                  std::move(question), std::move(on_answer)));
}

bool Ensemble::idle() const {
  return std::ranges::all_of(questions_, [](const auto& asked) { return asked->is_answered(); });
}

void Ensemble::Cancel() {
  for (const auto& asked : questions_) asked->Cancel();
}

void Ensemble::StepMembers() {
  for (size_t i = 0; i < members_.size(); ++i) {
    engine::Generator& generator = *members_[i].generator;
    if (generator.idle()) continue;
    const Status stepped = generator.Step();
    if (stepped.ok()) continue;
    for (const auto& asked : questions_) asked->Lose(i, stepped.error());
  }
}

void Ensemble::Step() {
  StepMembers();
  // Listeners may ask more: the list may grow on the way.
  for (size_t i = 0; i < questions_.size(); ++i) questions_[i]->Advance();
  std::erase_if(questions_,
                [](const auto& asked) { return asked->is_answered() && !asked->is_busy(); });
}

Result<Answer> AnswerOne(Ensemble& ensemble, Question question,
                         const std::function<bool()>& is_cancelled) {
  std::optional<Result<Answer>> answer;
  ensemble.Ask(std::move(question), [&](Result<Answer> given) { answer = std::move(given); });
  while (!answer) {
    if (is_cancelled && is_cancelled()) ensemble.Cancel();
    ensemble.Step();
  }
  return *std::move(answer);
}

}  // namespace aster::ensemble
