// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Grammar-constrained decoding: which tokens of a vocabulary may follow, so that the text stays
// within a grammar. The vocabulary is walked as a tree of bytes, and the result for a place in the
// grammar is reused wherever that place occurs again. Must not know models.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "grammar/grammar.h"
#include "grammar/matcher.h"
#include "text/tokenizer.h"

namespace aster::grammar {

// A vocabulary's tokens by their bytes. Constant, so any number of threads may use it.
class TokenTree {
 public:
  struct Node {
    uint8_t byte = 0;
    uint8_t depth = 0;         // bytes before it
    int32_t first_token = -1;  // of those that end here, a list in next_token
    uint32_t size = 1;         // nodes: this one and all below it, which follow it
  };

  // Tokens without bytes are left out; `vocab_size` is the model's. A control token has a spelling
  // that no text has, so that only a grammar that names it allows it.
  TokenTree(const text::Tokenizer& tokenizer, uint32_t vocab_size);

  const std::vector<Node>& nodes() const { return nodes_; }
  int32_t NextToken(int32_t token) const { return next_token_[static_cast<size_t>(token)]; }
  std::string_view BytesOf(int32_t token) const { return bytes_[static_cast<size_t>(token)]; }
  uint32_t vocab_size() const { return static_cast<uint32_t>(bytes_.size()); }
  const std::vector<int32_t>& end_tokens() const { return end_tokens_; }

  // Not a byte of UTF-8: it is before and after the name of a control token.
  static constexpr uint8_t kControlByte = 0xFF;
  // Markup with its control tokens in the tree's spelling.
  std::string Spelled(std::string_view markup) const;

 private:
  std::vector<Node> nodes_;              // in the order of a walk, without a root
  std::vector<int32_t> next_token_;      // [tokens]
  std::vector<std::string_view> bytes_;  // [tokens] of the tokenizer; empty if left out
  std::deque<std::string> controls_;     // their spellings
  std::vector<int32_t> end_tokens_;
};

// Results for the places of one grammar, shared by a request's answers. Not for concurrent use.
class MaskCache {
 public:
  using Bits = std::vector<uint64_t>;  // [vocab_size / 64]

  // The grammar (finished) and the tree are shared.
  MaskCache(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTree> tree);

  const std::shared_ptr<const Grammar>& grammar() const { return grammar_; }
  const TokenTree& tree() const { return *tree_; }
  Matcher& matcher() { return *matcher_; }
  const Bits& AllowedIn(StateId state);

  // Grammars come from clients: their cost is limited, in total and for each token. Above the limit
  // there are no results, and the request fails.
  bool has_failed() const { return matcher_->has_failed(); }
  // Before the next token: raises the limit a little, and frees memory if it is too much.
  void BeginToken();
  // States of another generation are invalid.
  uint64_t generation() const { return generation_; }

 private:
  struct Inside {
    Bits allowed;
    std::vector<uint32_t> exits;  // nodes after which the place ends
  };

  const Inside& WalkInside(StateId state);
  void WalkBelow(uint32_t node, StateId state, Bits& allowed);
  void Allow(int32_t first_token, Bits& allowed) const;

  const std::shared_ptr<const Grammar> grammar_;
  const std::shared_ptr<const TokenTree> tree_;
  std::unique_ptr<Matcher> matcher_;
  uint64_t generation_ = 0;
  std::unordered_map<StateId, Bits> allowed_;
  std::unordered_map<StateId, Inside> inside_;
  size_t exit_count_ = 0;  // of all places
};

// Follows one answer. Not for concurrent use.
class TokenMasks {
 public:
  explicit TokenMasks(std::shared_ptr<MaskCache> cache);
  TokenMasks(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTree> tree)
      : TokenMasks(std::make_shared<MaskCache>(std::move(grammar), std::move(tree))) {}

  // Forbids, in the logits of the token after `answer`, everything that the grammar does not allow.
  // A pure function of the answer, which may grow, or go back and continue differently. Forbids
  // everything once the grammar has cost too much.
  void Apply(std::span<const int32_t> answer, std::span<float> logits);
  // Whether `answer` is a whole text of the grammar, apart from an end token.
  bool IsWhole(std::span<const int32_t> answer) { return cache_->matcher().CanEnd(Follow(answer)); }
  bool has_failed() const { return cache_->has_failed(); }

 private:
  StateId Follow(std::span<const int32_t> answer);

  const std::shared_ptr<MaskCache> cache_;
  uint64_t generation_ = 0;        // of the states
  std::vector<int32_t> followed_;  // tokens
  std::vector<StateId> states_;    // after each of them, and first the start
};

}  // namespace aster::grammar
