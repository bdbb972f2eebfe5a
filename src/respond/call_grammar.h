// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The grammar of a whole answer with tool calls (function calling): names of offered tools,
// arguments that follow their schemas, the markup of the model's family, and nothing else. Must not
// know HTTP, nor clients.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "chat/dialect.h"
#include "grammar/grammar.h"
#include "grammar/token_mask.h"
#include "respond/conversation.h"

namespace aster::respond {

// The form and the tokens of calls.
struct CallWriting {
  const chat::Dialect& dialect;
  const grammar::TokenTree& tokens;
};

struct ResponseForm {
  std::string begun;  // the beginning of the answer, which the model need not write; may be empty
  std::shared_ptr<const grammar::Grammar> rest;  // of the text after that
};

// One call or more, of the tool that the request names or of any. A schema with unsupported
// keywords becomes any object, unless its tool is strict.
Result<ResponseForm> FormOfCalls(const CallWriting& writing, const Conversation& conversation);
// An answer in the form that the request wants, or calls.
Result<ResponseForm> FormOrCalls(const CallWriting& writing, const Conversation& conversation);
// Free text, in which a call that has begun must follow its tool's schema. `prompt`: the text
// before the answer.
Result<ResponseForm> TextWithCalls(const CallWriting& writing, const Conversation& conversation,
                                   std::string_view prompt);

}  // namespace aster::respond
