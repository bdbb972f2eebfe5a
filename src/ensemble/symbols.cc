// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/symbols.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "ensemble/byte_reader.h"
#include "ensemble/mixture.h"
#include "kernels/math.h"

namespace aster::ensemble {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
// e to the power of less is negligible beside 1.
constexpr double kLeastExponent = -700;

class TokenSymbols final : public Symbols {
 public:
  std::vector<size_t> Wanted() const override {
    return scores_.empty() ? std::vector<size_t>{0} : std::vector<size_t>{};
  }
  const std::vector<int32_t>& tokens(size_t /*history*/) const override { return tokens_; }
  Status Give(size_t /*history*/, std::span<const float> logits) override {
    scores_.assign(logits.begin(), logits.end());
    return Ok();
  }
  std::vector<float> Scores() const override { return scores_; }
  void Push(size_t symbol) override {
    tokens_.push_back(static_cast<int32_t>(symbol));
    scores_.clear();
  }
  size_t length() const override { return tokens_.size(); }

 private:
  std::vector<int32_t> tokens_;
  std::vector<float> scores_;  // empty: unknown yet
};

class ByteSymbols final : public Symbols {
 public:
  ByteSymbols(const Spelling& spelling, bool drops_space) : reader_(spelling, drops_space) {}

  std::vector<size_t> Wanted() const override { return reader_.Wanted(); }
  const std::vector<int32_t>& tokens(size_t history) const override {
    return reader_.tokens(history);
  }
  Status Give(size_t history, std::span<const float> logits) override {
    return reader_.Give(history, logits);
  }
  std::vector<float> Scores() const override {
    const auto next = reader_.Next();
    std::vector<float> scores;
    for (const double chance : next)
      scores.push_back(chance == kImpossible ? kNever : static_cast<float>(chance));
    return scores;
  }
  void Push(size_t symbol) override {
    if (symbol != kEndSymbol) reader_.Push(static_cast<uint8_t>(symbol));
  }
  size_t length() const override { return reader_.length(); }
  double left_out() const override { return reader_.left_out(); }

 private:
  ByteReader reader_;
};

}  // namespace

bool BeginsText(const text::Vocab& vocab, std::span<const int32_t> prompt) {
  return prompt.empty() || !vocab.Contains(prompt.back()) ||
         text::IsMatchedInText(vocab.types[static_cast<size_t>(prompt.back())]);
}

bool HaveOneVocabulary(const std::vector<Member>& members) {
  const Member* first = nullptr;
  for (const Member& member : members) {
    if (member.weight == 0) continue;
    if (first == nullptr) {
      first = &member;
      continue;
    }
    const text::Vocab& a = first->model.tokenizer->vocab();
    const text::Vocab& b = member.model.tokenizer->vocab();
    const bool is_same = first->engine->vocab_size() == member.engine->vocab_size() &&
                         a.kind == b.kind && a.tokens == b.tokens && a.types == b.types &&
                         a.add_space_prefix == b.add_space_prefix &&
                         a.end_of_generation == b.end_of_generation;
    if (!is_same) return false;
  }
  return true;
}

std::unique_ptr<Symbols> MakeTokenSymbols() { return std::make_unique<TokenSymbols>(); }

std::unique_ptr<Symbols> MakeByteSymbols(const Spelling& spelling, const text::Vocab& vocab,
                                         std::span<const int32_t> prompt) {
  const bool drops_space = vocab.add_space_prefix && BeginsText(vocab, prompt);
  return std::make_unique<ByteSymbols>(spelling, drops_space);
}

double LogTotal(std::span<const float> scores) {
  const double largest = *std::ranges::max_element(scores);
  double sum = 0;
  for (const float score : scores) {
    const double relative = score - largest;
    if (relative > kLeastExponent) sum += kernels::Exp(relative);
  }
  return largest + kernels::Log(sum);
}

std::vector<float> MixScores(std::span<const std::vector<float>> scores,
                             std::span<const double> log_totals, std::span<const double> weights) {
  CHECK(!scores.empty() && scores.size() == weights.size() && scores.size() == log_totals.size());
  std::vector<float> mixed = scores[0];
  std::vector<double> log_probabilities(scores.size());
  for (size_t symbol = 0; symbol < mixed.size(); ++symbol) {
    for (size_t m = 0; m < scores.size(); ++m)
      log_probabilities[m] = scores[m][symbol] - log_totals[m];
    const double together = MixedLogProbability(log_probabilities, weights);
    if (together == kImpossible) {
      mixed[symbol] = kNever;
    } else if (mixed[symbol] == kNever) {
      mixed[symbol] = static_cast<float>(together + log_totals[0]);
    } else {
      mixed[symbol] = static_cast<float>(mixed[symbol] + (together - log_probabilities[0]));
    }
  }
  return mixed;
}

}  // namespace aster::ensemble
