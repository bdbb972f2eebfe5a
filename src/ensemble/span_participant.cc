// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/span_participant.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/stops.h"
#include "ensemble/span_tokens.h"
#include "ensemble/symbols.h"
#include "respond/response.h"

namespace aster::ensemble {

// The member's next text, on the thread that computes it.
class SpanParticipant::Drafting final : public respond::Listener {
 public:
  // `ahead`: it writes span after span, until it is stopped; or null.
  Drafting(const SpanParticipant& participant, Span begun, uint64_t most_tokens,
           std::shared_ptr<Ahead> ahead, std::shared_ptr<Ticket> ticket)
      : tokenizer_(*participant.member_.model.tokenizer),
        ignores_end_(participant.own_.settings.ignores_end),
        most_tokens_(most_tokens),
        post_(participant.post_),
        prompt_(participant.own_.prompt),
        ahead_(std::move(ahead)),
        ticket_(std::move(ticket)),
        response_(participant.member_.model,
                  SettingsFor(participant, most_tokens - begun.tokens.size(), ahead_ != nullptr),
                  prompt_, participant.own_.masks, *this),
        begun_(std::move(begun)) {
    for (const int32_t token : begun_.tokens) cutter_.Push(BytesOf(tokenizer_, token));
  }

  respond::Response& response() { return response_; }
  bool is_cut() const { return is_cut_; }

 private:
  static respond::Settings SettingsFor(const SpanParticipant& participant, uint64_t most_tokens,
                                       bool goes_on) {
    respond::Settings settings = participant.own_.settings;
    // The agreed text is searched for what ends the answer.
    settings.stops.clear();
    settings.max_tokens =
        goes_on ? most_tokens : std::min<uint64_t>(most_tokens, kMostSpanTokens + 1);
    return settings;
  }

  void OnToken(const engine::Delta& delta) override {
    if (is_cut_) return;
    const int32_t token = delta.choice.id;
    Add({.id = token, .logprob = delta.choice.logprob, .text = std::string(delta.text)},
        !ignores_end_ && tokenizer_.vocab().IsEndOfGeneration(token));
  }
  void OnPiece(const respond::Piece& /*piece*/) override {}

  void Add(EarlyToken token, bool ends) {
    const std::string_view bytes = BytesOf(tokenizer_, token.id);
    written_.push_back(std::move(token));
    if (ends || !cutter_.Push(bytes)) return;
    is_cut_ = ahead_ == nullptr;
    if (is_cut_) return;
    post_([ahead = ahead_, span = TakeSpan(CountToCut())](SpanParticipant& participant) {
      participant.OnDrafted(ahead, span);
    });
    // Tokens after the cut belong to the next span.
    cutter_ = SpanCutter();
    for (EarlyToken& early : std::exchange(written_, {})) Add(std::move(early), /*ends=*/false);
  }

  // Of the written tokens: up to the cut of the span, or to its last whole character.
  size_t CountToCut() const {
    return cutter_.tokens() - std::min(cutter_.tokens(), begun_.tokens.size());
  }
  Span TakeSpan(size_t count) {
    Span span = std::exchange(begun_, {});
    for (size_t i = 0; i < count; ++i) {
      span.tokens.push_back(written_[i].id);
      span.logprobs.push_back(written_[i].logprob);
      span.text += written_[i].text;
    }
    written_.erase(written_.begin(), written_.begin() + static_cast<ptrdiff_t>(count));
    return span;
  }

  void OnEnd(const respond::End& end) override {
    const engine::Finish& finish = end.finish;
    if (end.status.ok() && end.is_cancelled && ahead_ && ahead_->is_stopped) {
      return ticket_->Over(
          [ahead = ahead_, begun = TakeSpan(CountToCut()), finish](SpanParticipant& participant) {
            participant.Count(finish);
            participant.OnAheadStopped(ahead, begun);
          });
    }
    Status status = end.status;
    if (!is_cut_ && end.is_cancelled) status = Error(Code::kCancelled, "the answer was cancelled");
    ticket_->Over(
        [ahead = ahead_, span = LastSpan(finish), finish, status](SpanParticipant& participant) {
          participant.Count(finish);
          participant.OnDraftOver(ahead, span, status);
        });
  }
  Span LastSpan(const engine::Finish& finish) {
    if (is_cut_) {
      Span span = TakeSpan(CountToCut());
      if (written_.size() == 1 && !EndsWithinCharacter(BytesOf(tokenizer_, written_[0].id)))
        span.early = written_[0];
      return span;
    }
    const bool has_all = begun_.tokens.size() + written_.size() >= most_tokens_;
    SpanLimit limit = SpanLimit::kNone;
    if (finish.reason == engine::FinishReason::kContext) limit = SpanLimit::kContext;
    if (finish.reason == engine::FinishReason::kLength && (ahead_ || has_all))
      limit = SpanLimit::kTokens;
    const bool has_ended = finish.reason == engine::FinishReason::kStopToken;
    const bool is_last = has_ended || limit != SpanLimit::kNone;
    Span span = TakeSpan(is_last || CountToCut() == 0 ? written_.size() : CountToCut());
    if (!is_last) return span;
    span.has_ended = has_ended;
    span.limit = limit;
    span.text += finish.text;
    return span;
  }

  const text::Tokenizer& tokenizer_;
  const bool ignores_end_;
  const uint64_t most_tokens_;  // of all spans, with the begun one
  const Post post_;
  const respond::Prompt prompt_;
  const std::shared_ptr<Ahead> ahead_;
  const std::shared_ptr<Ticket> ticket_;
  respond::Response response_;
  SpanCutter cutter_;
  bool is_cut_ = false;
  Span begun_;                       // written before
  std::vector<EarlyToken> written_;  // of the span, after that
};

SpanParticipant::SpanParticipant(const Member& member, const Question& question,
                                 uint64_t conversation)
    : member_(member), conversation_(conversation), client_(question.client) {
  if (member.weight == 0) return;
  auto prepared = PrepareQuestion(member, question);
  is_askable_ = prepared.ok();
  if (prepared.ok()) {
    own_ = *std::move(prepared);
  } else {
    absence_ = last_absence_ = prepared.error();
  }
}

SpanParticipant::~SpanParticipant() { *is_dropped_ = true; }

void SpanParticipant::Forget() {
  if (has_begun_) member_.engine->Forget(conversation_);
}

void SpanParticipant::Leave(Error why) {
  if (!absence_) absence_ = last_absence_ = std::move(why);
  owed_ += std::exchange(in_flight_, 0);
  ahead_.reset();
  unchecked_.clear();
  ++round_;
  *is_dropped_ = true;
  is_dropped_ = std::make_shared<std::atomic<bool>>(false);
  has_caught_up_ = false;
}

std::shared_ptr<SpanParticipant::Ticket> SpanParticipant::NewTicket() {
  return std::make_shared<Ticket>(post_, round_);
}

void SpanParticipant::Submit(Work work, const std::shared_ptr<Ticket>& ticket) {
  ++in_flight_;
  work.client = client_;
  work.conversation = conversation_;
  work.is_followup = std::exchange(has_begun_, true);
  work.on_refused = [ticket](const Error& error) {
    ticket->Over([error](SpanParticipant& participant) { participant.Leave(error); });
  };
  member_.engine->Begin(std::move(work));
}

void SpanParticipant::OnOver(uint64_t round, const std::function<void(SpanParticipant&)>& then) {
  if (round != round_) {
    --owed_;
    return;
  }
  --in_flight_;
  then(*this);
  CheckWhereReady();
}

void SpanParticipant::Count(const engine::Finish& finish) {
  // The first request has the prompt's counts.
  const bool is_first = counts_.prompt == 0;
  if (is_first) {
    counts_.prompt = own_.prompt.tokens.size();
    counts_.cached = finish.counts.cached;
    times_ = finish.times;
  } else {
    times_.decode_ns += finish.times.prefill_ns + finish.times.decode_ns;
  }
  computed_tokens_ += ComputedTokens(finish.counts);
  counts_.generated += finish.counts.generated;
  counts_.replayed += finish.counts.replayed;
  counts_.drafts += finish.counts.drafts;
}

void SpanParticipant::Read() {
  const auto ticket = NewTicket();
  Work work{.prompt = own_.prompt.tokens};
  // The row after the last token is wanted with the tokens after it.
  if (work.prompt.size() > 1) work.prompt.pop_back();
  work.request.max_tokens = 0;
  work.request.context_limit = own_.settings.context_limit;
  work.request.on_finish = [ticket](const engine::Finish& finish) {
    ticket->Over([finish](SpanParticipant& participant) {
      participant.Count(finish);
      if (!finish.status.ok()) participant.Leave(finish.status.error());
    });
  };
  work.is_gone = [dropped = is_dropped_] { return dropped->load(); };
  Submit(std::move(work), ticket);
}

void SpanParticipant::Prepare(uint64_t most_tokens) {
  if (member_.is_elsewhere) return StartDraft({}, most_tokens, {}, /*is_wanted=*/false);
  Read();
}

void SpanParticipant::Draft(uint64_t most_tokens) { DraftAfter({}, early_, most_tokens); }

// Whether the spans written ahead are the same as if it began now, with this number of tokens left.
// (Their own limit is reduced by the member's own tokens, this one by the author's.)
bool SpanParticipant::HasAheadOf(uint64_t most_tokens) const {
  return ahead_ && (ahead_->most_tokens == most_tokens ||
                    std::min(ahead_->most_tokens, most_tokens) > kLongestSpanTokens);
}

Span SpanParticipant::Ahead::TakeFirst() {
  Span first = std::move(spans.front());
  spans.pop_front();
  most_tokens -= std::min<uint64_t>(most_tokens, first.tokens.size());
  return first;
}

void SpanParticipant::DraftAfter(std::span<const int32_t> behind,
                                 const std::optional<EarlyToken>& early, uint64_t most_tokens) {
  draft_.reset();
  if (!HasAheadOf(most_tokens)) DropAhead();
  const bool is_over = !ahead_ || ahead_->is_over || ahead_->is_stopped;
  if (is_over && (!ahead_ || ahead_->spans.empty())) {
    // A token that was written too early is the first of the next span.
    Span begun = ahead_ ? std::move(ahead_->begun) : Span();
    if (!ahead_ && early)
      begun = {.text = early->text, .tokens = {early->id}, .logprobs = {early->logprob}};
    return StartDraft(std::move(begun), most_tokens, behind, /*is_wanted=*/true);
  }
  ahead_->is_after_own = true;
  ahead_->is_wanted = ahead_->spans.empty();
  if (!ahead_->is_wanted) draft_ = ahead_->TakeFirst();
}

// The request in flight is awaited, so that its KV rows can be used later.
void SpanParticipant::StopAhead() {
  if (ahead_) ahead_->is_stopped = true;
}
void SpanParticipant::DropAhead() {
  StopAhead();
  ahead_.reset();
}

void SpanParticipant::OnDrafted(const std::shared_ptr<Ahead>& ahead, const Span& span) {
  if (ahead != ahead_) return;
  if (!ahead) {
    draft_ = span;
    return;
  }
  ahead->spans.push_back(span);
  if (std::exchange(ahead->is_wanted, false)) draft_ = ahead->TakeFirst();
}

void SpanParticipant::OnAheadStopped(const std::shared_ptr<Ahead>& ahead, const Span& begun) {
  ahead->is_over = true;
  ahead->begun = begun;
}

void SpanParticipant::OnDraftOver(const std::shared_ptr<Ahead>& ahead, const Span& span,
                                  const Status& status) {
  if (ahead != ahead_) return;
  if (!status.ok()) return Leave(status.error());
  if (ahead) ahead->is_over = true;
  OnDrafted(ahead, span);
}

void SpanParticipant::StartDraft(Span begun, uint64_t most_tokens, std::span<const int32_t> behind,
                                 bool is_wanted) {
  if (begun.tokens.size() >= most_tokens) begun = {};
  draft_.reset();
  ahead_.reset();
  if (member_.is_elsewhere) {
    ahead_ = std::make_shared<Ahead>();
    ahead_->is_wanted = ahead_->is_after_own = is_wanted;
    ahead_->most_tokens = most_tokens;
  }
  const auto ticket = NewTicket();
  // A proposal instead of a draft is a branch, as the draft's rows must stay.
  Work work{.prompt = own_.prompt.tokens, .is_branch = !checks_.empty()};
  work.prompt.insert(work.prompt.end(), tokens_.begin(), tokens_.end());
  work.prompt.insert(work.prompt.end(), behind.begin(), behind.end());
  work.prompt.insert(work.prompt.end(), begun.tokens.begin(), begun.tokens.end());
  const auto drafting =
      std::make_shared<Drafting>(*this, std::move(begun), most_tokens, ahead_, ticket);
  work.request = drafting->response().MakeRequest(drafting);
  work.is_gone = [drafting, ahead = ahead_, dropped = is_dropped_] {
    return *dropped || drafting->is_cut() || (ahead && ahead->is_stopped);
  };
  Submit(std::move(work), ticket);
}

void SpanParticipant::DraftInstead(const Span& span, size_t number, uint64_t most_tokens) {
  draft_.reset();
  // Up to its first different token the text is written already.
  const Checked& checked = checks_[number];
  Span begun;
  if (checked.base == tokens_.size()) {
    const text::Tokenizer& tokenizer = *member_.model.tokenizer;
    SpanCutter cutter;
    for (size_t i = 0; i < checked.agreed && i < checked.tokens.size(); ++i) {
      if (cutter.Push(BytesOf(tokenizer, checked.tokens[i]))) return;
    }
    begun.tokens.assign(checked.tokens.begin(),
                        checked.tokens.begin() + static_cast<ptrdiff_t>(cutter.tokens()));
    begun.logprobs.assign(checked.logprobs.begin(),
                          checked.logprobs.begin() + static_cast<ptrdiff_t>(cutter.tokens()));
    // A token that ends the answer has no text; a first token may have a leading space.
    const size_t count = checked.tokens.size() - (span.has_ended ? 1 : 0);
    const size_t all = ByteCount(tokenizer, std::span(checked.tokens).first(count));
    const size_t first = ByteCount(tokenizer, begun.tokens);
    const size_t extra = all - std::min(all, span.text.size());
    begun.text = span.text.substr(0, first - std::min(first, extra));
  }
  // It may have written that ahead already, and more.
  const bool has_more =
      HasAheadOf(most_tokens) &&
      (!ahead_->spans.empty() || ahead_->begun.tokens.size() > begun.tokens.size());
  if (has_more) return DraftAfter({}, std::nullopt, most_tokens);
  DropAhead();
  if (begun.tokens.size() < most_tokens)
    StartDraft(std::move(begun), most_tokens, {}, /*is_wanted=*/true);
}

Result<Checked> SpanParticipant::TokensOf(const Span& span) const {
  auto [base, tokens] =
      TRY(TokensOfSpan(member_, own_, {.text = agreed_, .tokens = tokens_}, span));
  return Checked{.base = base, .tokens = std::move(tokens), .has_ended = span.has_ended};
}

void SpanParticipant::Know(const Span& span, size_t number) {
  checks_.resize(std::max(checks_.size(), number + 1));
  checks_[number] = {.log_probability = SumOf(span.logprobs),
                     .base = tokens_.size(),
                     .tokens = span.tokens,
                     .has_ended = span.has_ended,
                     .logprobs = span.logprobs,
                     .agreed = span.tokens.size(),
                     .is_own = true};
}

void SpanParticipant::Take(const Span& span, std::optional<size_t> number, bool is_own) {
  Checked taken;
  if (number && *number < checks_.size() && checks_[*number].is_rated()) {
    taken = checks_[*number];
  } else {
    auto tokens = TokensOf(span);
    if (!tokens.ok()) return Leave(tokens.error());
    taken = *std::move(tokens);
  }
  if (!is_own && !ContinuesAfter(taken)) DropAhead();
  if (ahead_) ahead_->is_after_own = false;
  agreed_ += span.text;
  tokens_.resize(taken.base);
  tokens_.insert(tokens_.end(), taken.tokens.begin(), taken.tokens.end());
  logprobs_.resize(std::min(logprobs_.size(), taken.base));
  if (logprobs_.size() == taken.base)
    logprobs_.insert(logprobs_.end(), taken.logprobs.begin(), taken.logprobs.end());
  checks_.clear();
  draft_.reset();
  early_ = is_own ? span.early : std::nullopt;
}

// It has written the same ahead, and more after it.
bool SpanParticipant::ContinuesAfter(const Checked& taken) {
  const bool has_same = ahead_ && !ahead_->is_after_own && taken.base == tokens_.size() &&
                        !ahead_->spans.empty() && ahead_->spans.front().tokens == taken.tokens;
  if (has_same) ahead_->TakeFirst();
  return has_same;
}

std::vector<int32_t> SpanParticipant::AnswerTokens() const {
  const text::Tokenizer& tokenizer = *member_.model.tokenizer;
  text::StreamDecoder decoder(
      tokenizer,
      {.skip_control = true, .begins_text = BeginsText(tokenizer.vocab(), own_.prompt.tokens)});
  engine::StopStrings stops(own_.settings.stops);
  std::string shown;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    std::string text;
    if (!tokenizer.vocab().Contains(tokens_[i])) continue;
    CHECK(decoder.Push(tokens_[i], text).ok());
    stops.Push(text, shown);
    if (stops.found()) return {tokens_.begin(), tokens_.begin() + static_cast<ptrdiff_t>(i) + 1};
  }
  return tokens_;
}

double SpanParticipant::log_probability() const { return SumOf(logprobs_); }

}  // namespace aster::ensemble
