// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Divides a template into tokens: the text outside of tags, without the white space that tags
// remove, and the words inside of tags. Must not know what the words mean.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aster::jinja {

enum class TokenKind : uint8_t {
  kEnd,
  kData,
  kVariableBegin,  // {{
  kVariableEnd,    // }}
  kBlockBegin,     // {%
  kBlockEnd,       // %}
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  int line = 1;
  // The data, name, operator or number as written, or the value of a string.
  std::string text;

  bool Is(TokenKind wanted) const { return kind == wanted; }
  bool IsName(std::string_view name) const { return kind == TokenKind::kName && text == name; }
  bool IsOperator(std::string_view op) const { return kind == TokenKind::kOperator && text == op; }
};

// A token's name in messages.
std::string Describe(const Token& token);

// An error at a place in the template: "line 12: …".
Error ErrorAt(int line, std::string_view message);

// All tokens, then one of kind kEnd.
Result<std::vector<Token>> Tokenize(std::string_view source);

}  // namespace aster::jinja
