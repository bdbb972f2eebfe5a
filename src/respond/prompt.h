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

// What all responses of a model share; it and what it points to outlive them.
struct Model {
  const text::Tokenizer* tokenizer = nullptr;  // null: prompts and responses are ids alone
  const chat::ChatPrompt* prompt = nullptr;    // null: prompts are made elsewhere
  chat::Dialect dialect = {};
  std::shared_ptr<const grammar::TokenTree> tokens = nullptr;  // null: no response has a form
};
Model ModelOf(const chat::ChatPrompt& prompt);
// Of a model with that many tokens, whose responses may have a form.
Model ModelWithForms(const chat::ChatPrompt& prompt, uint32_t vocab_size);

struct Prompt {
  std::vector<int32_t> tokens;
  std::string text;    // of a conversation: marked (chat/prompt.h); of a raw one: as it was given
  std::string forced;  // what the response begins with; its tokens are the prompt's last

  std::shared_ptr<const grammar::Grammar> grammar;  // of what follows that; null: free text
  std::shared_ptr<const chat::Tools> tools;         // null: nothing is read as a call
  bool has_to_call = false;
  bool one_call = false;  // the response ends with its first call
  bool is_raw = false;    // a text to go on from: no reasoning or calls are looked for
};

// Which part of a conversation an error is about.
enum class Part : uint8_t { kMessages, kTools };

// An error says what the template or the model cannot have, and sets `part` unless that is null.
Result<Prompt> MakePrompt(const Model& model, const Conversation& conversation,
                          Part* part = nullptr);
// The same without its tokens, for callers that know some of them already.
Result<Prompt> RenderPrompt(const Model& model, const Conversation& conversation,
                            Part* part = nullptr);

// Another file of the same project.
struct OtherFile {
  std::string name;
  std::string text;
};
// Fill-in-the-middle: the response goes on behind `middle`, in the gap between prefix and suffix.
// Unimplemented where the model has no tokens for it.
Result<std::vector<int32_t>> GapPrompt(const text::Tokenizer& tokenizer, std::string_view prefix,
                                       std::string_view suffix, std::string_view middle,
                                       std::span<const OtherFile> others = {});
bool HasGapTokens(const text::Tokenizer& tokenizer);

// A text to go on from, as tokens.
Prompt RawPrompt(std::vector<int32_t> tokens, std::shared_ptr<const grammar::Grammar> form);

// What all responses to the prompt share to follow its grammar; null where it has none. TooCostly
// where the grammar takes too long before its first token.
Result<std::shared_ptr<grammar::MaskCache>> MakeMasks(const Model& model, const Prompt& prompt);
// The error of a grammar that has cost more than any may.
Error TooCostly();

}  // namespace aster::respond
