// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A model's probability for each next byte of a text, summed over all ways to spell the text in its
// tokens: every history of tokens that spells a beginning of it, with the tokens that continue from
// there beyond its end. Must not know what computes the model.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "ensemble/spelling.h"

namespace aster::ensemble {

// A symbol is a byte, or the end of the text.
inline constexpr size_t kEndSymbol = 256;
inline constexpr size_t kSymbols = 257;

// A history with less than this part of the text's probability is ignored.
inline constexpr double kLeastShare = 0x1p-16;

// Pure: the same bits for the same text and logits.
class ByteReader {
 public:
  // At the beginning of a text, after a prompt. `drops_space`: the decoder removes a leading space
  // of the first token. The spelling outlives it.
  ByteReader(const Spelling& spelling, bool drops_space, double least_share = kLeastShare);

  // The numbers of histories of tokens after the prompt that need logits before any other call.
  std::vector<size_t> Wanted() const;
  const std::vector<int32_t>& tokens(size_t history) const { return histories_[history]->tokens; }
  // An error if no token is possible.
  Status Give(size_t history, std::span<const float> logits);

  // Natural logarithms [kSymbols] of the next symbol's probabilities; minus infinity if impossible.
  std::array<double, kSymbols> Next() const;
  // Continues the text with this byte, which must be possible.
  void Push(uint8_t byte);
  // Probability of ignored histories, relative to the text's when they were ignored. If one of them
  // predicts the rest better than the others, it would count for more by now.
  double left_out() const { return left_out_; }
  // Tokens before the one that reaches beyond the text's end, in the most probable spelling.
  size_t length() const;

 private:
  struct History {
    std::vector<int32_t> tokens = {};
    double log_probability = 0;              // natural logarithm
    std::vector<double> probabilities = {};  // [places] of the token after it; empty: unknown yet
    double end_probability = 0;
  };
  // A token that reaches beyond the end of the text.
  struct Reading {
    std::shared_ptr<const History> history;
    Spelling::Range range;  // tokens that begin with the rest of the text
    size_t depth = 0;       // bytes of that rest
    bool may_end = false;   // the text may end here
  };

  // Probabilities are relative to the most probable history, so that none underflows.
  double LargestLogProbability() const;
  double Share(const Reading& reading, double largest) const;
  void Narrow(Reading reading, uint8_t byte, std::vector<Reading>& narrowed,
              std::vector<std::shared_ptr<History>>& fresh) const;
  void LeaveOutUnlikely(std::vector<std::shared_ptr<History>>& fresh);
  void AddReadings(const std::shared_ptr<History>& history);

  const Spelling* spelling_;
  bool drops_space_;
  double least_share_;
  std::vector<Reading> readings_;
  std::vector<std::shared_ptr<History>> histories_;  // that need their logits
  double left_out_ = 0;
};

}  // namespace aster::ensemble
