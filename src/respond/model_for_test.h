// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A model's text side without a model: a vocabulary of bytes and the control tokens of all
// families, and a template that writes reasoning and calls. Only for tests.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gguf/metadata_builder.h"
#include "respond/prompt.h"
#include "text/tokenizer.h"

namespace aster::respond {

inline constexpr std::string_view kEndText = "<end>";
inline constexpr int32_t kEndToken = 1;
inline constexpr int32_t kFirstByte = 2;  // the token of byte 0

// All bytes, an end token, and the control tokens of all families.
inline std::unique_ptr<text::Tokenizer> MakeByteTokenizer(bool has_controls) {
  text::Vocab vocab;
  vocab.kind = text::VocabKind::kSentencePiece;
  const auto add = [&](std::string token, text::TokenType type) {
    vocab.tokens.push_back(std::move(token));
    vocab.types.push_back(type);
    vocab.scores.push_back(-static_cast<float>(vocab.tokens.size()));
  };
  add("<unk>", text::TokenType::kUnknown);
  add(std::string(kEndText), text::TokenType::kControl);
  for (int byte = 0; byte < 256; ++byte) {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    std::string name = "<0x";
    name += kHex[static_cast<size_t>(byte) / 16];
    name += kHex[static_cast<size_t>(byte) % 16];
    add(name + ">", text::TokenType::kByte);
  }
  if (has_controls) {
    for (const char* control : {"<tool_call>",
                                "</tool_call>",
                                "[TOOL_CALLS]",
                                "[ARGS]",
                                "[CALL_ID]",
                                "<｜tool▁calls▁begin｜>",
                                "<｜tool▁call▁begin｜>",
                                "<｜tool▁sep｜>",
                                "<｜tool▁call▁end｜>",
                                "<｜tool▁calls▁end｜>",
                                "｜DSML｜",
                                "<|tool_calls_section_begin|>",
                                "<|tool_call_begin|>",
                                "<think>",
                                "</think>",
                                "<|tool_call_argument_begin|>",
                                "<|tool_call_end|>",
                                "<|tool_calls_section_end|>",
                                "<|python_tag|>",
                                "</arg_value>",
                                "<|tool_call>",
                                "<tool_call|>",
                                "<|\"|>",
                                "<|channel>",
                                "<channel|>"}) {
      add(control, text::TokenType::kControl);
    }
  }
  vocab.special.unk = 0;
  vocab.special.eos = 1;
  vocab.end_of_generation = {1};
  return text::Tokenizer::Make(std::move(vocab)).value();
}

inline constexpr std::string_view kTestTemplate =
    "{% if tools %}{{ tools | tojson }}\n{% endif %}"
    "{% for m in messages %}[{{ m.role }}]"
    "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}"
    "{{ m.content }}"
    "{% for c in m.tool_calls or [] %}{{ '\\n' }}<tool_call>\n{\"name\": \"{{ c.function.name "
    "}}\", "
    "\"arguments\": {{ c.function.arguments | tojson }}}\n</tool_call>{% endfor %}"
    "{% if m.role == 'assistant' %}<end>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% if reasoning_effort %}<think>\n{% endif %}"
    "{% endif %}";

// Without a template if `source` is empty.
class TestModel {
 public:
  explicit TestModel(bool has_controls = true, std::string_view source = kTestTemplate)
      : tokenizer_(MakeByteTokenizer(has_controls)),
        prompt_(chat::ChatPrompt::Make(MetadataWith(source), *tokenizer_).value()),
        model_(ModelWithForms(prompt_, static_cast<uint32_t>(tokenizer_->vocab().size()))) {}

  const Model& get() const { return model_; }

 private:
  // The builder owns the bytes.
  gguf::Metadata MetadataWith(std::string_view source) {
    constexpr std::string_view kKey = "tokenizer.chat_template";
    if (source.empty()) return {};
    builder_.Set(kKey, source);
    const auto& found = *builder_.Find(kKey);
    std::vector<gguf::Value> values;
    values.emplace_back(kKey, found.type, Bytes(found.bytes).subspan(sizeof(uint64_t)));
    return gguf::Metadata::Of(std::move(values)).value();
  }

  const std::unique_ptr<text::Tokenizer> tokenizer_;
  gguf::MetadataBuilder builder_;
  const chat::ChatPrompt prompt_;
  const Model model_;
};

}  // namespace aster::respond
