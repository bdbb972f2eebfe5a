// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "drafting/text_index.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/hash.h"

namespace aster::drafting {
namespace {

constexpr int32_t kBetween = -1;  // no token

uint64_t HashOf(std::span<const int32_t> tokens, uint64_t seed = 0) {
  return Hash64Of({reinterpret_cast<const uint8_t*>(tokens.data()), tokens.size_bytes()}, seed);
}

class IndexProposer final : public engine::Proposer {
 public:
  IndexProposer(std::unique_ptr<engine::Proposer> own, std::shared_ptr<const TextIndex> index)
      : own_(std::move(own)), index_(std::move(index)) {}

  Status Propose(std::span<const int32_t> history, uint32_t most,
                 std::vector<int32_t>& drafts) override {
    TRY(own_->Propose(history, most, drafts));
    if (drafts.empty()) index_->Propose(history, most, drafts);
    return Ok();
  }

 private:
  const std::unique_ptr<engine::Proposer> own_;
  const std::shared_ptr<const TextIndex> index_;
};

}  // namespace

TextIndex::TextIndex(TextIndexOptions options)
    : mask_(std::bit_ceil(std::max<uint64_t>(options.max_tokens, 2 * kPiece)) - 1),
      ring_(mask_ + 1, kBetween),
      pieces_((mask_ + 1) / kPiece) {
  for (std::vector<uint32_t>& ends : ends_) ends.resize(2 * (mask_ + 1));
}

uint64_t TextIndex::size() const {
  const MutexLock lock(mu_);
  return std::min<uint64_t>(end_, mask_ + 1);
}

// Notes that a piece is kept; true if that is new, as far as is known.
bool TextIndex::TakeNew(uint64_t piece) {
  uint64_t& slot = pieces_[piece % pieces_.size()];
  return std::exchange(slot, piece) != piece;
}

void TextIndex::Add(std::span<const int32_t> text) {
  const MutexLock lock(mu_);
  // A piece is identified by all tokens up to its end, so all pieces after the first new one are
  // new.
  uint64_t hash = 0;
  size_t known = 0;
  for (size_t begin = 0; begin < text.size(); begin += kPiece) {
    const auto piece = text.subspan(begin, std::min<size_t>(kPiece, text.size() - begin));
    hash = HashOf(piece, hash);
    const bool is_new = TakeNew(hash);
    if (!is_new && known == begin) known = begin + piece.size();
  }
  if (known == text.size()) return;
  // Repeats the last known tokens, by which the new ones are found.
  const size_t begin = known - std::min<size_t>(known, kMatches.front());
  Append(kBetween);
  AddTokens(text.subspan(begin));
}

void TextIndex::AddTokens(std::span<const int32_t> tokens) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    Append(tokens[i]);
    for (size_t m = 0; m < kMatches.size(); ++m) {
      if (i + 1 < kMatches[m]) continue;
      SlotFor(m, tokens.subspan(i + 1 - kMatches[m], kMatches[m])) =
          static_cast<uint32_t>(end_ & mask_);
    }
  }
}

// The slot of these tokens, or the one that they should take.
uint32_t& TextIndex::SlotFor(size_t match, std::span<const int32_t> tokens) {
  std::vector<uint32_t>& ends = ends_[match];
  const uint64_t first = HashOf(tokens) % ends.size();
  uint32_t& one = ends[first];
  uint32_t& other = ends[first ^ 1];
  if (Agrees(one, tokens)) return one;
  if (Agrees(other, tokens)) return other;
  const auto age = [end = end_, mask = mask_](uint32_t place) { return (end - place) & mask; };
  return age(one) >= age(other) ? one : other;
}

void TextIndex::Append(int32_t token) { ring_[end_++ & mask_] = token; }

bool TextIndex::Agrees(uint64_t place, std::span<const int32_t> tokens) const {
  // The tokens must not wrap around the end of the ring, from the newest to the oldest.
  const uint64_t behind_end = (place - end_) & mask_;
  if (behind_end > 0 && behind_end < tokens.size()) return false;
  for (size_t i = 1; i <= tokens.size(); ++i) {
    if (At(place - i) != tokens[tokens.size() - i]) return false;
  }
  return true;
}

void TextIndex::Propose(std::span<const int32_t> text, uint32_t most,
                        std::vector<int32_t>& drafts) const {
  const MutexLock lock(mu_);
  for (size_t m = 0; m < kMatches.size(); ++m) {
    if (text.size() < kMatches[m]) continue;
    const auto last = text.last(kMatches[m]);
    const uint64_t first = HashOf(last) % ends_[m].size();
    uint64_t place = ends_[m][first];
    if (!Agrees(place, last)) place = ends_[m][first ^ 1];
    if (!Agrees(place, last)) continue;
    // Up to the end of that text, or of the ring.
    for (uint32_t i = 0; i < most; ++i, ++place) {
      const int32_t token = At(place);
      if (token == kBetween || (place & mask_) == (end_ & mask_)) return;
      drafts.push_back(token);
    }
    return;
  }
}

Result<std::unique_ptr<engine::Proposer>> IndexSource::Make(const engine::Request& request) {
  return std::make_unique<IndexProposer>(TRY(own_->Make(request)), index_);
}

}  // namespace aster::drafting
