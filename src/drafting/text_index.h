// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// N-gram lookup over many texts in bounded memory: finds the tokens that followed the latest
// occurrence of a text's last few tokens. Must not know where the texts come from.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "engine/proposer.h"

namespace aster::drafting {

struct TextIndexOptions {
  // Limit of all texts together; beyond it the oldest are dropped. Memory is about 20 bytes a
  // token.
  uint32_t max_tokens = uint32_t{1} << 21;
};

// Safe for concurrent use.
class TextIndex {
 public:
  explicit TextIndex(TextIndexOptions options = {});

  // Equal prefixes of texts are kept once, in pieces of kPiece tokens.
  void Add(std::span<const int32_t> text) EXCLUDES(mu_);
  // Appends up to `most` tokens that followed the longest match; none if there is no match.
  void Propose(std::span<const int32_t> text, uint32_t most, std::vector<int32_t>& drafts) const
      EXCLUDES(mu_);
  // The number of tokens that are kept.
  uint64_t size() const EXCLUDES(mu_);

  static constexpr uint32_t kPiece = 64;
  // Lengths of matches, the longest first.
  static constexpr std::array<uint32_t, 2> kMatches = {8, 4};

 private:
  // Tokens are kept in a ring buffer; an invalid token separates two texts.
  void Append(int32_t token) REQUIRES(mu_);
  void AddTokens(std::span<const int32_t> tokens) REQUIRES(mu_);
  int32_t At(uint64_t place) const REQUIRES(mu_) { return ring_[place & mask_]; }
  // Whether the tokens before `place` are these, and are still kept.
  bool Agrees(uint64_t place, std::span<const int32_t> tokens) const REQUIRES(mu_);
  bool TakeNew(uint64_t piece) REQUIRES(mu_);
  uint32_t& SlotFor(size_t match, std::span<const int32_t> tokens) REQUIRES(mu_);

  const uint64_t mask_;
  mutable Mutex mu_;
  std::vector<int32_t> ring_ GUARDED_BY(mu_);
  uint64_t end_ GUARDED_BY(mu_) = 0;  // place of the next token
  // By hash: the place in the ring where tokens with this hash ended last. Each hash has two slots;
  // a new place replaces the older one of both.
  std::array<std::vector<uint32_t>, kMatches.size()> ends_ GUARDED_BY(mu_);
  std::vector<uint64_t> pieces_ GUARDED_BY(mu_);  // hashes of pieces that are kept, by hash
};

// Proposers that look in the text itself first, then in the index.
class IndexSource final : public engine::ProposerSource {
 public:
  // `own` makes the look-ups in the text itself.
  IndexSource(std::unique_ptr<engine::ProposerSource> own, std::shared_ptr<const TextIndex> index)
      : own_(std::move(own)), index_(std::move(index)) {}

  Result<std::unique_ptr<engine::Proposer>> Make(const engine::Request& request) override;

 private:
  const std::unique_ptr<engine::ProposerSource> own_;
  const std::shared_ptr<const TextIndex> index_;
};

}  // namespace aster::drafting
