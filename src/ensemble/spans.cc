// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/spans.h"

#include <algorithm>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ensemble/mixture.h"
#include "ensemble/participants_run.h"
#include "ensemble/span_participant.h"
#include "ensemble/span_streamer.h"

namespace aster::ensemble {
namespace {

// A span with more than half of the probability of all spans is the most probable one.
constexpr double kHalf = -std::numbers::ln2;  // as a logarithm

// A span that could be next.
struct Proposal {
  Span span;
  std::vector<size_t> authors;  // indices of members; the tokens are the first one's
  // The first author has continued it, and is the only one that has rated all of it.
  bool has_grown = false;
};

// The most tokens of proposals that continue because their authors are certain of them.
constexpr size_t kMostRaceTokens = 160;

// One question in progress: span after span, until one ends the answer.
class Spans final : public ParticipantsRun<SpanParticipant> {
 public:
  Spans(const QuestionContext& context, const Question& question, uint64_t conversation)
      : ParticipantsRun(context),
        tokens_left_(question.settings.max_tokens),
        settings_(question.settings),
        written_(members_.size()) {
    for (const Member& member : members_)
      participants_.push_back(std::make_unique<SpanParticipant>(member, question, conversation));
  }

  bool is_answered() const override { return phase_ == Phase::kDone; }

  void Begin(const std::shared_ptr<Mailbox>& mailbox, OnAnswer on_answer,
             OnPiece on_piece) override {
    on_answer_ = std::move(on_answer);
    mailbox_ = mailbox;
    for (size_t i = 0; i < participants_.size(); ++i) participants_[i]->Begin(PostOf(i, mailbox));
    if (!FindLeader()) return;
    streamer_.emplace(members_[leader_].model, settings_, Leader().prompt(), std::move(on_piece));
    for (size_t i = 0; i < participants_.size(); ++i) {
      if (i != leader_ && participants_[i]->is_present()) participants_[i]->Prepare(tokens_left_);
    }
    Draft();
  }
  void Advance() override {
    // Several phases may end at once. But between spans, what members have posted is taken: a
    // member returns even if the leader has written all of the answer ahead.
    for (std::optional<uint64_t> before; before != entered_ && phase_ != Phase::kDone;) {
      before = entered_;
      if (is_cancelled_) {
        EndWith(Cancelled());
      } else if (!streamer_) {
        EndWith(NoAnswer());
      } else {
        AdvancePhase();
      }
      if (phase_ == Phase::kDecided) return mailbox_->Post([] {});
    }
  }

 private:
  enum class Phase : uint8_t {
    kDrafting,
    kChecking,
    kProposing,
    kRating,
    kRacing,
    kDecided,
    kEnding,
    kDone
  };

  SpanParticipant& Leader() const { return *participants_[leader_]; }

  void AdvancePhase() {
    switch (phase_) {
      case Phase::kDrafting:
        return AdvanceDraft();
      case Phase::kChecking:
        if (IsWaitOver(/*has_first=*/true)) Gate();
        return;
      case Phase::kProposing:
        if (IsWaitOver(/*has_first=*/true)) BeginRating();
        return;
      case Phase::kRating:
        if (IsWaitOver(/*has_first=*/true)) Contest();
        return;
      case Phase::kRacing:
        if (IsWaitOver(/*has_first=*/true)) GrowProposals();
        return;
      case Phase::kDecided:
        return BeginNext();
      case Phase::kEnding:
        if (IsWaitOver(/*has_first=*/true)) Finish(*last_);
        return;
      case Phase::kDone:
        return;
    }
  }

  void Enter(Phase phase) {
    phase_ = phase;
    ++entered_;
    RestartWait();
  }

  bool FindLeader() {
    const auto best = Weightiest();
    leader_ = best.value_or(leader_);
    return best.has_value();
  }

  void Draft() {
    Enter(Phase::kDrafting);
    Leader().Draft(tokens_left_);
  }

  void AdvanceDraft() {
    if (Leader().is_awaited()) {
      if (!IsAnyReady() || !IsLate()) return;
      Leader().Leave(Late());
    }
    const auto& draft = Leader().draft();
    const bool has_no_room = Leader().is_present() && draft->limit == SpanLimit::kContext;
    if (has_no_room && CountPresent() > 1)
      Leader().Leave(OutOfRange("the answer does not fit into its context"));
    // Another member leads if this one cannot.
    if (CountPresent() == 0) {
      for (const auto& participant : participants_) {
        if (participant->is_returning()) participant->ReturnAtOnce();
      }
    }
    if (!Leader().is_present()) return FindLeader() ? Draft() : EndWith(NoAnswer());
    proposals_ = {{.span = *draft, .authors = {leader_}}};
    Leader().Know(*draft, 0);
    Enter(Phase::kChecking);
    for (size_t i = 0; i < participants_.size(); ++i) {
      if (i != leader_ && participants_[i]->is_present()) participants_[i]->Check({{*draft, 0}});
    }
  }

  // Natural logarithm of the probability of the agreed text, followed by the proposal (nullopt:
  // alone), under the present members. A member's share depends on its probability of the text so
  // far.
  double Mixed(std::optional<size_t> number) const {
    std::vector<double> log_probabilities, weights;
    for (size_t i = 0; i < participants_.size(); ++i) {
      const bool is_there = participants_[i]->is_present();
      weights.push_back(is_there ? members_[i].weight : 0);
      const double before = is_there ? participants_[i]->log_probability() : kImpossible;
      log_probabilities.push_back(number ? before + LogProbability(i, *number) : before);
    }
    return MixedLogProbability(log_probabilities, weights);
  }
  double LogProbability(size_t member, size_t number) const {
    const SpanParticipant& participant = *participants_[member];
    const Proposal& proposal = proposals_[number];
    if (proposal.has_grown && member != proposal.authors.front()) return kImpossible;
    return participant.is_present() ? participant.checked(number).log_probability : kImpossible;
  }

  // Decides whether the draft is taken without proposals.
  void Gate() {
    std::vector<size_t> others;  // they would write something else
    for (size_t i = 0; i < participants_.size(); ++i) {
      if (participants_[i]->is_present() && participants_[i]->checked(0).is_rated() &&
          !participants_[i]->checked(0).agrees())
        others.push_back(i);
    }
    if (CountPresent() == 1) return Decide(0, Decision::kAlone);
    if (others.empty()) return Decide(0, Decision::kAgreed);
    if (Mixed(0) - Mixed(std::nullopt) > kHalf) return Decide(0, Decision::kLikely);
    Leader().StopAhead();  // it must check the others' proposals
    Enter(Phase::kProposing);
    for (const size_t i : others)
      participants_[i]->DraftInstead(proposals_[0].span, 0, tokens_left_);
  }

  void BeginRating() {
    // Equal proposals become one.
    for (size_t i = 0; i < participants_.size(); ++i) {
      if (i == leader_ || !participants_[i]->is_present() || !participants_[i]->draft()) continue;
      const Span& span = *participants_[i]->draft();
      const auto same = std::ranges::find_if(
          proposals_, [&](const Proposal& proposal) { return proposal.span.Says(span); });
      const auto number = static_cast<size_t>(same - proposals_.begin());
      if (same != proposals_.end()) {
        same->authors.push_back(i);
      } else {
        proposals_.push_back({.span = span, .authors = {i}});
      }
      participants_[i]->Know(span, number);
    }
    if (proposals_.size() == 1) return Decide(0, Decision::kAgreed);
    Enter(Phase::kRating);
    for (const auto& participant : participants_) {
      if (!participant->is_present()) continue;
      std::vector<Numbered> unknown;
      for (size_t number = 1; number < proposals_.size(); ++number) {
        if (!participant->knows(number)) unknown.push_back({proposals_[number].span, number});
      }
      participant->Check(unknown);
    }
  }

  void Contest() {
    if (CountPresent() == 0) return Decide(0, Decision::kAlone);
    if (AreCertain()) return Race();
    const std::vector<Candidate> rated = Rated();
    // Of equally probable ones, the leader's.
    const auto best = std::ranges::min_element(rated, {}, &Candidate::bits_per_byte);
    Decide(static_cast<size_t>(best - rated.begin()), Decision::kContested);
  }

  // All are certain of their proposals, and at most one is right. Each continues its own until one
  // is not certain any more.
  void Race() {
    Enter(Phase::kRacing);
    bool goes_on = false;
    for (size_t number = 0; number < proposals_.size(); ++number) {
      const auto& [span, authors, has_grown] = proposals_[number];
      participants_[authors.front()]->TakeDraft();  // already a proposal
      const bool is_over = span.has_ended || span.limit != SpanLimit::kNone ||
                           span.tokens.size() >= std::min<uint64_t>(kMostRaceTokens, tokens_left_);
      if (is_over) continue;
      participants_[authors.front()]->DraftAfterOwn(span, tokens_left_ - span.tokens.size());
      goes_on = true;
    }
    if (!goes_on) DecideRace();
  }
  void GrowProposals() {
    for (size_t number = 0; number < proposals_.size(); ++number) {
      Proposal& proposal = proposals_[number];
      SpanParticipant& author = *participants_[proposal.authors.front()];
      if (!author.is_present() || !author.draft()) continue;
      proposal.has_grown = true;
      proposal.span.Append(*author.TakeDraft());
      author.Know(proposal.span, number);
    }
    AreCertain() ? Race() : DecideRace();
  }
  // The total decides: per byte, the longest would win, as certain texts differ only in length.
  void DecideRace() {
    size_t best = 0;
    for (size_t number = 1; number < proposals_.size(); ++number) {
      if (Mixed(number) > Mixed(best)) best = number;
    }
    Decide(best, Decision::kSurest);
  }

  // Whether every proposal has more than half of its authors' probability.
  bool AreCertain() const {
    for (size_t number = 0; number < proposals_.size(); ++number) {
      const auto is_certain = [&](size_t author) { return LogProbability(author, number) > kHalf; };
      if (!std::ranges::any_of(proposals_[number].authors, is_certain)) return false;
    }
    return true;
  }

  std::vector<Candidate> Rated() const {
    std::vector<Candidate> rated;
    const double before = Mixed(std::nullopt);
    for (size_t number = 0; number < proposals_.size(); ++number) {
      const auto& [span, authors, has_grown] = proposals_[number];
      Candidate candidate{.authors = authors, .text = span.text};
      candidate.bits_per_byte = BitsPerByte(Mixed(number) - before, span.bytes());
      for (size_t i = 0; i < participants_.size(); ++i)
        candidate.member_bits.push_back(BitsPerByte(LogProbability(i, number), span.bytes()));
      rated.push_back(std::move(candidate));
    }
    return rated;
  }

  void Decide(size_t chosen, Decision decision) {
    DecidedSpan decided{.decision = decision, .chosen = chosen};
    if (decision == Decision::kAlone) {
      decided.candidates = {{.authors = {leader_}, .text = proposals_[0].span.text}};
    } else {
      decided.candidates = Rated();
    }
    decided_.push_back(std::move(decided));
    const auto [span, authors, has_grown] = proposals_[chosen];
    for (size_t i = 0; i < participants_.size(); ++i) {
      SpanParticipant& participant = *participants_[i];
      if (!participant.is_askable()) continue;
      if (!participant.is_present()) participant.Miss();
      const bool is_own = i == authors.front();
      const bool knows_all = participant.is_present() && (!has_grown || is_own);
      participant.Take(span, knows_all ? std::optional(chosen) : std::nullopt, is_own);
    }
    // The author leads from here on.
    leader_ = authors.front();
    written_[leader_] += span.bytes();
    tokens_left_ -= std::min<uint64_t>(tokens_left_, span.tokens.size());
    streamer_->Append(span.text);
    const bool is_last =
        span.has_ended || span.limit != SpanLimit::kNone || streamer_->stop() || tokens_left_ == 0;
    if (is_last) {
      for (const auto& participant : participants_) participant->DropAhead();
      last_ = span;
      return Enter(Phase::kEnding);
    }
    Enter(Phase::kDecided);
  }

  void BeginNext() {
    // At a boundary, absent members may return.
    const bool is_any_present = CountPresent() > 0;
    for (const auto& participant : participants_)
      is_any_present ? participant->Return() : participant->ReturnAtOnce();
    if (!Leader().is_present() && !FindLeader()) return EndWith(NoAnswer());
    Draft();
  }

  void EndWith(Error error) {
    Enter(Phase::kDone);
    for (const auto& participant : participants_) participant->Forget();
    on_answer_(std::move(error));
  }

  void Finish(const Span& last) {
    Enter(Phase::kDone);
    engine::Finish finish{.reason = engine::FinishReason::kLength};
    if (streamer_->stop()) {
      finish.reason = engine::FinishReason::kStopString;
      finish.stop_string = *streamer_->stop();
    } else if (last.has_ended) {
      finish.reason = engine::FinishReason::kStopToken;
      finish.stop_token = last.tokens.back();
    } else if (last.limit == SpanLimit::kContext) {
      finish.reason = engine::FinishReason::kContext;
    }
    Answer answer;
    answer.policy = Policy::kSpans;
    answer.policy_reason = policy_reason_;
    for (size_t i = 0; i < participants_.size(); ++i) AddPart(PartOf(i), finish, answer);
    streamer_->Finish(std::move(finish), answer);
    const std::vector<size_t> authors = AuthorsOf(written_);
    answer.answered.generated.tokens = participants_[authors.front()]->AnswerTokens();
    answer.candidates = {{.authors = authors, .text = answer.answered.generated.text}};
    answer.spans = std::move(decided_);
    for (const auto& participant : participants_) participant->Forget();
    on_answer_(std::move(answer));
  }

  Part PartOf(size_t i) const {
    const SpanParticipant& participant = *participants_[i];
    return {.member = members_[i].name,
            .weight = members_[i].weight,
            .has_answered = participant.is_present(),
            .absence = participant.absence(),
            .counts = participant.counts(),
            .times = participant.times(),
            .rated_tokens = participant.rated_tokens(),
            .computed_tokens = participant.computed_tokens(),
            .missed_spans = participant.missed_spans()};
  }

  std::shared_ptr<Mailbox> mailbox_;
  uint64_t tokens_left_;  // of the answer
  const respond::Settings settings_;
  std::optional<SpanStreamer> streamer_;  // nullopt: no member can take the question
  Phase phase_ = Phase::kDrafting;
  uint64_t entered_ = 0;             // phases so far
  size_t leader_ = 0;                // the member that drafts, by index
  std::vector<Proposal> proposals_;  // for the next span; the leader's first
  std::optional<Span> last_;         // the span that ends the answer
  std::vector<DecidedSpan> decided_;
  std::vector<uint64_t> written_;  // bytes by each member
};

}  // namespace

bool CanBeSpans(const Question& question, const std::vector<Member>& members) {
  const engine::SamplingOptions& sampling = question.settings.sampling;
  if (sampling.logprobs || sampling.top_logprobs > 0) return false;
  if (question.conversation.offers_tools() && !question.text) return false;
  return question.text || question.is_raw || std::ranges::none_of(members, [](const auto& member) {
           return member.weight > 0 && member.model.dialect.has_reasoning;
         });
}

std::shared_ptr<QuestionRun> MakeSpans(const QuestionContext& context, const Question& question,
                                       uint64_t conversation) {
  return std::make_shared<Spans>(context, question, conversation);
}

}  // namespace aster::ensemble
