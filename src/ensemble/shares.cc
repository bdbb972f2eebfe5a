// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/shares.h"

#include <algorithm>
#include <utility>

#include "ensemble/mixture.h"

namespace aster::ensemble {

void Shares::Add(std::string_view bytes, const std::vector<double>& log_probabilities,
                 double together, const std::vector<bool>& would_write) {
  const bool begins_word = bytes.starts_with(' ') || bytes.starts_with('\n');
  if (begins_word && word_.symbols > 0) EndWord();
  word_.text += bytes;
  ++word_.symbols;
  word_.together += together;
  for (size_t i = 0; i < log_probabilities.size(); ++i) {
    word_.log_probabilities[i] += log_probabilities[i];
    word_.would_write[i] = word_.would_write[i] && would_write[i];
  }
}

void Shares::EndWord() {
  Piece word = std::exchange(word_, Piece(word_.log_probabilities.size()));
  if (pieces_.empty() || pieces_.back().would_write != word.would_write) {
    pieces_.push_back(std::move(word));
    return;
  }
  Piece& last = pieces_.back();
  last.text += word.text;
  last.symbols += word.symbols;
  last.together += word.together;
  for (size_t i = 0; i < word.log_probabilities.size(); ++i)
    last.log_probabilities[i] += word.log_probabilities[i];
}

DecidedSpan Shares::Decided(const Piece& piece) {
  // The end of an answer counts as a byte.
  const uint64_t bytes = std::max<uint64_t>(piece.text.size(), 1);
  Candidate taken{.text = piece.text, .bits_per_byte = BitsPerByte(piece.together, bytes)};
  size_t present = 0;
  for (size_t i = 0; i < piece.log_probabilities.size(); ++i) {
    taken.member_bits.push_back(BitsPerByte(piece.log_probabilities[i], bytes));
    if (piece.log_probabilities[i] == kImpossible) continue;
    ++present;
    if (piece.would_write[i]) taken.authors.push_back(i);
  }
  const bool is_agreed = taken.authors.size() == present;
  // If no member would have written it, the author is the one that finds it most probable.
  if (taken.authors.empty()) {
    const auto most = std::ranges::max_element(piece.log_probabilities);
    taken.authors.push_back(static_cast<size_t>(most - piece.log_probabilities.begin()));
  }
  bytes_by_[taken.authors.front()] += bytes;
  const Decision decision = present == 1 ? Decision::kAlone
                            : is_agreed  ? Decision::kAgreed
                                         : Decision::kMixed;
  return {.decision = decision, .candidates = {std::move(taken)}};
}

std::vector<DecidedSpan> Shares::TakeParts() {
  if (word_.symbols > 0) EndWord();
  bytes_by_.assign(word_.log_probabilities.size(), 0);
  std::vector<DecidedSpan> decided;
  for (const Piece& piece : pieces_) decided.push_back(Decided(piece));
  return decided;
}

}  // namespace aster::ensemble
