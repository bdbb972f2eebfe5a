// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// One member's part in an answer that is written span by span: what it would write next, how
// probable it finds what others would, and its own tokens of what is agreed. Must not know the
// other members, nor what is decided by it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ensemble/answer.h"
#include "ensemble/mixture.h"
#include "ensemble/question.h"
#include "ensemble/span.h"
#include "ensemble/span_rating.h"

namespace aster::ensemble {

// What a member finds of a span.
struct Checked {
  double log_chance = kImpossible;  // natural logarithm, behind what is agreed
  // Its own tokens for it, which follow the first `base` of those that it has. `has_ended`: the
  // last one is any that ends the answer.
  size_t base = 0;
  std::vector<int32_t> tokens = {};
  bool has_ended = false;
  std::vector<float> logprobs = {};  // of the tokens, from the first; all where it is rated
  size_t agreed = 0;                 // of the tokens, from the first, it would have written too
  bool is_own = false;               // it has written it
  bool differs = false;              // what it has written goes on otherwise behind those

  bool is_rated() const { return !tokens.empty() && logprobs.size() == tokens.size(); }
  bool agrees() const { return is_rated() && agreed == tokens.size(); }
};

// A span that could be next, and its number.
struct Numbered {
  const Span& span;
  size_t number;
};

// Belongs to the ensemble's thread. Requests of a voice that is no more end by themselves.
class SpanVoice {
 public:
  // Calls the function with this voice on the ensemble's thread, unless the question is no more;
  // safe for concurrent use.
  using Post = std::function<void(std::function<void(SpanVoice&)>)>;

  // On any thread. The member outlives it. `conversation` is a number of its own.
  SpanVoice(const Member& member, const Question& question, uint64_t conversation);
  ~SpanVoice();
  SpanVoice(const SpanVoice&) = delete;
  SpanVoice& operator=(const SpanVoice&) = delete;

  void Begin(Post post) { post_ = std::move(post); }
  // Gives back what its engine has kept.
  void Forget();

  // Its member has a weight and can have the question.
  bool is_askable() const { return is_askable_; }
  // Nothing keeps it from the next span.
  bool is_present() const { return is_askable_ && !absence_; }
  bool is_awaited() const { return is_present() && (!unchecked_.empty() || IsBusy()); }
  // At a boundary. An absent member that owes nothing more computes what it has missed, and is not
  // waited for. It is there again at the boundary where it has caught up with the others.
  void Return();
  bool is_returning() const { return is_askable_ && absence_ && in_flight_ > 0; }
  // Where no other is there: what it has missed is waited for.
  void ReturnAtOnce();
  // It is waited for no more. Requests in flight are cancelled.
  void Leave(Error why);
  void Miss() { ++missed_; }

  // While another drafts the first span. On other machines it writes what it would, had it to
  // draft: as far as that is the draft nothing is to be checked, and where it differs its own
  // proposal has begun. Here it computes its prompt, so that it can check at once.
  void Prepare(uint64_t most_tokens);
  // What it would write next, of at most `most_tokens`. On other machines it goes on behind that,
  // here and in what follows, until it is told to stop: the next span may then be there already.
  void Draft(uint64_t most_tokens);
  // It stops going on, so that it can check, and goes on later from what it has written.
  void StopAhead();
  // What it has written ahead is not wanted: another span is taken, or there is none behind it.
  void DropAhead();
  // What it would write instead of a span that it has checked. No draft where that is nothing else.
  void DraftInstead(const Span& span, size_t number, uint64_t most_tokens);
  // What it would write behind this proposal of its own.
  void GoOn(const Span& own, uint64_t most_tokens) {
    DraftBehind(own.tokens, own.early, most_tokens);
  }
  const std::optional<Span>& draft() const { return draft_; }
  std::optional<Span> TakeDraft() { return std::exchange(draft_, std::nullopt); }
  // What it finds of spans. It computes what it has not written itself by then, all at once.
  void Check(const std::vector<Numbered>& spans);
  const Checked& checked(size_t number) const { return checks_[number]; }
  bool knows(size_t number) const { return number < checks_.size() && checks_[number].is_rated(); }
  // It wrote the span with this number itself, and so knows all of it.
  void Know(const Span& span, size_t number);

  // The span is agreed; its number, where it was checked.
  void Take(const Span& span, std::optional<size_t> number, bool is_own);
  // All that is agreed in its own tokens, to the one in which a stop string ends.
  std::vector<int32_t> AnswerTokens() const;
  // Of all that is agreed, as far as it has rated it.
  double log_chance() const;

  const respond::Prompt& prompt() const { return own_.prompt; }
  const respond::Settings& settings() const { return own_.settings; }
  const engine::RequestCounts& counts() const { return counts_; }
  const engine::RequestTimes& times() const { return times_; }
  uint64_t rated_tokens() const { return rated_tokens_; }
  uint64_t computed_tokens() const { return computed_tokens_; }
  uint64_t missed_spans() const { return missed_; }
  // The last reason, also of one that has come back.
  const std::optional<Error>& absence() const { return last_absence_; }

 private:
  class Drafting;
  // Says once that a request is over, at the latest when nothing knows of it any more.
  class Ticket {
   public:
    using Then = std::function<void(SpanVoice&)>;

    Ticket(Post post, uint64_t round) : post_(std::move(post)), round_(round) {}
    ~Ticket() {
      Over([](SpanVoice&) {});
    }
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;

    void Over(Then then) {
      if (is_over_.exchange(true)) return;
      post_([round = round_, then = std::move(then)](SpanVoice& voice) {
        voice.OnOver(round, then);
      });
    }

   private:
    const Post post_;
    const uint64_t round_;
    std::atomic<bool> is_over_ = false;
  };
  // Span after span, before it is known whether they are wanted: behind what is agreed, and behind
  // its own proposal where there is one.
  struct Ahead {
    std::atomic<bool> is_stopped = false;
    bool is_wanted = false;  // the next span is waited for
    bool is_over = false;
    bool is_behind_own = false;   // proposal
    uint64_t most_tokens = 0;     // from the first of the spans on
    std::deque<Span> spans = {};  // written, and not drafts yet
    Span begun = {};              // behind those, where it is over

    Span TakeFirst();
  };

  Result<Checked> TokensOf(const Span& span) const;
  void CheckWhereReady();
  void SubmitCheck(size_t number);
  // Rates the tokens behind the history, of which `missed` are agreed; then(rating) where it could.
  void SubmitRating(std::vector<int32_t> history, std::vector<int32_t> tokens, size_t missed,
                    bool has_ended, std::function<void(SpanVoice&, const SpanRating&)> then);
  void CatchUp();
  void OnCaughtUp(size_t first, std::span<const int32_t> tokens, std::span<const float> logprobs);
  void RateFromOwn(Checked& checked) const;
  void Read();
  void Submit(Work work, const std::shared_ptr<Ticket>& ticket);
  std::shared_ptr<Ticket> NewTicket();
  void OnOver(uint64_t round, const std::function<void(SpanVoice&)>& then);
  // `behind`: tokens that are not agreed yet; `early`: the one behind those, where it is known.
  void DraftBehind(std::span<const int32_t> behind, const std::optional<EarlyToken>& early,
                   uint64_t most_tokens);
  void StartDraft(Span begun, uint64_t most_tokens, std::span<const int32_t> behind,
                  bool is_wanted);
  bool HasAheadOf(uint64_t most_tokens) const;
  bool GoesOnBehind(const Checked& taken);
  void OnDrafted(const std::shared_ptr<Ahead>& ahead, const Span& span);
  void OnAheadStopped(const std::shared_ptr<Ahead>& ahead, const Span& begun);
  void OnDraftOver(const std::shared_ptr<Ahead>& ahead, const Span& span, const Status& status);
  bool IsAheadAlone() const {
    return ahead_ && !ahead_->is_wanted && !ahead_->is_over && !ahead_->is_stopped;
  }
  // Something is in flight that is to end.
  bool IsBusy() const { return in_flight_ > (IsAheadAlone() ? 1U : 0U); }
  void OnChecked(size_t number, std::span<const float> logprobs, size_t agreed);
  void Count(const engine::Finish& finish);

  const Member& member_;
  const uint64_t conversation_;
  const std::string client_;
  PreparedQuestion own_;
  bool is_askable_ = false;
  Post post_;

  // Requests belong to a round; those of an earlier one are not waited for.
  uint64_t round_ = 0;
  std::shared_ptr<std::atomic<bool>> is_dropped_ = std::make_shared<std::atomic<bool>>(false);
  size_t in_flight_ = 0;
  std::shared_ptr<Ahead> ahead_;  // or null
  size_t owed_ = 0;               // requests of earlier rounds that have not ended
  bool has_caught_up_ = false;    // since it left; others may have written more since
  size_t caught_up_tokens_ = 0;   // that it has computed for that, the last time
  std::optional<Error> absence_;
  std::optional<Error> last_absence_;

  std::string agreed_;               // text behind the prompt
  std::vector<int32_t> tokens_;      // of it, its own
  std::vector<float> logprobs_;      // of the first of those; it has missed the rest
  std::optional<EarlyToken> early_;  // behind what is agreed
  std::optional<Span> draft_;
  std::vector<Checked> checks_;    // by number
  std::vector<size_t> unchecked_;  // numbers of those that are to be computed

  engine::RequestCounts counts_;
  engine::RequestTimes times_;
  bool has_begun_ = false;  // a request
  uint64_t rated_tokens_ = 0;
  uint64_t computed_tokens_ = 0;
  uint64_t missed_ = 0;
};

}  // namespace aster::ensemble
