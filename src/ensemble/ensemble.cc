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
namespace {

// How soon is noticed what is not posted, such as a member's time that is over.
constexpr int64_t kMomentNs = 20 * kNsPerMs;

}  // namespace

// One question on its way: answers, then ratings, then the choice.
class Ensemble::Choosing : public std::enable_shared_from_this<Choosing> {
 public:
  Choosing(const std::vector<Member>& members, const Clock& clock, int64_t wait_ns,
           const Question& question)
      : members_(members), clock_(clock), wait_ns_(wait_ns) {
    for (const Member& member : members)
      voices_.push_back(std::make_unique<Voice>(member, question));
  }

  // Whether a member can have the question.
  bool is_askable() const {
    return std::ranges::any_of(voices_, [](const auto& voice) { return voice->is_askable(); });
  }
  bool is_answered() const { return phase_ == Phase::kDone; }

  void Begin(const std::shared_ptr<Mailbox>& mailbox, OnAnswer on_answer) {
    on_answer_ = std::move(on_answer);
    for (size_t i = 0; i < voices_.size(); ++i) {
      voices_[i]->Ask([mailbox, i, weak = weak_from_this()](std::function<void(Voice&)> work) {
        mailbox->Post([weak, i, work = std::move(work)] {
          if (const auto question = weak.lock()) work(*question->voices_[i]);
        });
      });
    }
  }
  void Cancel() {
    for (const auto& voice : voices_) voice->Leave(Cancelled());
    is_cancelled_ = true;
  }
  void Advance() {
    if (is_cancelled_ && phase_ != Phase::kDone) return Finish();
    if (phase_ == Phase::kAnswering && HasHeard()) BeginRating();
    if (phase_ == Phase::kRating && HasHeard()) Finish();
  }
  // Why the first member that was asked has no answer.
  Error NoAnswer() const {
    for (size_t i = 0; i < voices_.size(); ++i) {
      const auto& absence = voices_[i]->absence();
      if (absence) return Error(*absence).In(members_[i].name);
    }
    return {Code::kInternal, "no member was asked"};
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

  Answer Choose() {
    Answer answer;
    for (size_t c = 0; candidates_.size() > 1 && c < candidates_.size(); ++c) RateCandidate(c);
    // Of equally probable ones, that of the first member.
    answer.chosen = static_cast<size_t>(
        std::ranges::min_element(candidates_, {}, &Candidate::bits_per_byte) - candidates_.begin());
    const Spoken& spoken = voices_[candidates_[answer.chosen].authors.front()]->spoken();
    answer.answered = spoken.answered;
    answer.pieces = spoken.pieces;
    answer.reason = spoken.reason;
    engine::RequestCounts total;
    for (size_t i = 0; i < voices_.size(); ++i) {
      answer.parts.push_back(PartOf(i));
      const Part& part = answer.parts.back();
      total.prompt += part.counts.prompt;
      total.cached += part.counts.cached;
      total.generated += part.counts.generated;
      total.replayed += part.counts.replayed;
      total.drafts += part.counts.drafts;
      AddUsage(voices_[i]->spoken().usage, answer.usage);
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

  // Members compute beside each other.
  static void AddUsage(const respond::Usage& usage, respond::Usage& total) {
    total.prompt += usage.prompt;
    total.cached += usage.cached;
    total.answer += usage.answer;
    total.thinking += usage.thinking;
    total.drafted += usage.drafted;
    total.accepted += usage.accepted;
    total.times.waited_ns = std::max(total.times.waited_ns, usage.times.waited_ns);
    total.times.prefill_ns = std::max(total.times.prefill_ns, usage.times.prefill_ns);
    total.times.decode_ns = std::max(total.times.decode_ns, usage.times.decode_ns);
  }

  Part PartOf(size_t i) const {
    const engine::Finish& finish = voices_[i]->spoken().answered.generated.finish;
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
  OnAnswer on_answer_;
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

void Tell(const Answer& answer, respond::Listener& listener) {
  for (const SaidPiece& piece : answer.pieces)
    listener.OnPiece({.text = piece.text, .events = piece.events, .tokens = piece.tokens});
  engine::Finish finish = answer.answered.generated.finish;
  finish.times = answer.usage.times;
  listener.OnEnd({.finish = finish, .reason = answer.reason, .usage = answer.usage});
}

Ensemble::Ensemble(std::vector<Member> members, Clock& clock, EnsembleOptions options)
    : clock_(clock), options_(options), members_(WithEngines(std::move(members))) {
  CHECK(CheckMembers(members_).ok());
}

Ensemble::~Ensemble() {
  // Requests that are in flight know their members.
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

Result<std::shared_ptr<Ensemble::Choosing>> Ensemble::Prepare(const Question& question) const {
  auto asked = std::make_shared<Choosing>(members_, clock_, options_.wait_ns, question);
  if (!asked->is_askable()) return asked->NoAnswer();
  return asked;
}

void Ensemble::Ask(std::shared_ptr<Choosing> question, OnAnswer on_answer) {
  question->Begin(mailbox_, std::move(on_answer));
  // No member's answer would wake who waits for the next step.
  if (!question->is_askable()) mailbox_->Post([] {});
  questions_.push_back(std::move(question));
}

void Ensemble::Ask(const Question& question, OnAnswer on_answer) {
  // Where no member can have it, the next step says so.
  Ask(std::make_shared<Choosing>(members_, clock_, options_.wait_ns, question),
      std::move(on_answer));
}

void Ensemble::Cancel(Choosing& question) { question.Cancel(); }

void Ensemble::CancelAll() {
  for (const auto& asked : questions_) asked->Cancel();
}

void Ensemble::Step() {
  for (const auto& engine : stepped_) engine->Step();
  for (const Mailbox::Letter& letter : mailbox_->TakeAll()) letter();
  // Listeners may ask more: the list may grow on the way.
  for (size_t i = 0; i < questions_.size(); ++i) {
    const std::shared_ptr<Choosing> asked = questions_[i];
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
                         const std::function<bool()>& is_cancelled) {
  std::optional<Result<Answer>> answer;
  ensemble.Ask(question, [&](Result<Answer> given) { answer = std::move(given); });
  while (!answer) {
    if (is_cancelled && is_cancelled()) ensemble.CancelAll();
    ensemble.StepOrWait();
  }
  return *std::move(answer);
}

}  // namespace aster::ensemble
