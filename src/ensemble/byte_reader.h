// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How probable a model finds each next byte of a text, summed over all ways in which its tokens can
// spell the text: every history of tokens that spells it up to some place, and the tokens that go
// on from there over its end. Must not know what computes the model.
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

// A history of less than this part of the probability of the whole text is left out.
inline constexpr double kLeastShare = 0x1p-16;

// Pure: the same bits for the same text and logits.
class ByteReader {
 public:
  // Behind a prompt, at the beginning of a text. `drops_space`: the decoder leaves out a space with
  // which the first token begins. The spelling outlives it.
  ByteReader(const Spelling& spelling, bool drops_space, double least_share = kLeastShare);

  // Histories of tokens behind the prompt whose logits are wanted before anything else, by number.
  std::vector<size_t> Wanted() const;
  const std::vector<int32_t>& tokens(size_t history) const { return histories_[history]->tokens; }
  // An error where no token is possible.
  Status Give(size_t history, std::span<const float> logits);

  // Natural logarithms [kSymbols] of the probabilities of what comes next; of what cannot come,
  // minus infinity.
  std::array<double, kSymbols> Next() const;
  // The text goes on with this byte, which can come next.
  void Push(uint8_t byte);
  // Probability of histories that were left out, relative to that of the text where they were. One
  // that would have foretold the rest better than those that are there would count for more by now.
  double left_out() const { return left_out_; }
  // Tokens before the one that reaches over the text's end, in the most probable way to spell it.
  size_t length() const;

 private:
  struct History {
    std::vector<int32_t> tokens = {};
    double log_chance = 0;             // natural logarithm
    std::vector<double> chances = {};  // [places] of the token behind it; none: not known yet
    double end_chance = 0;
  };
  // A token that reaches over the end of the text.
  struct Reading {
    std::shared_ptr<const History> history;
    Spelling::Range range;  // of tokens that begin with the rest of the text
    size_t depth = 0;       // bytes of that rest
    bool may_end = false;   // the text may end here
  };

  // What is computed relative to the most probable history, so that none is too small for a number.
  double LargestLogChance() const;
  double Share(const Reading& reading, double largest) const;
  void Narrow(Reading reading, uint8_t byte, std::vector<Reading>& narrowed,
              std::vector<std::shared_ptr<History>>& fresh) const;
  void LeaveOutUnlikely(std::vector<std::shared_ptr<History>>& fresh);
  void AddReadings(const std::shared_ptr<History>& history);

  const Spelling* spelling_;
  bool drops_space_;
  double least_share_;
  std::vector<Reading> readings_;
  std::vector<std::shared_ptr<History>> histories_;  // that are still to be given their logits
  double left_out_ = 0;
};

}  // namespace aster::ensemble
