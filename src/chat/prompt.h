// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Turns a conversation into a model's tokens by its chat template, with control tokens only where
// the template put them. Users' text never becomes a control token, or they could end their turn
// and write other roles' messages. Must not know how answers are generated.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/dialect.h"
#include "gguf/metadata.h"
#include "jinja/template.h"
#include "text/tokenizer.h"

namespace aster::chat {

struct Message {
  std::string role;  // "system", "user", "assistant"
  std::string content;
  bool operator==(const Message&) const = default;
};

// How much a model reasons before it answers.
enum class ReasoningEffort : uint8_t { kDefault, kOff, kHigh, kMax };
// Enables or disables reasoning, under all names that templates have for it.
void AddReasoning(bool reasons, nlohmann::ordered_json& variables);

// The text of a token that the metadata names by id, such as "bos"; empty if there is none.
std::string SpecialTokenText(const gguf::Metadata& metadata, std::string_view role);

// The source of the chat template; else that of the architecture; empty if there is neither.
std::string ChatTemplateSource(const gguf::Metadata& metadata);

// The tokenizer outlives it.
class ChatPrompt {
 public:
  // An error if the model has a template that cannot be parsed.
  static Result<ChatPrompt> Make(const gguf::Metadata& metadata, const text::Tokenizer& tokenizer);

  bool has_template() const { return template_.has_value(); }
  // Texts are then continued without a template.
  void DropTemplate() { template_.reset(); }
  // For templates with reasoning; others are unchanged.
  void SetReasoningEffort(ReasoningEffort effort) { effort_ = effort; }
  bool SupportsReasoningEffort() const;
  const text::Tokenizer& tokenizer() const { return *tokenizer_; }
  // Renders a few conversations to find the model's form of calls and reasoning.
  Dialect FindDialect() const;

  // The prompt up to the model's answer, marked: control tokens in the messages' texts are replaced
  // by private characters.
  Result<std::string> Render(std::span<const Message> messages) const;
  // The same for messages and tools as in chat templates; null: no tools.
  Result<std::string> Render(const nlohmann::ordered_json& messages,
                             const nlohmann::ordered_json& tools) const;
  // With further variables of the template, marked as well; `extra` is an object. Arguments of
  // calls may be texts: they are in the prompt byte for byte, unless the template has to read them.
  Result<std::string> Render(const nlohmann::ordered_json& messages,
                             const nlohmann::ordered_json& tools,
                             const nlohmann::ordered_json& extra) const;
  // A message's text, marked in the same way: as in the prompt, unless the template changes it.
  std::string Marked(std::string_view content) const;

  // The tokens of a whole marked prompt, with the beginning-of-text token if the model has one.
  Result<std::vector<int32_t>> Encode(std::string_view marked) const;
  // Of a part that follows other tokens; nothing if its tokens would differ in the whole prompt.
  Result<std::optional<std::vector<int32_t>>> EncodeNext(std::string_view marked) const;

  // A text without template. It may contain control tokens.
  Result<std::vector<int32_t>> EncodeRaw(std::string_view text, bool begins) const;

 private:
  explicit ChatPrompt(const text::Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  bool is_harmony() const { return source_.find("<|channel|>") != std::string::npos; }
  std::optional<size_t> ControlAt(std::string_view text) const;
  nlohmann::ordered_json CommonVariables(ReasoningEffort effort) const;
  nlohmann::ordered_json MarkedJson(const nlohmann::ordered_json& json) const;
  nlohmann::ordered_json MarkedMessages(const nlohmann::ordered_json& messages) const;
  Result<std::vector<int32_t>> EncodePieces(std::string_view marked) const;

  const text::Tokenizer* tokenizer_;
  std::string source_;  // of the template
  std::optional<jinja::ChatTemplate> template_;
  ReasoningEffort effort_ = ReasoningEffort::kDefault;
  std::string bos_text_;
  std::string eos_text_;
  std::vector<std::string> control_texts_;  // the longest first
  std::vector<size_t> control_order_;       // their indices, ordered by bytes
};

}  // namespace aster::chat
