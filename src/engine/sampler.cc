// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/float_mode.h"
#include "base/random.h"
#include "kernels/math.h"

namespace aster::engine {
namespace {

constexpr float kImpossible = -std::numeric_limits<float>::infinity();
constexpr float kMaxScore = std::numeric_limits<float>::max();
constexpr float kMaxBias = 1e6F;

// NaN is refused, too. The name is that of the option in every interface.
Status CheckRange(std::string_view name, float value, float least, float most) {
  if (value >= least && value <= most) return Ok();
  return InvalidArgument(
      fmt::format("{} is {}; it must be from {} to {}", name, value, least, most));
}

Status CheckBiases(std::span<const TokenBias> biases, uint32_t vocab_size) {
  for (const TokenBias& bias : biases) {
    if (bias.id < 0 || static_cast<uint32_t>(bias.id) >= vocab_size) {
      return InvalidArgument(fmt::format("a bias for token {}; the vocabulary has tokens 0 to {}",
                                         bias.id, vocab_size - 1));
    }
    if (bias.bias == kImpossible) continue;
    TRY(CheckRange(fmt::format("the bias of token {}", bias.id), bias.bias, -kMaxBias, kMaxBias)
            .In("minus infinity forbids a token"));
  }
  return Ok();
}

// Logits that no sound model has: NaN or plus infinity.
bool IsBroken(float logit) { return !(logit <= kMaxScore); }

Status CheckLogits(std::span<const float> logits) {
  uint32_t broken = 0;  // counted without a branch, which is far faster
  for (const float logit : logits) broken += IsBroken(logit) ? 1 : 0;
  if (broken == 0) return Ok();
  const auto first = std::ranges::find_if(logits, IsBroken);
  return DataLoss(
      fmt::format("{} of {} logits are not numbers, the first that of token {} ({}): the model's "
                  "file is damaged, or its numbers overflow",
                  broken, logits.size(), first - logits.begin(), *first));
}

Error NothingPossible() {
  return FailedPrecondition("every token is forbidden by biases and other rules");
}

// The smallest whole number that is not less than `fraction` of the total; at least 1.
uint64_t PartOf(uint64_t total, float fraction) {
  const double exact = static_cast<double>(total) * static_cast<double>(fraction);
  const auto below = static_cast<uint64_t>(exact);
  return std::max<uint64_t>(1, static_cast<double>(below) < exact ? below + 1 : below);
}

// Keeps the candidates whose surprise is nearest to the average, as many as make up `fraction` of
// the probability. Weights must be set; scores are overwritten meanwhile.
void KeepTypical(float fraction, std::span<const float> scores,
                 std::vector<Candidate>& candidates) {
  const auto total = static_cast<double>(TotalWeight(candidates));
  float best = kImpossible;
  for (const Candidate& candidate : candidates) best = std::max(best, candidate.score);
  const double log_total = kernels::Log(total / kWeightOne);
  const auto nll = [&](const Candidate& candidate) {
    return log_total - (static_cast<double>(candidate.score) - static_cast<double>(best));
  };
  double entropy = 0;
  for (const Candidate& candidate : candidates) {
    if (candidate.weight == 0) continue;
    entropy += static_cast<double>(candidate.weight) / total * nll(candidate);
  }
  for (Candidate& candidate : candidates) {
    candidate.score = -static_cast<float>(std::abs(nll(candidate) - entropy));
  }
  KeepHeaviest(PartOf(TotalWeight(candidates), fraction), candidates);
  for (Candidate& candidate : candidates) {
    candidate.score = scores[static_cast<size_t>(candidate.id)];
  }
}

// Keeps the most likely ones that make up `top_p` of the probability, and of those the ones with at
// least `min_p` of the most likely one's. Weights must be set.
void KeepLikely(float top_p, float min_p, std::vector<Candidate>& candidates) {
  const uint64_t wanted = PartOf(TotalWeight(candidates), top_p);
  // Both keep a number of the most likely ones, so their order does not matter.
  if (min_p > 0) {
    const auto least = static_cast<uint64_t>(static_cast<double>(min_p) * kWeightOne);
    std::erase_if(candidates, [&](const Candidate& other) { return other.weight < least; });
  }
  if (top_p < 1) KeepNucleus(wanted, candidates);
}

}  // namespace

Status CheckSampling(const SamplingOptions& options, uint32_t vocab_size) {
  // Below this, differences of logits would overflow.
  constexpr float kLeastTemperature = 1e-5F;
  constexpr float kMaxTemperature = 100;
  const float temperature = options.temperature;
  const bool is_sampled = temperature >= kLeastTemperature && temperature <= kMaxTemperature;
  if (temperature != 0 && !is_sampled) {
    return InvalidArgument(
        fmt::format("temperature is {}; give 0, which always takes the most likely token, or "
                    "{:.5f} to {}",
                    temperature, kLeastTemperature, kMaxTemperature));
  }
  if (options.top_p == 0) return InvalidArgument("top_p is 0; it must be above 0, up to 1");
  if (options.typical_p == 0) return InvalidArgument("typical_p is 0; it must be above 0, up to 1");
  TRY(CheckRange("top_p", options.top_p, 0, 1));
  TRY(CheckRange("typical_p", options.typical_p, 0, 1));
  TRY(CheckRange("min_p", options.min_p, 0, 1));
  TRY(CheckRange("repetition_penalty", options.repetition_penalty, 0.01F, 100));
  TRY(CheckRange("presence_penalty", options.presence_penalty, -100, 100));
  TRY(CheckRange("frequency_penalty", options.frequency_penalty, -100, 100));
  if (options.top_logprobs > kMaxTopLogprobs) {
    return InvalidArgument(fmt::format("top_logprobs is {}; it must be at most {}",
                                       options.top_logprobs, kMaxTopLogprobs));
  }
  return CheckBiases(options.biases, vocab_size);
}

Sampler::Sampler(SamplingOptions options, uint32_t vocab_size, kernels::Isa isa,
                 LogitsEditor editor)
    : options_(std::move(options)),
      vocab_size_(vocab_size),
      ops_(kernels::Ops(isa)),
      editor_(std::move(editor)),
      finder_(ops_) {
  const Status checked = CheckSampling(options_, vocab_size);
  CHECK_NOTE(checked.ok(), checked.ok() ? std::string_view() : checked.error().message());
}

bool Sampler::HasPenalties() const {
  return options_.repetition_penalty != 1 || options_.frequency_penalty != 0 ||
         options_.presence_penalty != 0;
}

void Sampler::Penalise(std::span<const int32_t> history) {
  const size_t window = options_.penalty_window == 0
                            ? history.size()
                            : std::min<size_t>(options_.penalty_window, history.size());
  counts_.resize(vocab_size_);
  seen_.clear();
  for (const int32_t id : history.last(window)) {
    // No error: a token that this model does not know cannot be chosen.
    if (id < 0 || static_cast<uint32_t>(id) >= vocab_size_) continue;
    if (counts_[static_cast<size_t>(id)]++ == 0) seen_.push_back(id);
  }
  for (const int32_t id : seen_) {
    float& score = scores_[static_cast<size_t>(id)];
    const auto count = static_cast<float>(std::exchange(counts_[static_cast<size_t>(id)], 0));
    score = score > 0 ? score / options_.repetition_penalty : score * options_.repetition_penalty;
    score -= count * options_.frequency_penalty + options_.presence_penalty;
    score = std::min(score, kMaxScore);
  }
}

// The logits after penalties, biases and the editor.
Result<std::span<const float>> Sampler::Adjust(std::span<const float> logits,
                                               std::span<const int32_t> history) {
  if (!HasPenalties() && options_.biases.empty() && !editor_) return logits;
  scores_.assign(logits.begin(), logits.end());
  if (HasPenalties()) Penalise(history);
  for (const TokenBias& bias : options_.biases) {
    float& score = scores_[static_cast<size_t>(bias.id)];
    score = std::min(score + bias.bias, kMaxScore);
  }
  if (editor_) {
    editor_(history, scores_);
    TRY(CheckLogits(scores_).In("after they were edited"));
  }
  return scores_;
}

// Applies the filters one after the other, then draws by the weights at the temperature.
Result<int32_t> Sampler::Draw(std::span<const float> scores, uint64_t position) {
  if (options_.top_k > 0) {
    finder_.FindBest(scores, options_.top_k, candidates_);
  } else {
    finder_.FindAll(scores, candidates_);
  }
  if (candidates_.empty()) return NothingPossible();
  if (options_.typical_p < 1) {
    finder_.Weigh(1, candidates_);
    KeepTypical(options_.typical_p, scores, candidates_);
  }
  if (options_.top_p < 1 || options_.min_p > 0) {
    finder_.Weigh(1, candidates_);
    KeepLikely(options_.top_p, options_.min_p, candidates_);
  }
  finder_.Weigh(1 / options_.temperature, candidates_);
  uint64_t ahead = Random(options_.seed, position).NextBelow(TotalWeight(candidates_));
  for (const Candidate& candidate : candidates_) {
    if (ahead < candidate.weight) return candidate.id;
    ahead -= candidate.weight;
  }
  CHECK_NOTE(false, "a number below the sum of the weights is within one of them");
  return NothingPossible();
}

void Sampler::AddLogprobs(std::span<const float> logits, Choice& choice) {
  finder_.FindBest(logits, std::max<size_t>(1, options_.top_logprobs), candidates_);
  std::ranges::sort(candidates_, IsBetter);
  const float best = candidates_.front().score;
  const double log_total =
      kernels::Log(static_cast<double>(finder_.TotalOfAll(logits, best)) / kWeightOne);
  const auto logprob = [&](float logit) {
    return static_cast<float>(static_cast<double>(logit) - static_cast<double>(best) - log_total);
  };
  choice.logprob = logprob(logits[static_cast<size_t>(choice.id)]);
  if (options_.top_logprobs == 0) return;
  choice.top.reserve(candidates_.size());
  for (const Candidate& candidate : candidates_) {
    choice.top.push_back({candidate.id, logprob(candidate.score)});
  }
}

Result<Choice> Sampler::Rate(std::span<const float> logits, int32_t id) {
  CHECK(logits.size() == vocab_size_ && id >= 0 && static_cast<uint32_t>(id) < vocab_size_);
  const ComputeFloatMode mode;
  TRY(CheckLogits(logits));
  Choice choice;
  choice.id = id;
  AddLogprobs(logits, choice);
  return choice;
}

Result<Choice> Sampler::Choose(std::span<const float> logits, std::span<const int32_t> history) {
  CHECK(logits.size() == vocab_size_);
  const ComputeFloatMode mode;
  TRY(CheckLogits(logits));
  const std::span<const float> scores = TRY(Adjust(logits, history));
  Choice choice;
  if (options_.temperature == 0) {
    const size_t best = ops_.argmax(scores.data(), scores.size());
    if (scores[best] == kImpossible) return NothingPossible();
    choice.id = static_cast<int32_t>(best);
  } else {
    choice.id = TRY(Draw(scores, history.size()));
  }
  if (options_.logprobs || options_.top_logprobs > 0) AddLogprobs(logits, choice);
  return choice;
}

}  // namespace aster::engine
