// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/spans.h"

#include <fmt/format.h>

#include <algorithm>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ensemble/mixture.h"
#include "ensemble/span_teller.h"
#include "ensemble/span_voice.h"

namespace aster::ensemble {
namespace {

// A span with more than this of the probability of all spans is the most probable one.
constexpr double kHalf = -std::numbers::ln2;  // as a logarithm

// A span that could be next.
struct Proposal {
  Span span;
  std::vector<size_t> authors;  // members, by their numbers; the first one's tokens
};

// One question on its way: span after span, until one ends the answer.
class Spans final : public Asked, public std::enable_shared_from_this<Spans> {
 public:
  Spans(const AskedContext& context, const Question& question, uint64_t conversation)
      : members_(context.members),
        clock_(context.clock),
        wait_ns_(context.wait_ns),
        tokens_left_(question.settings.max_tokens),
        settings_(question.settings),
        written_(members_.size()) {
    for (const Member& member : members_)
      voices_.push_back(std::make_unique<SpanVoice>(member, question, conversation));
  }

  bool is_askable() const override {
    return std::ranges::any_of(voices_, [](const auto& voice) { return voice->is_askable(); });
  }
  uint64_t prompt_tokens() const override {
    uint64_t tokens = 0;
    for (const auto& voice : voices_) tokens += voice->prompt().tokens.size();
    return tokens;
  }
  bool is_answered() const override { return phase_ == Phase::kDone; }

  void Begin(const std::shared_ptr<Mailbox>& mailbox, OnAnswer on_answer,
             OnPiece on_piece) override {
    on_answer_ = std::move(on_answer);
    for (size_t i = 0; i < voices_.size(); ++i) {
      voices_[i]->Begin(
          [mailbox, i, weak = weak_from_this()](std::function<void(SpanVoice&)> work) {
            mailbox->Post([weak, i, work = std::move(work)] {
              if (const auto question = weak.lock()) work(*question->voices_[i]);
            });
          });
    }
    if (!FindLeader()) return;
    teller_.emplace(members_[leader_].model, settings_, Leader().prompt(), std::move(on_piece));
    // Others have their prompt ready when there is something to check.
    for (size_t i = 0; i < voices_.size(); ++i) {
      if (i != leader_ && voices_[i]->is_present()) voices_[i]->Read();
    }
    Draft();
  }
  void Cancel() override {
    for (const auto& voice : voices_) voice->Leave(Cancelled());
    is_cancelled_ = true;
  }
  void Advance() override {
    // Several phases may end at once.
    for (std::optional<Phase> before; before != phase_ && phase_ != Phase::kDone;) {
      before = phase_;
      if (is_cancelled_) {
        EndWith(Cancelled());
      } else if (!teller_) {
        EndWith(NoAnswer());
      } else {
        AdvancePhase();
      }
    }
  }
  Error NoAnswer() const override {
    for (size_t i = 0; i < voices_.size(); ++i) {
      const auto& absence = voices_[i]->last_absence();
      if (absence) return Error(*absence).In(members_[i].name);
    }
    return {Code::kInternal, "no member was asked"};
  }

 private:
  enum class Phase : uint8_t { kDrafting, kChecking, kProposing, kRating, kDone };

  static Error Cancelled() { return {Code::kCancelled, "the question was cancelled"}; }

  SpanVoice& Leader() const { return *voices_[leader_]; }

  void AdvancePhase() {
    switch (phase_) {
      case Phase::kDrafting:
        return AdvanceDraft();
      case Phase::kChecking:
        CheckWhereReady();
        if (HasHeard()) Gate();
        return;
      case Phase::kProposing:
        if (HasHeard()) BeginRating();
        return;
      case Phase::kRating:
        if (HasHeard()) Contest();
        return;
      case Phase::kDone:
        return;
    }
  }

  void Enter(Phase phase) {
    phase_ = phase;
    deadline_ns_.reset();
  }

  // The member of most weight that is there, the first of several.
  bool FindLeader() {
    std::optional<size_t> best;
    for (size_t i = 0; i < voices_.size(); ++i) {
      const bool is_better = !best || members_[i].weight > members_[*best].weight;
      if (voices_[i]->is_present() && is_better) best = i;
    }
    if (best) leader_ = *best;
    return best.has_value();
  }

  bool IsLate() {
    if (!deadline_ns_) deadline_ns_ = clock_.NowNs() + wait_ns_;
    return clock_.NowNs() >= *deadline_ns_;
  }
  Error Late() const {
    return {Code::kDeadlineExceeded, fmt::format("not done {:.1f} s after others were",
                                                 static_cast<double>(wait_ns_) * 1e-9)};
  }

  // Whether no voice is waited for: all are through, or have had their time.
  bool HasHeard() {
    const auto is_awaited = [](const auto& voice) { return voice->is_awaited(); };
    const bool is_all = std::ranges::none_of(voices_, is_awaited) && unchecked_.empty();
    if (is_all || !IsLate()) return is_all;
    for (const auto& voice : voices_) {
      if (voice->is_awaited()) voice->Leave(Late());
    }
    unchecked_.clear();
    return true;
  }

  void Draft() {
    Enter(Phase::kDrafting);
    Leader().Draft(tokens_left_);
  }

  void AdvanceDraft() {
    if (Leader().is_awaited()) {
      const auto is_ready = [&](const auto& voice) {
        return voice->is_present() && !voice->is_awaited();
      };
      if (std::ranges::none_of(voices_, is_ready) || !IsLate()) return;
      Leader().Leave(Late());
    }
    const auto& draft = Leader().draft();
    const bool has_no_room = Leader().is_present() && draft->limit == SpanLimit::kContext;
    if (has_no_room && CountPresent() > 1)
      Leader().Leave(OutOfRange("the answer does not fit into its context"));
    // Another leads where that one cannot.
    if (!Leader().is_present()) return FindLeader() ? Draft() : EndWith(NoAnswer());
    proposals_ = {{.span = *draft, .authors = {leader_}}};
    Leader().Know(*draft, 0);
    Enter(Phase::kChecking);
    for (size_t i = 0; i < voices_.size(); ++i) {
      if (i != leader_ && voices_[i]->is_present()) unchecked_.push_back(i);
    }
  }
  size_t CountPresent() const {
    return static_cast<size_t>(
        std::ranges::count_if(voices_, [](const auto& voice) { return voice->is_present(); }));
  }

  // A voice that still reads its prompt checks when it has done so.
  void CheckWhereReady() {
    std::erase_if(unchecked_, [&](size_t i) {
      if (voices_[i]->is_awaited()) return false;
      if (voices_[i]->is_present()) voices_[i]->Check(proposals_[0].span, 0);
      return true;
    });
  }

  // Natural logarithm of the probability of what is agreed, with the proposal behind it or (none)
  // alone, under the members that are there. Their share in it changes as they have found the text
  // more or less probable.
  double Mixed(std::optional<size_t> number) const {
    std::vector<double> log_chances, weights;
    for (size_t i = 0; i < voices_.size(); ++i) {
      const bool is_there = voices_[i]->is_present();
      weights.push_back(is_there ? members_[i].weight : 0);
      const double before = is_there ? voices_[i]->log_chance() : kImpossible;
      log_chances.push_back(number ? before + LogChance(i, *number) : before);
    }
    return MixedLogChance(log_chances, weights);
  }
  double LogChance(size_t member, size_t number) const {
    const SpanVoice& voice = *voices_[member];
    return voice.is_present() ? voice.checked(number).log_chance : kImpossible;
  }

  // Whether there is nothing to decide about the draft.
  void Gate() {
    std::vector<size_t> others;  // that would write something else
    for (size_t i = 0; i < voices_.size(); ++i) {
      if (voices_[i]->is_present() && voices_[i]->checked(0).is_rated() &&
          !voices_[i]->checked(0).agrees())
        others.push_back(i);
    }
    if (CountPresent() == 1) return Decide(0, Decision::kAlone);
    if (others.empty()) return Decide(0, Decision::kAgreed);
    if (Mixed(0) - Mixed(std::nullopt) > kHalf) return Decide(0, Decision::kLikely);
    Enter(Phase::kProposing);
    for (const size_t i : others) voices_[i]->DraftInstead(proposals_[0].span, 0, tokens_left_);
  }

  void BeginRating() {
    // Equal proposals are one.
    for (size_t i = 0; i < voices_.size(); ++i) {
      if (i == leader_ || !voices_[i]->is_present() || !voices_[i]->draft()) continue;
      const Span& span = *voices_[i]->draft();
      const auto same = std::ranges::find_if(
          proposals_, [&](const Proposal& proposal) { return proposal.span.Says(span); });
      const auto number = static_cast<size_t>(same - proposals_.begin());
      if (same != proposals_.end()) {
        same->authors.push_back(i);
      } else {
        proposals_.push_back({.span = span, .authors = {i}});
      }
      voices_[i]->Know(span, number);
    }
    if (proposals_.size() == 1) return Decide(0, Decision::kAgreed);
    Enter(Phase::kRating);
    for (const auto& voice : voices_) {
      if (!voice->is_present()) continue;
      for (size_t number = 1; number < proposals_.size(); ++number) {
        if (!voice->knows(number)) voice->Check(proposals_[number].span, number);
      }
    }
  }

  void Contest() {
    if (CountPresent() == 0) return Decide(0, Decision::kAlone);
    const std::vector<Candidate> rated = Rated();
    // Of equally probable ones, the leader's.
    const auto best = std::ranges::min_element(rated, {}, &Candidate::bits_per_byte);
    Decide(static_cast<size_t>(best - rated.begin()), Decision::kContested);
  }

  std::vector<Candidate> Rated() const {
    std::vector<Candidate> rated;
    const double before = Mixed(std::nullopt);
    for (size_t number = 0; number < proposals_.size(); ++number) {
      const auto& [span, authors] = proposals_[number];
      Candidate candidate{.authors = authors, .text = span.text};
      candidate.bits_per_byte = BitsPerByte(Mixed(number) - before, span.bytes());
      for (size_t i = 0; i < voices_.size(); ++i)
        candidate.member_bits.push_back(BitsPerByte(LogChance(i, number), span.bytes()));
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
    const auto [span, authors] = proposals_[chosen];
    for (const auto& voice : voices_) {
      if (!voice->is_askable()) continue;
      if (!voice->is_present()) voice->Miss();
      voice->Take(span, voice->is_present() ? std::optional(chosen) : std::nullopt);
    }
    // The author leads from here on.
    leader_ = authors.front();
    written_[leader_] += span.bytes();
    tokens_left_ -= std::min<uint64_t>(tokens_left_, span.tokens.size());
    tokens_.emplace_back(leader_, span.tokens);
    teller_->Say(span.text);
    const bool is_last =
        span.has_ended || span.limit != SpanLimit::kNone || teller_->stop() || tokens_left_ == 0;
    if (is_last) return Finish(span);
    // At a boundary, those that were left out are asked again.
    for (const auto& voice : voices_) voice->Return();
    if (!Leader().is_present() && !FindLeader()) return EndWith(NoAnswer());
    Draft();
  }

  void EndWith(Error error) {
    Enter(Phase::kDone);
    for (const auto& voice : voices_) voice->Forget();
    on_answer_(std::move(error));
  }

  void Finish(const Span& last) {
    Enter(Phase::kDone);
    engine::Finish finish{.reason = engine::FinishReason::kLength};
    if (teller_->stop()) {
      finish.reason = engine::FinishReason::kStopString;
      finish.stop_string = *teller_->stop();
    } else if (last.has_ended) {
      finish.reason = engine::FinishReason::kStopToken;
      finish.stop_token = last.tokens.back();
    } else if (last.limit == SpanLimit::kContext) {
      finish.reason = engine::FinishReason::kContext;
    }
    Answer answer;
    answer.policy = Policy::kSpans;
    for (size_t i = 0; i < voices_.size(); ++i) {
      answer.parts.push_back(PartOf(i));
      const Part& part = answer.parts.back();
      AddCounts(part.counts, finish.counts);
      AddUsage({.prompt = part.counts.prompt,
                .cached = part.counts.cached,
                .answer = part.counts.generated,
                .drafted = part.counts.drafts.drafted,
                .accepted = part.counts.drafts.accepted,
                .times = part.times},
               answer.usage);
    }
    finish.times = answer.usage.times;
    teller_->Finish(std::move(finish), answer);
    answer.answered.generated.tokens = Tokens();
    answer.candidates = {{.authors = Authors(), .text = answer.answered.generated.text}};
    answer.spans = std::move(decided_);
    for (const auto& voice : voices_) voice->Forget();
    on_answer_(std::move(answer));
  }

  // Of one vocabulary: none where several members wrote.
  std::vector<int32_t> Tokens() const {
    std::vector<int32_t> all;
    for (const auto& [author, tokens] : tokens_) {
      if (author != tokens_.front().first) return {};
      all.insert(all.end(), tokens.begin(), tokens.end());
    }
    return all;
  }
  // Who wrote the most first.
  std::vector<size_t> Authors() const {
    std::vector<size_t> authors;
    for (size_t i = 0; i < written_.size(); ++i) {
      if (written_[i] > 0) authors.push_back(i);
    }
    std::ranges::stable_sort(authors,
                             [&](size_t a, size_t b) { return written_[a] > written_[b]; });
    return authors;
  }
  Part PartOf(size_t i) const {
    const SpanVoice& voice = *voices_[i];
    return {.member = members_[i].name,
            .weight = members_[i].weight,
            .has_answered = voice.is_present(),
            .absence = voice.last_absence(),
            .counts = voice.counts(),
            .times = voice.times(),
            .rated_tokens = voice.rated_tokens(),
            .missed_spans = voice.missed_spans()};
  }

  const std::vector<Member>& members_;
  const Clock& clock_;
  const int64_t wait_ns_;
  uint64_t tokens_left_;  // of the answer
  const respond::Settings settings_;
  OnAnswer on_answer_;
  std::vector<std::unique_ptr<SpanVoice>> voices_;  // of every member
  std::optional<SpanTeller> teller_;                // none: no member can have the question
  Phase phase_ = Phase::kDrafting;
  bool is_cancelled_ = false;
  std::optional<int64_t> deadline_ns_;  // of the phase
  size_t leader_ = 0;                   // drafts; a member, by its number
  std::vector<size_t> unchecked_;       // members that are to check the draft
  std::vector<Proposal> proposals_;     // for the next span; the leader's first
  std::vector<DecidedSpan> decided_;
  std::vector<uint64_t> written_;                                // bytes by each member
  std::vector<std::pair<size_t, std::vector<int32_t>>> tokens_;  // by span, with their author
};

}  // namespace

bool CanBeSpans(const Question& question, const std::vector<Member>& members) {
  const engine::SamplingOptions& sampling = question.settings.sampling;
  if (sampling.logprobs || sampling.top_logprobs > 0) return false;
  if (question.conversation.offers_tools() && !question.text) return false;
  return question.text || question.is_raw || std::ranges::none_of(members, [](const auto& member) {
           return member.weight > 0 && member.model.dialect.has_thinking;
         });
}

std::shared_ptr<Asked> MakeSpans(const AskedContext& context, const Question& question,
                                 uint64_t conversation) {
  return std::make_shared<Spans>(context, question, conversation);
}

}  // namespace aster::ensemble
