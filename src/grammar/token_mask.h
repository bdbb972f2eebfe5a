// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Grammar-constrained decoding: which tokens of a vocabulary may follow, so that the text stays one
// of a grammar. The vocabulary is walked as a tree of bytes, and what is found for a place in the
// grammar serves wherever that place is met again. Must not know models.
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

// A vocabulary's tokens by their bytes. Constant, so that any number of threads may use it.
class TokenTree {
 public:
  struct Node {
    uint8_t byte = 0;
    uint8_t depth = 0;         // bytes before it
    int32_t first_token = -1;  // of those that end here, a list in next_token
    uint32_t size = 1;         // nodes, this one and all below it, which follow it
  };

  // Tokens without bytes are left out; `vocab_size` is the model's. A control token is spelled in a
  // way that no text is, so that only a grammar that names it allows it.
  TokenTree(const text::Tokenizer& tokenizer, uint32_t vocab_size);

  const std::vector<Node>& nodes() const { return nodes_; }
  int32_t NextToken(int32_t token) const { return next_token_[static_cast<size_t>(token)]; }
  std::string_view BytesOf(int32_t token) const { return bytes_[static_cast<size_t>(token)]; }
  uint32_t vocab_size() const { return static_cast<uint32_t>(bytes_.size()); }
  const std::vector<int32_t>& end_tokens() const { return end_tokens_; }

  // No byte of UTF-8: it stands before and behind the name of a control token.
  static constexpr uint8_t kControlByte = 0xFF;
  // Markup with the control tokens in it spelled as the tree has them.
  std::string Spelled(std::string_view markup) const;

 private:
  std::vector<Node> nodes_;              // in the order of a walk, without a root
  std::vector<int32_t> next_token_;      // [tokens]
  std::vector<std::string_view> bytes_;  // [tokens] of the tokenizer; empty where left out
  std::deque<std::string> controls_;     // as they are spelled
  std::vector<int32_t> end_tokens_;
};

// What is known of the places of one grammar: shared by the answers of one request. Not for
// concurrent use.
class MaskCache {
 public:
  using Bits = std::vector<uint64_t>;  // [vocab_size / 64]

  // Grammar (finished) and tree are shared.
  MaskCache(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTree> tree);

  const std::shared_ptr<const Grammar>& grammar() const { return grammar_; }
  const TokenTree& tree() const { return *tree_; }
  Matcher& matcher() { return *matcher_; }
  const Bits& AllowedIn(StateId state);

  // Grammars come from clients: what one costs is limited, in all and for each token. Once that is
  // over, nothing more is known, and the request is to fail.
  bool has_failed() const { return matcher_->has_failed(); }
  // Before the next token: it may cost a little more, and what became too much is forgotten.
  void BeginToken();
  // States of another generation mean nothing.
  uint64_t generation() const { return generation_; }

 private:
  struct Inside {
    Bits allowed;
    std::vector<uint32_t> exits;  // nodes behind which the place is left
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
  size_t exit_count_ = 0;  // of all of them
};

// Follows one answer. Not for concurrent use.
class TokenMasks {
 public:
  explicit TokenMasks(std::shared_ptr<MaskCache> cache);
  TokenMasks(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTree> tree)
      : TokenMasks(std::make_shared<MaskCache>(std::move(grammar), std::move(tree))) {}

  // Forbids, in the logits of what follows `answer`, all that the grammar does not allow. A pure
  // function of the answer: it may grow, or go back and take another way. Everything is forbidden
  // once the grammar has cost too much.
  void Apply(std::span<const int32_t> answer, std::span<float> logits);
  // Whether `answer` is a text of the grammar, but for an end.
  bool IsWhole(std::span<const int32_t> answer) { return cache_->matcher().CanEnd(Follow(answer)); }
  bool has_failed() const { return cache_->has_failed(); }

 private:
  StateId Follow(std::span<const int32_t> answer);

  const std::shared_ptr<MaskCache> cache_;
  uint64_t generation_ = 0;        // of the states
  std::vector<int32_t> followed_;  // tokens
  std::vector<StateId> states_;    // behind each of them, the start before
};

}  // namespace aster::grammar
