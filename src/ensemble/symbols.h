// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What members that write one text together have in common: tokens, where their vocabularies are
// equal, and bytes where they are not. How probable one member finds each of them next, and what
// they find together. Must not know what computes a member.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "ensemble/member.h"
#include "ensemble/spelling.h"

namespace aster::ensemble {

// One member's view of the symbol that comes next.
class Symbols {
 public:
  virtual ~Symbols() = default;

  // Histories of its own tokens behind the prompt whose logits are wanted before anything else, by
  // number. New ones may be wanted when those are given.
  virtual std::vector<size_t> Wanted() const = 0;
  virtual const std::vector<int32_t>& tokens(size_t history) const = 0;
  virtual Status Give(size_t history, std::span<const float> logits) = 0;

  // [symbols], natural logarithms of probabilities but for what all have in common.
  virtual std::vector<float> Scores() const = 0;
  // The text goes on with this symbol, which can come next.
  virtual void Push(size_t symbol) = 0;
  // The text in the member's own tokens.
  virtual size_t length() const = 0;
  // Probability that is not counted.
  virtual double left_out() const { return 0; }
};

// Whether a token means the same to all of them that have a weight.
bool HaveOneVocabulary(const std::vector<Member>& members);

// Symbols are tokens.
std::unique_ptr<Symbols> MakeTokenSymbols();
// Symbols are bytes and an end (byte_reader.h), behind this prompt of the member's. The spelling
// outlives it.
std::unique_ptr<Symbols> MakeByteSymbols(const Spelling& spelling, const text::Vocab& vocab,
                                         std::span<const int32_t> prompt);
// Whether a token behind this prompt begins a text, as SentencePiece sees it.
bool BeginsText(const text::Vocab& vocab, std::span<const int32_t> prompt);

// Natural logarithm of what the scores' exponentials come to.
double LogTotal(std::span<const float> scores);

// The scores of the members' weighted mean, but for what all have in common: those of the first
// member, changed by as much as the mean differs from it. So members that are equal change no bit.
// `weights` are above 0, `log_totals` those of the scores.
std::vector<float> MixScores(std::span<const std::vector<float>> scores,
                             std::span<const double> log_totals, std::span<const double> weights);

}  // namespace aster::ensemble
