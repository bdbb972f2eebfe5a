// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// One member's part in one question: its own response, and its ratings of the others'. Must not
// know the other members, nor what is decided by it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chat/dialect.h"
#include "engine/sampler.h"
#include "ensemble/answer.h"
#include "ensemble/member.h"
#include "ensemble/question.h"
#include "respond/response.h"
#include "respond/run.h"

namespace aster::ensemble {

// A member's text, with all that another member needs to rate it.
struct WrittenText {
  std::string text;    // as written
  std::string forced;  // the beginning that the prompt forced
  // For texts with calls or reasoning: their markup. Plain text is the same for all.
  chat::Family family = chat::Family::kPlain;
  bool has_ended = false;  // by itself, not by a limit or a stop string

  // The end is rated like a byte.
  uint64_t bytes() const { return text.size() + 1; }
  bool operator==(const WrittenText&) const = default;
};

// A member's finished response.
struct FinishedResponse {
  WrittenText written;
  respond::Answered answered;
  std::vector<AnswerPiece> pieces;
  std::vector<float> logprobs;  // [tokens of the answer]
  respond::EndReason reason = respond::EndReason::kStop;
  respond::Usage usage;
  Status status;
};

// Belongs to the ensemble's thread. Requests end by themselves once their participant is gone.
class Participant {
 public:
  // Calls the function with this participant on the ensemble's thread, unless the question is gone;
  // safe for concurrent use.
  using Post = std::function<void(std::function<void(Participant&)>)>;

  // Constructed on any thread. The member outlives it. A member that cannot take the question is
  // absent. `conversation`: a unique number.
  Participant(const Member& member, const Question& question, uint64_t conversation);
  ~Participant();
  Participant(const Participant&) = delete;
  Participant& operator=(const Participant&) = delete;

  void Start(Post post);
  // Releases what its engine has kept.
  void Forget();
  // Rates the candidate with that number, possibly another member's.
  void Rate(const WrittenText& written, size_t candidate);
  // It drops out. Requests in flight are cancelled.
  void Leave(Error why);

  bool is_awaited() const { return awaited_ > 0 && !has_left_; }
  bool has_answered() const { return has_answered_; }
  // Why it has no answer, or no ratings.
  const std::optional<Error>& absence() const { return absence_; }
  // The member has a weight, and can take the question.
  bool is_askable() const { return member_.weight > 0 && !absence_; }

  const respond::Prompt& prompt() const { return own_.prompt; }

  const WrittenText& written() const { return finished_.written; }
  const FinishedResponse& finished() const { return finished_; }
  // Natural logarithm, by candidate; kImpossible if not rated.
  double LogProbability(size_t candidate) const;
  uint64_t rated_tokens() const { return rated_tokens_; }
  uint64_t computed_tokens() const { return computed_tokens_; }

 private:
  // The part that the computing threads use.
  class ResponseListener;
  class Rating;

  Result<std::vector<int32_t>> TokensOf(const WrittenText& written) const;
  Status TryRate(const WrittenText& written, size_t candidate);
  void Begin(Work work);
  void OnFinished(std::shared_ptr<FinishedResponse> finished);
  void OnRated(size_t candidate, const Rating& rating, const engine::Finish& finish);
  void OnRefused(const Error& error);

  const Member& member_;
  const uint64_t conversation_;
  const bool wants_logprobs_;
  const std::string client_;
  PreparedQuestion own_;  // the question as the member sees it
  Post post_;
  const std::shared_ptr<std::atomic<bool>> is_dropped_ = std::make_shared<std::atomic<bool>>(false);
  size_t awaited_ = 0;  // requests that have not ended

  FinishedResponse finished_;
  bool has_answered_ = false;
  bool has_left_ = false;
  std::optional<Error> absence_;
  std::vector<double> log_probabilities_;  // by candidate
  uint64_t rated_tokens_ = 0;
  uint64_t computed_tokens_ = 0;
};

}  // namespace aster::ensemble
