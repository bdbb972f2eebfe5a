// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The symbols of members that write one text together: tokens if their vocabularies are equal,
// bytes if not. Each member's probability for the next symbol, and the mean of all. Must not know
// what computes a member.
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

// One member's view of the next symbol.
class Symbols {
 public:
  virtual ~Symbols() = default;

  // The numbers of histories of its own tokens after the prompt that need logits before any other
  // call. Giving these may add new ones.
  virtual std::vector<size_t> Wanted() const = 0;
  virtual const std::vector<int32_t>& tokens(size_t history) const = 0;
  virtual Status Give(size_t history, std::span<const float> logits) = 0;

  // [symbols], natural logarithms of probabilities up to a common constant.
  virtual std::vector<float> Scores() const = 0;
  // Continues the text with this symbol, which must be possible.
  virtual void Push(size_t symbol) = 0;
  // Tokens of the text in the member's vocabulary.
  virtual size_t length() const = 0;
  // Probability of ignored spellings.
  virtual double left_out() const { return 0; }
};

// Whether tokens mean the same to all members with a weight.
bool HaveOneVocabulary(const std::vector<Member>& members);

// Symbols are tokens.
std::unique_ptr<Symbols> MakeTokenSymbols();
// Symbols are bytes and an end (byte_reader.h), after this prompt of the member. The spelling
// outlives it.
std::unique_ptr<Symbols> MakeByteSymbols(const Spelling& spelling, const text::Vocab& vocab,
                                         std::span<const int32_t> prompt);
// Whether a token after this prompt begins a text, in SentencePiece's sense.
bool BeginsText(const text::Vocab& vocab, std::span<const int32_t> prompt);

// Natural logarithm of the sum of the scores' exponentials.
double LogTotal(std::span<const float> scores);

// The scores of the members' weighted mean, up to a common constant: those of the first member,
// changed by the difference of the mean. So equal members change no bit. `weights` are above 0,
// `log_totals` those of the scores.
std::vector<float> MixScores(std::span<const std::vector<float>> scores,
                             std::span<const double> log_totals, std::span<const double> weights);

}  // namespace aster::ensemble
