// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// One member's part in an answer that is written span by span: its next text, its ratings of
// others' texts, and its own tokens of the agreed text. Must not know the other members, nor what
// is decided by it.
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

// A member's rating of a span.
struct Checked {
  double log_probability = kImpossible;  // natural logarithm, after the agreed text
  // Its own tokens for it, which follow the first `base` of its agreed ones. `has_ended`: the last
  // one stands for any that ends the answer.
  size_t base = 0;
  std::vector<int32_t> tokens = {};
  bool has_ended = false;
  std::vector<float> logprobs = {};  // of the first tokens; of all once it is rated
  size_t agreed = 0;     // the number of tokens, from the first, that it would have written too
  bool is_own = false;   // it has written the span
  bool differs = false;  // its own text differs after those

  bool is_rated() const { return !tokens.empty() && logprobs.size() == tokens.size(); }
  bool agrees() const { return is_rated() && agreed == tokens.size(); }
};

// A span that could be next, with its number.
struct Numbered {
  const Span& span;
  size_t number;
};

// Belongs to the ensemble's thread. Requests end by themselves once their participant is gone.
class SpanParticipant {
 public:
  // Calls the function with this participant on the ensemble's thread, unless the question is gone;
  // safe for concurrent use.
  using Post = std::function<void(std::function<void(SpanParticipant&)>)>;

  // Constructed on any thread. The member outlives it. `conversation`: a unique number.
  SpanParticipant(const Member& member, const Question& question, uint64_t conversation);
  ~SpanParticipant();
  SpanParticipant(const SpanParticipant&) = delete;
  SpanParticipant& operator=(const SpanParticipant&) = delete;

  void Begin(Post post) { post_ = std::move(post); }
  // Releases what its engine has kept.
  void Forget();

  // The member has a weight and can take the question.
  bool is_askable() const { return is_askable_; }
  // It takes part in the next span.
  bool is_present() const { return is_askable_ && !absence_; }
  bool is_awaited() const { return is_present() && (!unchecked_.empty() || IsBusy()); }
  // It waits for the others. A member that writes ahead does so once it has written a span.
  bool is_ready() const {
    return is_present() && !is_awaited() && !(IsAheadAlone() && ahead_->spans.empty());
  }
  // Called at a boundary. An absent member without pending requests computes the tokens that it
  // missed, and is not awaited meanwhile. It takes part again from the boundary at which it has
  // caught up.
  void Return();
  bool is_returning() const { return is_askable_ && absence_ && in_flight_ > 0; }
  // If no other member is present: it is awaited until it has caught up.
  void ReturnAtOnce();
  // It drops out. Requests in flight are cancelled.
  void Leave(Error why);
  void Miss() { ++missed_; }

  // Called while another member drafts the first span. On other machines it writes what it would
  // draft itself: tokens equal to the draft need no check, and from the first different one its own
  // proposal has begun. Here it computes its prompt, so that it can check at once.
  void Prepare(uint64_t most_tokens);
  // Drafts its next span, of at most `most_tokens`. On other machines it continues after that until
  // it is stopped, also in later drafts: the next span may then exist already.
  void Draft(uint64_t most_tokens);
  // Stops writing ahead, so that it can check; it continues later from the written text.
  void StopAhead();
  // Discards the text written ahead: another span was taken, or it was the last.
  void DropAhead();
  // Drafts a span in place of one that it has checked. No draft if it would be the same.
  void DraftInstead(const Span& span, size_t number, uint64_t most_tokens);
  // Drafts the text after this proposal of its own.
  void DraftAfterOwn(const Span& own, uint64_t most_tokens) {
    DraftAfter(own.tokens, own.early, most_tokens);
  }
  const std::optional<Span>& draft() const { return draft_; }
  std::optional<Span> TakeDraft() { return std::exchange(draft_, std::nullopt); }
  // Rates spans. All tokens that it has not written itself are computed at once.
  void Check(const std::vector<Numbered>& spans);
  const Checked& checked(size_t number) const { return checks_[number]; }
  bool knows(size_t number) const { return number < checks_.size() && checks_[number].is_rated(); }
  // It wrote the span with this number itself, so its rating is known.
  void Know(const Span& span, size_t number);

  // The span is agreed; `number`: its number if it was checked.
  void Take(const Span& span, std::optional<size_t> number, bool is_own);
  // All agreed text in its own tokens, up to the one in which a stop string ends.
  std::vector<int32_t> AnswerTokens() const;
  // Of the agreed text that it has rated.
  double log_probability() const;

  const respond::Prompt& prompt() const { return own_.prompt; }
  const respond::Settings& settings() const { return own_.settings; }
  const engine::RequestCounts& counts() const { return counts_; }
  const engine::RequestTimes& times() const { return times_; }
  uint64_t rated_tokens() const { return rated_tokens_; }
  uint64_t computed_tokens() const { return computed_tokens_; }
  uint64_t missed_spans() const { return missed_; }
  // The last reason, also after it has returned.
  const std::optional<Error>& absence() const { return last_absence_; }

 private:
  class Drafting;
  // Reports the end of a request once, at the latest when nothing refers to it any more.
  class Ticket {
   public:
    using Then = std::function<void(SpanParticipant&)>;

    Ticket(Post post, uint64_t round) : post_(std::move(post)), round_(round) {}
    ~Ticket() {
      Over([](SpanParticipant&) {});
    }
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;

    void Over(Then then) {
      if (is_over_.exchange(true)) return;
      post_([round = round_, then = std::move(then)](SpanParticipant& participant) {
        participant.OnOver(round, then);
      });
    }

   private:
    const Post post_;
    const uint64_t round_;
    std::atomic<bool> is_over_ = false;
  };
  // Spans written before it is known whether they are wanted: after the agreed text, or after its
  // own proposal.
  struct Ahead {
    std::atomic<bool> is_stopped = false;
    bool is_wanted = false;  // the next span is awaited
    bool is_over = false;
    bool is_after_own = false;    // after its own proposal
    uint64_t most_tokens = 0;     // from the first of the spans on
    std::deque<Span> spans = {};  // written, not drafts yet
    Span begun = {};              // after those, once it is over

    Span TakeFirst();
  };

  Result<Checked> TokensOf(const Span& span) const;
  void CheckWhereReady();
  void SubmitCheck(size_t number);
  // Rates the tokens after the history; the first `missed` are agreed. Calls then(rating) on
  // success.
  void SubmitRating(std::vector<int32_t> history, std::vector<int32_t> tokens, size_t missed,
                    bool has_ended, std::function<void(SpanParticipant&, const SpanRating&)> then);
  void CatchUp();
  void OnCaughtUp(size_t first, std::span<const int32_t> tokens, std::span<const float> logprobs);
  void RateFromOwn(Checked& checked) const;
  void Read();
  void Submit(Work work, const std::shared_ptr<Ticket>& ticket);
  std::shared_ptr<Ticket> NewTicket();
  void OnOver(uint64_t round, const std::function<void(SpanParticipant&)>& then);
  // `behind`: tokens that are not agreed yet; `early`: the next one, if known.
  void DraftAfter(std::span<const int32_t> behind, const std::optional<EarlyToken>& early,
                  uint64_t most_tokens);
  void StartDraft(Span begun, uint64_t most_tokens, std::span<const int32_t> behind,
                  bool is_wanted);
  bool HasAheadOf(uint64_t most_tokens) const;
  bool ContinuesAfter(const Checked& taken);
  void OnDrafted(const std::shared_ptr<Ahead>& ahead, const Span& span);
  void OnAheadStopped(const std::shared_ptr<Ahead>& ahead, const Span& begun);
  void OnDraftOver(const std::shared_ptr<Ahead>& ahead, const Span& span, const Status& status);
  bool IsAheadAlone() const {
    return ahead_ && !ahead_->is_wanted && !ahead_->is_over && !ahead_->is_stopped;
  }
  // A request is in flight that will end.
  bool IsBusy() const { return in_flight_ > (IsAheadAlone() ? 1U : 0U); }
  void OnChecked(size_t number, std::span<const float> logprobs, size_t agreed);
  void Count(const engine::Finish& finish);

  const Member& member_;
  const uint64_t conversation_;
  const std::string client_;
  PreparedQuestion own_;
  bool is_askable_ = false;
  Post post_;

  // Requests belong to a round; those of earlier rounds are not awaited.
  uint64_t round_ = 0;
  std::shared_ptr<std::atomic<bool>> is_dropped_ = std::make_shared<std::atomic<bool>>(false);
  size_t in_flight_ = 0;
  std::shared_ptr<Ahead> ahead_;  // or null
  size_t owed_ = 0;               // unfinished requests of earlier rounds
  bool has_caught_up_ = false;    // since it dropped out; the others may have written more since
  size_t caught_up_tokens_ = 0;   // computed by its last catch-up
  std::optional<Error> absence_;
  std::optional<Error> last_absence_;

  std::string agreed_;               // text after the prompt
  std::vector<int32_t> tokens_;      // of agreed_, in its vocabulary
  std::vector<float> logprobs_;      // of the first of these; the rest is missed
  std::optional<EarlyToken> early_;  // after the agreed text
  std::optional<Span> draft_;
  std::vector<Checked> checks_;    // by number
  std::vector<size_t> unchecked_;  // numbers of spans to compute

  engine::RequestCounts counts_;
  engine::RequestTimes times_;
  bool has_begun_ = false;  // a request
  uint64_t rated_tokens_ = 0;
  uint64_t computed_tokens_ = 0;
  uint64_t missed_ = 0;
};

}  // namespace aster::ensemble
