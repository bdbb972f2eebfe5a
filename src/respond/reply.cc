// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "respond/reply.h"

namespace aster::respond {

void Reply::Add(std::span<const chat::ReplyEvent> events, std::span<const ResponseToken> more) {
  using Kind = chat::ReplyEvent::Kind;
  tokens.insert(tokens.end(), more.begin(), more.end());
  for (const chat::ReplyEvent& event : events) {
    switch (event.kind) {
      case Kind::kContent:
        content += event.text;
        break;
      case Kind::kReasoning:
        reasoning += event.text;
        break;
      case Kind::kCallBegin:
        calls.push_back({.id = event.id, .name = event.text, .arguments = ""});
        break;
      case Kind::kArguments:
        calls.back().arguments += event.text;
        break;
      case Kind::kCallEnd:
        break;
    }
  }
}

}  // namespace aster::respond
