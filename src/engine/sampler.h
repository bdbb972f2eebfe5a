// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The sampler: chooses the next token from a model's logits. A pure function of options, logits and
// history: randomness is addressed by seed and position, so that going back, resuming and
// speculative decoding draw the same again. Must not know models, sequences or text. docs/engine.md
// has the order of its steps.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/candidates.h"
#include "kernels/isa_choice.h"

namespace aster::engine {

struct TokenBias {
  int32_t id;
  float bias;  // added to the token's logit; minus infinity forbids it
  bool operator==(const TokenBias&) const = default;
};

// In the order in which they are applied.
struct SamplingOptions {
  // Penalties apply to the last `penalty_window` tokens of the history, prompt included (0: all).
  uint32_t penalty_window = 64;
  float repetition_penalty = 1;  // divides logits above zero, multiplies those below; 1: none
  float frequency_penalty = 0;   // subtracted for each occurrence of the token
  float presence_penalty = 0;    // subtracted once if it occurs
  std::vector<TokenBias> biases = {};

  // Filters; they use probabilities before `temperature` changes them.
  uint32_t top_k = 40;       // the N most likely ones; 0: all
  float typical_p = 1;       // the most typical ones with this total probability; 1: all
  float top_p = 0.95F;       // the most likely ones with this total probability; 1: all
  float min_p = 0.05F;       // at least this likely relative to the most likely one; 0: all
  float temperature = 0.8F;  // 0: always the most likely one, of equal ones the lowest id

  uint64_t seed = 0;

  bool logprobs = false;      // of the chosen token
  uint32_t top_logprobs = 0;  // and of this many of the most likely tokens

  bool operator==(const SamplingOptions&) const = default;
};

inline constexpr uint32_t kMaxTopLogprobs = 1024;

// The error names the first bad value and what is allowed.
Status CheckSampling(const SamplingOptions& options, uint32_t vocab_size);

struct TokenLogprob {
  int32_t id;
  float logprob;
  bool operator==(const TokenLogprob&) const = default;
};

// Natural logarithms of the model's own probabilities, before any option has changed them.
struct Choice {
  int32_t id = -1;
  float logprob = 0;                   // 0 unless logprobs or top_logprobs is set
  std::vector<TokenLogprob> top = {};  // the most likely first
  bool operator==(const Choice&) const = default;
};

// May change the logits [vocab_size] of the token that follows `history`, after penalties and
// biases: minus infinity forbids a token. Must be a pure function of its arguments, or a replay
// chooses differently.
using LogitsEditor = std::function<void(std::span<const int32_t> history, std::span<float> logits)>;

// Keeps a few bytes of scratch memory for every token of the vocabulary. Not for concurrent use.
class Sampler {
 public:
  // The options have passed CheckSampling. The instruction set only affects the speed.
  Sampler(SamplingOptions options, uint32_t vocab_size, kernels::Isa isa = kernels::FastestIsa(),
          LogitsEditor editor = nullptr);

  // The token after `history`, whose length is its position. An error if a logit is NaN or plus
  // infinity, or if every token is impossible.
  Result<Choice> Choose(std::span<const float> logits, std::span<const int32_t> history);

  // The Choice for a token that is already known: its log-probability and the others'.
  Result<Choice> Rate(std::span<const float> logits, int32_t id);

  const SamplingOptions& options() const { return options_; }

 private:
  bool HasPenalties() const;
  void Penalise(std::span<const int32_t> history);
  Result<std::span<const float>> Adjust(std::span<const float> logits,
                                        std::span<const int32_t> history);
  Result<int32_t> Draw(std::span<const float> scores, uint64_t position);
  void AddLogprobs(std::span<const float> logits, Choice& choice);

  // Constant after construction.
  const SamplingOptions options_;
  const uint32_t vocab_size_;
  const kernels::OpsTable& ops_;
  const LogitsEditor editor_;

  std::vector<float> scores_;     // [vocab_size]
  std::vector<uint32_t> counts_;  // [vocab_size], zeros between calls
  std::vector<int32_t> seen_;     // tokens with counts
  CandidateFinder finder_;
  std::vector<Candidate> candidates_;
};

}  // namespace aster::engine
