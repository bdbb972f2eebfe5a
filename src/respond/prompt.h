// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A conversation made into what a model computes: the prompt's tokens, how the response has to
// begin, and the grammar that it has to follow. Must not know how a response is made.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/call_reader.h"
#include "chat/dialect.h"
#include "chat/prompt.h"
#include "grammar/grammar.h"
#include "grammar/token_mask.h"
#include "respond/conversation.h"
#include "text/tokenizer.h"

namespace aster::respond {

// Shared by all responses of a model; it and what it points to outlive them.
struct Model {
  const text::Tokenizer* tokenizer = nullptr;  // null: prompts and responses are ids only
  const chat::ChatPrompt* prompt = nullptr;    // null: other code makes prompts
  chat::Dialect dialect = {};
  std::shared_ptr<const grammar::TokenTree> tokens = nullptr;  // null: no response has a form
};
Model ModelOf(const chat::ChatPrompt& prompt);
// For a model with that many tokens, whose responses may have a form.
Model ModelWithForms(const chat::ChatPrompt& prompt, uint32_t vocab_size);

struct Prompt {
  std::vector<int32_t> tokens;
  std::string text;    // of a conversation: marked (chat/prompt.h); of a raw one: as given
  std::string forced;  // the beginning of the response; its tokens are the prompt's last

  std::shared_ptr<const grammar::Grammar> grammar;  // of the text after that; null: free text
  std::shared_ptr<const chat::Tools> tools;         // null: calls are not parsed
  bool has_to_call = false;
  bool one_call = false;  // the response ends with its first call
  bool is_raw = false;    // a text to continue: reasoning and calls are not parsed
};

// The part of a conversation that an error is about.
enum class Part : uint8_t { kMessages, kTools };

// An error says what the template or the model does not support, and sets `part` unless that is
// null.
Result<Prompt> MakePrompt(const Model& model, const Conversation& conversation,
                          Part* part = nullptr);
// The same without its tokens, for callers that know some of them.
Result<Prompt> RenderPrompt(const Model& model, const Conversation& conversation,
                            Part* part = nullptr);

// Another file of the same project.
struct OtherFile {
  std::string name;
  std::string text;
};
// Fill-in-the-middle: the response continues after `middle`, in the gap between prefix and suffix.
// Unimplemented if the model has no tokens for it.
Result<std::vector<int32_t>> InfillPrompt(const text::Tokenizer& tokenizer, std::string_view prefix,
                                          std::string_view suffix, std::string_view middle,
                                          std::span<const OtherFile> others = {});
bool HasGapTokens(const text::Tokenizer& tokenizer);

// A text to continue, as tokens.
Prompt RawPrompt(std::vector<int32_t> tokens, std::shared_ptr<const grammar::Grammar> form);

// The grammar masks that all responses to the prompt share; null without a grammar. TooCostly if
// the grammar takes too long before its first token.
Result<std::shared_ptr<grammar::MaskCache>> MakeMasks(const Model& model, const Prompt& prompt);
// The error of a grammar that exceeds the work limit.
Error TooCostly();

}  // namespace aster::respond
