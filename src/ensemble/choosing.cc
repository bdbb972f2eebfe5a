// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/choosing.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ensemble/mixture.h"
#include "ensemble/participant.h"
#include "ensemble/participants_run.h"

namespace aster::ensemble {
namespace {

// One question in progress: answers, then ratings, then the choice.
class Choosing final : public ParticipantsRun<Participant> {
 public:
  Choosing(const QuestionContext& context, const Question& question, uint64_t conversation)
      : ParticipantsRun(context) {
    for (const Member& member : members_)
      participants_.push_back(std::make_unique<Participant>(member, question, conversation));
  }

  bool is_answered() const override { return phase_ == Phase::kDone; }

  void Begin(const std::shared_ptr<Mailbox>& mailbox, OnAnswer on_answer,
             OnPiece /*on_piece*/) override {
    on_answer_ = std::move(on_answer);
    for (size_t i = 0; i < participants_.size(); ++i) participants_[i]->Start(PostOf(i, mailbox));
  }
  void Advance() override {
    if (is_cancelled_ && phase_ != Phase::kDone) return Finish();
    const auto has_answered = [](const auto& participant) { return participant->has_answered(); };
    if (phase_ == Phase::kAnswering && IsWaitOver(std::ranges::any_of(participants_, has_answered)))
      BeginRating();
    if (phase_ == Phase::kRating && IsWaitOver(/*has_first=*/true)) Finish();
  }

 private:
  enum class Phase : uint8_t { kAnswering, kRating, kDone };

  void BeginRating() {
    phase_ = Phase::kRating;
    RestartWait();
    // Equal answers are one candidate.
    for (size_t i = 0; i < participants_.size(); ++i) {
      if (!participants_[i]->has_answered()) continue;
      const auto same = std::ranges::find_if(candidates_, [&](const Candidate& candidate) {
        return participants_[candidate.authors.front()]->written() == participants_[i]->written();
      });
      if (same != candidates_.end()) {
        same->authors.push_back(i);
      } else {
        candidates_.push_back({.authors = {i}, .text = participants_[i]->written().text});
      }
    }
    // If all agree there is nothing to rate.
    if (candidates_.size() < 2) return;
    for (size_t c = 0; c < candidates_.size(); ++c) {
      const WrittenText& written = participants_[candidates_[c].authors.front()]->written();
      for (const auto& participant : participants_) participant->Rate(written, c);
    }
  }

  void Finish() {
    phase_ = Phase::kDone;
    for (const auto& participant : participants_) participant->Forget();
    if (is_cancelled_) return on_answer_(Cancelled());
    if (candidates_.empty()) return on_answer_(NoAnswer());
    on_answer_(Choose());
  }

  Answer Choose() {
    Answer answer;
    answer.policy_reason = policy_reason_;
    for (size_t c = 0; candidates_.size() > 1 && c < candidates_.size(); ++c) RateCandidate(c);
    // Of equally probable ones, the first member's.
    answer.chosen = static_cast<size_t>(
        std::ranges::min_element(candidates_, {}, &Candidate::bits_per_byte) - candidates_.begin());
    const FinishedResponse& finished =
        participants_[candidates_[answer.chosen].authors.front()]->finished();
    answer.answered = finished.answered;
    answer.pieces = finished.pieces;
    answer.reason = finished.reason;
    engine::RequestCounts total;
    for (size_t i = 0; i < participants_.size(); ++i) {
      answer.parts.push_back(PartOf(i));
      AddCounts(answer.parts.back().counts, total);
      AddUsage(participants_[i]->finished().usage, answer.usage);
    }
    answer.answered.generated.finish.counts = total;
    answer.candidates = std::move(candidates_);
    return answer;
  }

  void RateCandidate(size_t c) {
    Candidate& candidate = candidates_[c];
    const uint64_t bytes = participants_[candidate.authors.front()]->written().bytes();
    std::vector<double> log_probabilities, weights;
    for (size_t i = 0; i < participants_.size(); ++i) {
      log_probabilities.push_back(participants_[i]->LogProbability(c));
      weights.push_back(members_[i].weight);
      candidate.member_bits.push_back(BitsPerByte(log_probabilities.back(), bytes));
    }
    candidate.bits_per_byte = BitsPerByte(MixedLogProbability(log_probabilities, weights), bytes);
  }

  Part PartOf(size_t i) const {
    const engine::Finish& finish = participants_[i]->finished().answered.generated.finish;
    return {.member = members_[i].name,
            .weight = members_[i].weight,
            .has_answered = participants_[i]->has_answered(),
            .absence = participants_[i]->absence(),
            .counts = finish.counts,
            .times = finish.times,
            .rated_tokens = participants_[i]->rated_tokens(),
            .computed_tokens = participants_[i]->computed_tokens()};
  }

  Phase phase_ = Phase::kAnswering;
  std::vector<Candidate> candidates_;
};

}  // namespace

std::shared_ptr<QuestionRun> MakeChoosing(const QuestionContext& context, const Question& question,
                                          uint64_t conversation) {
  return std::make_shared<Choosing>(context, question, conversation);
}

}  // namespace aster::ensemble
