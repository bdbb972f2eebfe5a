// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// One member's part in one question: its own response, and how probable it finds the others'. Must
// not know the other members, nor what is decided by it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chat/dialect.h"
#include "engine/sampler.h"
#include "engine/sequence.h"
#include "ensemble/member.h"
#include "respond/response.h"
#include "respond/run.h"

namespace aster::ensemble {

struct Question {
  respond::Conversation conversation = {};
  respond::Settings settings = {};
  // The response is its text alone: no reasoning or calls are looked for in it.
  bool is_raw = false;
};

// What a member wrote, with all that another member needs to rate it.
struct Written {
  std::string text;    // as it was written
  std::string forced;  // what stands before it, by the prompt
  // Of one that has calls or reasoning: how they are written. Plain text is the same for all.
  chat::Family family = chat::Family::kPlain;
  bool has_ended = false;  // by itself, not by a limit or a stop string

  // Its end is rated like a byte.
  uint64_t bytes() const { return text.size() + 1; }
  bool operator==(const Written&) const = default;
};

// Belongs to the thread that steps the member's generator. Outlives its requests: it may be
// destroyed when is_busy() is false.
class Voice final : public respond::Listener {
 public:
  // The member outlives it.
  Voice(const Member& member, const Question& question);
  Voice(const Voice&) = delete;
  Voice& operator=(const Voice&) = delete;

  // What is refused or fails makes it absent.
  void Ask(const Question& question);
  // Rates the candidate with that number, which need not be its own.
  void Rate(const Written& written, size_t candidate);
  // It is waited for no more. Requests in flight are cancelled.
  void Leave(Error why);
  // A response that has said all that is wanted need not be waited for.
  void EndIfComplete();

  // Requests that are not finished.
  bool is_busy() const { return in_flight_ > 0; }
  bool is_awaited() const { return is_busy() && !has_left_; }
  bool has_answered() const { return has_answered_; }
  // Why it has no answer, or no ratings.
  const std::optional<Error>& absence() const { return absence_; }

  const Written& written() const { return written_; }
  const respond::Answered& answered() const { return answered_; }
  // Natural logarithm, by candidate; kImpossible where it was not rated.
  double LogChance(size_t candidate) const;
  uint64_t rated_tokens() const { return rated_tokens_; }

 private:
  // A text that is computed behind the prompt.
  struct Rating {
    engine::Sequence sequence;
    engine::Sampler sampler;      // for its probabilities alone
    std::vector<int32_t> tokens;  // to rate, in order
    size_t next = 0;              // of them
    double log_chance = 0;        // of those before
    Status status = {};
    engine::RequestId id = 0;
  };

  Status TryAsk(const Question& question);
  Status TryRate(const Written& written, size_t candidate);
  Result<std::vector<int32_t>> TokensOf(const Written& written) const;
  void TakeRow(Rating& rating, std::span<const float> logits);
  void FinishRating(Rating& rating, size_t candidate, const engine::Finish& finish);

  void OnToken(const engine::Delta& delta) override;
  void OnPiece(const respond::Piece& piece) override;
  void OnEnd(const respond::End& end) override;

  const Member& member_;
  const bool wants_logprobs_;
  const respond::Settings settings_;
  respond::Prompt prompt_;
  std::unique_ptr<respond::Response> response_;
  std::optional<engine::Sequence> sequence_;
  engine::RequestId id_ = 0;
  size_t in_flight_ = 0;

  Written written_;
  respond::Answered answered_;
  std::vector<float> logprobs_;  // [tokens of the answer]
  bool has_answered_ = false;
  bool has_left_ = false;
  std::optional<Error> absence_;

  std::vector<std::unique_ptr<Rating>> ratings_;
  std::vector<double> log_chances_;  // by candidate
  uint64_t rated_tokens_ = 0;
};

}  // namespace aster::ensemble
