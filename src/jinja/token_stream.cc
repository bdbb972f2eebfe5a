// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/token_stream.h"

#include <fmt/format.h>

namespace aster::jinja {

Error TokenStream::Unexpected(std::string_view expected) const {
  if (Is(TokenKind::kEnd)) {
    return Fail(fmt::format("unexpected end of template, expected '{}'", expected));
  }
  return Fail(fmt::format("expected token '{}', got '{}'", expected, Describe(current())));
}

Result<Token> TokenStream::Expect(TokenKind kind) {
  if (!Is(kind)) {
    return Unexpected(kind == TokenKind::kName ? "name" : Describe(Token{kind, 0, ""}));
  }
  Token token = current();
  Skip();
  return token;
}

Status TokenStream::ExpectName(std::string_view name) {
  return SkipName(name) ? Ok() : Status(Unexpected(name));
}

Status TokenStream::ExpectOperator(std::string_view op) {
  return SkipOperator(op) ? Ok() : Status(Unexpected(op));
}

}  // namespace aster::jinja
