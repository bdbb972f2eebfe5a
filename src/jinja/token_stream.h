// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The tokens of a template, one after the other. Must not know their meaning.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "jinja/lexer.h"

namespace aster::jinja {

class TokenStream {
 public:
  // `tokens` end with one of kind kEnd, where the stream stays.
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& current() const { return tokens_[index_]; }
  const Token& next() const { return tokens_[index_ + 1 < tokens_.size() ? index_ + 1 : index_]; }
  int line() const { return current().line; }

  bool Is(TokenKind kind) const { return current().Is(kind); }
  bool IsName(std::string_view name) const { return current().IsName(name); }
  bool IsOperator(std::string_view op) const { return current().IsOperator(op); }

  void Skip(size_t count = 1) {
    for (size_t i = 0; i < count; ++i) index_ += index_ + 1 < tokens_.size() ? 1 : 0;
  }
  bool SkipName(std::string_view name) {
    const bool skips = IsName(name);
    if (skips) Skip();
    return skips;
  }
  bool SkipOperator(std::string_view op) {
    const bool skips = IsOperator(op);
    if (skips) Skip();
    return skips;
  }

  // Returns the current token and advances; an error if another one is expected.
  Result<Token> Expect(TokenKind kind);
  Status ExpectName(std::string_view name);
  Status ExpectOperator(std::string_view op);

  Error Fail(std::string_view message) const { return ErrorAt(line(), message); }

 private:
  Error Unexpected(std::string_view expected) const;

  std::vector<Token> tokens_;
  size_t index_ = 0;
};

}  // namespace aster::jinja
