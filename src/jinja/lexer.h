// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Cuts a template into tokens: the text outside of tags, with the white space around tags already
// taken away as the tags say, and the words within them. Must not know what the words mean.
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
  // The data, name, operator or number as written, or the text that a string stands for.
  std::string text;

  bool Is(TokenKind wanted) const { return kind == wanted; }
  bool IsName(std::string_view name) const { return kind == TokenKind::kName && text == name; }
  bool IsOperator(std::string_view op) const { return kind == TokenKind::kOperator && text == op; }
};

// How the token would be called in a message.
std::string Describe(const Token& token);

// An error about a place in the template: "line 12: …".
Error ErrorAt(int line, std::string_view message);

// All tokens, then one of kind kEnd.
Result<std::vector<Token>> Tokenize(std::string_view source);

}  // namespace aster::jinja
