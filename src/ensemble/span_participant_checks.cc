// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rating others' spans, and the return of an absent member, which rates what it missed.

#include <algorithm>
#include <utility>

#include "ensemble/span_participant.h"
#include "ensemble/span_rating.h"

namespace aster::ensemble {

void SpanParticipant::Check(const std::vector<Numbered>& spans) {
  for (const auto& [span, number] : spans) {
    checks_.resize(std::max(checks_.size(), number + 1));
    checks_[number] = {};
    auto checked = TokensOf(span);
    if (!checked.ok()) return Leave(checked.error());
    RateFromOwn(*checked);
    checks_[number] = *std::move(checked);
    if (checks_[number].logprobs.size() < checks_[number].tokens.size())
      unchecked_.push_back(number);
  }
  if (unchecked_.empty()) return;
  StopAhead();
  CheckWhereReady();
}

// Checks wait for the end of its requests, whose KV rows they use.
void SpanParticipant::CheckWhereReady() {
  if (unchecked_.empty() || IsBusy()) return;
  for (const size_t number : std::exchange(unchecked_, {})) {
    RateFromOwn(checks_[number]);
    if (!checks_[number].is_rated()) SubmitCheck(number);
  }
}

// Takes the rating of tokens that it has written itself.
void SpanParticipant::RateFromOwn(Checked& checked) const {
  // With missed tokens, these are rated together with the span.
  if (checked.base != tokens_.size() || logprobs_.size() != tokens_.size()) return;
  const std::vector<int32_t>& tokens = checked.tokens;
  const text::Vocab& vocab = member_.model.tokenizer->vocab();
  const auto compare = [&](std::span<const int32_t> own, std::span<const float> logprobs) {
    size_t count = 0;
    for (; count < std::min(own.size(), tokens.size()); ++count) {
      const bool is_end = checked.has_ended && count + 1 == tokens.size();
      if (own[count] != tokens[count] && !(is_end && vocab.IsEndOfGeneration(own[count]))) break;
    }
    checked.differs = checked.differs || count < std::min(own.size(), tokens.size());
    if (count <= checked.logprobs.size()) return;
    checked.logprobs.assign(logprobs.begin(), logprobs.begin() + static_cast<ptrdiff_t>(count));
    checked.agreed = count;
  };
  for (const Checked& own : checks_) {
    if (own.is_own) compare(own.tokens, own.logprobs);
  }
  if (ahead_ && !ahead_->is_after_own) {
    Span written;
    for (const Span& span : ahead_->spans) written.Append(span);
    written.Append(ahead_->begun);
    compare(written.tokens, written.logprobs);
  }
  checked.log_probability = checked.is_rated() ? SumOf(checked.logprobs) : kImpossible;
}

void SpanParticipant::SubmitCheck(size_t number) {
  const Checked& checked = checks_[number];
  // Missed tokens are rated on the way.
  const size_t kept = std::min(checked.base, logprobs_.size());
  const size_t known = checked.logprobs.size();
  std::vector<int32_t> history = own_.prompt.tokens;
  history.insert(history.end(), tokens_.begin(), tokens_.begin() + static_cast<ptrdiff_t>(kept));
  std::vector<int32_t> tokens(tokens_.begin() + static_cast<ptrdiff_t>(kept),
                              tokens_.begin() + static_cast<ptrdiff_t>(checked.base));
  const size_t missed = tokens.size();
  const auto rest = checked.tokens.begin() + static_cast<ptrdiff_t>(known);
  history.insert(history.end(), checked.tokens.begin(), rest);
  tokens.insert(tokens.end(), rest, checked.tokens.end());
  SubmitRating(std::move(history), std::move(tokens), missed, checked.has_ended,
               [number](SpanParticipant& participant, const SpanRating& rating) {
                 participant.OnChecked(number, rating.logprobs(), rating.agreed());
               });
}

void SpanParticipant::SubmitRating(std::vector<int32_t> history, std::vector<int32_t> tokens,
                                   size_t missed, bool has_ended,
                                   std::function<void(SpanParticipant&, const SpanRating&)> then) {
  const auto ticket = NewTicket();
  // Each row of logits is for the token after it, so the last token itself is not computed.
  Work work{.prompt = history, .is_branch = true};
  work.prompt.insert(work.prompt.end(), tokens.begin(), tokens.end() - 1);
  rated_tokens_ += tokens.size();
  work.request.max_tokens = 0;
  work.request.context_limit = own_.settings.context_limit;
  const auto first_row = static_cast<uint32_t>(history.size()) - 1;
  const auto rating = std::make_shared<SpanRating>(member_, own_, std::move(history),
                                                   std::move(tokens), missed, has_ended);
  work.request.rows = {.kind = engine::PromptRows::Kind::kLogits,
                       .on_row = [rating](auto row) { rating->TakeRow(row); },
                       .first = first_row};
  work.request.on_finish = [ticket, rating, then = std::move(then)](const engine::Finish& finish) {
    ticket->Over([rating, then, finish](SpanParticipant& participant) {
      participant.Count(finish);
      if (!finish.status.ok()) return participant.Leave(finish.status.error());
      if (!rating->status().ok()) return participant.Leave(rating->status().error());
      if (rating->is_whole()) then(participant, *rating);
    });
  };
  work.is_gone = [dropped = is_dropped_] { return dropped->load(); };
  Submit(std::move(work), ticket);
}

// `logprobs`: of the missed tokens, then of the span's unrated ones.
void SpanParticipant::OnChecked(size_t number, std::span<const float> logprobs, size_t agreed) {
  Checked& checked = checks_[number];
  const size_t known = checked.logprobs.size();
  const size_t missed = known + logprobs.size() - checked.tokens.size();
  // Missed tokens are rated now.
  if (missed > 0 && logprobs_.size() + missed == checked.base)
    logprobs_.insert(logprobs_.end(), logprobs.begin(),
                     logprobs.begin() + static_cast<ptrdiff_t>(missed));
  checked.logprobs.insert(checked.logprobs.end(), logprobs.begin() + static_cast<ptrdiff_t>(missed),
                          logprobs.end());
  // If the end of the agreed text has other tokens now, its old rating is subtracted.
  const size_t base = std::min(checked.base, logprobs_.size());
  checked.log_probability = SumOf(checked.logprobs) - SumOf(std::span(logprobs_).subspan(base));
  if (checked.base == tokens_.size() && !checked.differs) checked.agreed = known + agreed;
}

void SpanParticipant::Return() {
  if (is_present() || !is_askable_ || owed_ > 0 || in_flight_ > 0) return;
  const size_t missed = tokens_.size() - logprobs_.size();
  // The others write while it computes: it has caught up if little is missing, or no less than
  // before.
  const bool is_level =
      has_caught_up_ && (missed <= kLongestSpanTokens || missed >= caught_up_tokens_);
  if (is_level || missed == 0) return ReturnAtOnce();
  CatchUp();
}

void SpanParticipant::ReturnAtOnce() {
  if (!is_askable_ || owed_ > 0) return;
  absence_.reset();
  has_caught_up_ = false;
}

void SpanParticipant::CatchUp() {
  const auto first = tokens_.begin() + static_cast<ptrdiff_t>(logprobs_.size());
  std::vector<int32_t> history = own_.prompt.tokens;
  history.insert(history.end(), tokens_.begin(), first);
  const std::vector<int32_t> missed(first, tokens_.end());
  caught_up_tokens_ = missed.size();
  SubmitRating(
      std::move(history), missed, missed.size(), /*has_ended=*/false,
      [first = logprobs_.size(), missed](SpanParticipant& participant, const SpanRating& rating) {
        participant.OnCaughtUp(first, missed, rating.logprobs());
      });
}

void SpanParticipant::OnCaughtUp(size_t first, std::span<const int32_t> tokens,
                                 std::span<const float> logprobs) {
  has_caught_up_ = true;
  // The end of the agreed text may have other tokens now.
  if (logprobs_.size() != first || tokens_.size() < first) return;
  const auto same = std::ranges::mismatch(std::span(tokens_).subspan(first), tokens);
  const auto count = same.in2 - tokens.begin();
  logprobs_.insert(logprobs_.end(), logprobs.begin(), logprobs.begin() + count);
}

}  // namespace aster::ensemble
