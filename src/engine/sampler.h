// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The sampler: chooses the next token from a model's logits. A pure function of options, logits and
// history: chance is addressed by seed and position, so that going back, resuming and speculative
// decoding draw the same again. Must not know models, sequences or text. What is done in which
// order: docs/engine.md.
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

// In the order in which they come into play.
struct SamplingOptions {
  // Penalties look at the last `penalty_window` tokens of the history, prompt included (0: at all).
  uint32_t penalty_window = 64;
  float repetition_penalty = 1;  // divides logits above zero, multiplies those below; 1: none
  float frequency_penalty = 0;   // subtracted for every time that the token stands there
  float presence_penalty = 0;    // subtracted once if it does
  std::vector<TokenBias> biases = {};

  // What is left to choose from; these look at probabilities before `temperature` changes them.
  uint32_t top_k = 40;       // this many most likely ones; 0: all
  float typical_p = 1;       // the most typical with this probability together; 1: all
  float top_p = 0.95F;       // the most likely with this probability together; 1: all
  float min_p = 0.05F;       // at least this likely, the most likely being 1; 0: all
  float temperature = 0.8F;  // 0: always the most likely, of several the lowest id

  uint64_t seed = 0;

  bool logprobs = false;      // of the chosen token
  uint32_t top_logprobs = 0;  // and of this many most likely ones

  bool operator==(const SamplingOptions&) const = default;
};

inline constexpr uint32_t kMaxTopLogprobs = 1024;

// Names the first bad value and what is allowed.
Status CheckSampling(const SamplingOptions& options, uint32_t vocab_size);

struct TokenLogprob {
  int32_t id;
  float logprob;
  bool operator==(const TokenLogprob&) const = default;
};

// Natural logarithms of the model's own probabilities, before anything here has changed them.
struct Choice {
  int32_t id = -1;
  float logprob = 0;                   // 0 unless logprobs or top_logprobs asked for it
  std::vector<TokenLogprob> top = {};  // the most likely first
  bool operator==(const Choice&) const = default;
};

// May change the logits [vocab_size] of the token that follows `history`, after penalties and
// biases: minus infinity forbids a token. Must be a pure function of what it is given, or a replay
// chooses differently.
using LogitsEditor = std::function<void(std::span<const int32_t> history, std::span<float> logits)>;

// Keeps scratch memory of a few bytes for every token of the vocabulary. Not for concurrent use.
class Sampler {
 public:
  // Options that CheckSampling accepts. The instruction set changes no choice, only the speed.
  Sampler(SamplingOptions options, uint32_t vocab_size, kernels::Isa isa = kernels::FastestIsa(),
          LogitsEditor editor = nullptr);

  // The token after `history`, whose length is its position. An error where a logit is NaN or plus
  // infinity, or where every token is impossible.
  Result<Choice> Choose(std::span<const float> logits, std::span<const int32_t> history);

  // What Choose says of a token that was chosen before: its log-probability and the others'.
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
