// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which member wrote which part of a text that several models write together, symbol by symbol.
// Must not know how symbols are drawn.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ensemble/answer.h"

namespace aster::ensemble {

// Successive words whose every symbol the same members would have written are one part; so are
// those that no member would have written.
class Shares {
 public:
  explicit Shares(size_t members) : word_(members) {}

  // A symbol: its bytes, its probability under each member (kImpossible if absent) and under all,
  // as natural logarithms, and the members that find it the most probable.
  void Add(std::string_view bytes, const std::vector<double>& log_probabilities, double together,
           const std::vector<bool>& would_write);
  // The parts, and each member's bytes in them.
  std::vector<DecidedSpan> TakeParts();
  const std::vector<uint64_t>& bytes_by() const { return bytes_by_; }

 private:
  struct Piece {
    explicit Piece(size_t members) : log_probabilities(members, 0), would_write(members, true) {}

    std::string text;
    size_t symbols = 0;
    std::vector<double> log_probabilities;  // [members]
    double together = 0;
    std::vector<bool> would_write;  // [members], every symbol
  };

  void EndWord();
  DecidedSpan Decided(const Piece& piece);

  Piece word_;
  std::vector<Piece> pieces_;
  std::vector<uint64_t> bytes_by_;
};

}  // namespace aster::ensemble
