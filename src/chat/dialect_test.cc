// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "chat/dialect.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "chat/templates_for_test.h"
#include "jinja/fallback.h"

namespace aster::chat {
namespace {

TEST(Dialect, OfGemma4) {
  const auto chat_template = jinja::ChatTemplate::Parse(kGemmaTemplate);
  ASSERT_TRUE(chat_template.ok()) << chat_template.error().message();
  const Dialect dialect = FindDialect(kGemmaTemplate, *chat_template, {{"bos_token", "<bos>"}});
  EXPECT_EQ(dialect.family, Family::kGemma);
  EXPECT_TRUE(dialect.has_tools);
  EXPECT_TRUE(dialect.has_reasoning);
  EXPECT_TRUE(dialect.takes_system);
  // Arguments as a text would be written without the template's own notation.
  EXPECT_EQ(dialect.arguments, ArgumentsAs::kObject);
  ASSERT_TRUE(dialect.calls.has_value());
  EXPECT_EQ(dialect.calls->open, "<|tool_call>call:");
  EXPECT_EQ(dialect.calls->next, "<tool_call|><|tool_call>call:");
  EXPECT_EQ(dialect.calls->quote, "<|\"|>");
  EXPECT_EQ(dialect.reasoning_open_tail, "\n");
  EXPECT_EQ(dialect.reasoning_close_lead, "\n");
  EXPECT_TRUE(EndsInReasoning(dialect, "<|turn>model\n<|channel>thought\n"));
  EXPECT_FALSE(EndsInReasoning(dialect, "<|turn>model\n<|channel>thought\n<channel|>"));
}

void ExpectDeepSeek41(std::string_view source) {
  const auto chat_template = jinja::ChatTemplate::Parse(source);
  ASSERT_TRUE(chat_template.ok()) << chat_template.error().message();
  const Dialect dialect = FindDialect(source, *chat_template, {{"eos_token", "<eos>"}});
  EXPECT_EQ(dialect.family, Family::kDsml41);
  EXPECT_TRUE(dialect.has_tools);
  EXPECT_TRUE(dialect.has_reasoning);
  EXPECT_TRUE(dialect.takes_later_system);
  EXPECT_EQ(dialect.arguments, ArgumentsAs::kObject);
  EXPECT_EQ(dialect.call_lead, "\n\n");
  EXPECT_EQ(
      dialect.reasoning_open_tail + dialect.reasoning_close_lead + dialect.reasoning_close_tail,
      "");
  ASSERT_TRUE(dialect.calls.has_value());
  EXPECT_EQ(dialect.calls->open, "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"");
  EXPECT_EQ(dialect.calls->key_open, "\n<｜DSML｜ parameter name=\"");
  EXPECT_EQ(dialect.calls->value_open, "\" string=\"true\">");
  EXPECT_EQ(dialect.calls->json_open, "\" string=\"false\">");
  EXPECT_EQ(dialect.calls->value_close, "</｜DSML｜ parameter>");
  EXPECT_EQ(dialect.calls->next, "\n</｜DSML｜ invoke>\n<｜DSML｜ invoke name=\"");
  EXPECT_EQ(dialect.calls->close, "\n</｜DSML｜ invoke>\n</｜DSML｜ calls>");
}

TEST(Dialect, OfDeepSeek32) {
  const std::string_view source = jinja::FallbackTemplate("deepseek32");
  const auto chat_template = jinja::ChatTemplate::Parse(source);
  ASSERT_TRUE(chat_template.ok()) << chat_template.error().message();
  const Dialect dialect = FindDialect(source, *chat_template, {{"eos_token", "<eos>"}});
  EXPECT_EQ(dialect.family, Family::kDsml32);
  EXPECT_TRUE(dialect.has_tools);
  EXPECT_TRUE(dialect.has_reasoning);
  EXPECT_TRUE(dialect.takes_later_system);
  EXPECT_EQ(dialect.call_lead, "\n\n");
  EXPECT_EQ(
      dialect.reasoning_open_tail + dialect.reasoning_close_lead + dialect.reasoning_close_tail,
      "");
  ASSERT_TRUE(dialect.calls.has_value());
  EXPECT_EQ(dialect.calls->open, "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"");
  EXPECT_EQ(dialect.calls->key_open, "\n<｜DSML｜parameter name=\"");
  EXPECT_EQ(dialect.calls->value_open, "\" string=\"true\">");
  EXPECT_EQ(dialect.calls->json_open, "\" string=\"false\">");
  EXPECT_EQ(dialect.calls->next, "\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"");
  EXPECT_EQ(dialect.calls->close, "\n</｜DSML｜invoke>\n</｜DSML｜function_calls>");
}

TEST(Dialect, OfDeepSeek41) {
  ExpectDeepSeek41(jinja::FallbackTemplate("deepseek41"));
  ExpectDeepSeek41(kSpacedDsmlTemplate);
  const std::string_view v4 = jinja::FallbackTemplate("deepseek4");
  const auto chat_template = jinja::ChatTemplate::Parse(v4);
  ASSERT_TRUE(chat_template.ok());
  EXPECT_EQ(FindDialect(v4, *chat_template, {{"eos_token", "<eos>"}}).family, Family::kDsml);
}

// The template cannot be rendered, so its family is found by its source.
TEST(Dialect, OfDeepSeek41ByItsTextAlone) {
  constexpr std::string_view kSource = "{{ raise_exception('no') }}<｜DSML｜ calls>";
  const auto chat_template = jinja::ChatTemplate::Parse(kSource);
  ASSERT_TRUE(chat_template.ok());
  const Dialect dialect = FindDialect(kSource, *chat_template, {{"eos_token", "<eos>"}});
  EXPECT_EQ(dialect.family, Family::kDsml41);
}

TEST(Dialect, OfMimo) {
  const auto chat_template = jinja::ChatTemplate::Parse(kMimoTemplate);
  ASSERT_TRUE(chat_template.ok()) << chat_template.error().message();
  const Dialect dialect = FindDialect(kMimoTemplate, *chat_template, {{"eos_token", "<|im_end|>"}});
  EXPECT_EQ(dialect.family, Family::kMimo);
  EXPECT_TRUE(dialect.has_tools);
  EXPECT_TRUE(dialect.has_reasoning);
  EXPECT_EQ(dialect.arguments, ArgumentsAs::kObject);
  ASSERT_TRUE(dialect.calls.has_value());
  EXPECT_EQ(dialect.calls->open, "<tool_call>\n<function=");
  EXPECT_EQ(dialect.calls->key_open, "\n<parameter=");
  EXPECT_EQ(dialect.calls->value_open, ">");
  EXPECT_EQ(dialect.calls->close, "\n</function>\n</tool_call>");
  EXPECT_EQ(dialect.reasoning_open_tail, "");
}

TEST(Dialect, OfQwenCoder) {
  const auto chat_template = jinja::ChatTemplate::Parse(kQwenCoderTemplate);
  ASSERT_TRUE(chat_template.ok()) << chat_template.error().message();
  const Dialect dialect =
      FindDialect(kQwenCoderTemplate, *chat_template, {{"eos_token", "<|im_end|>"}});
  EXPECT_EQ(dialect.family, Family::kQwenXml);
  EXPECT_TRUE(dialect.has_tools);
  EXPECT_TRUE(dialect.has_reasoning);
  EXPECT_EQ(dialect.arguments, ArgumentsAs::kObject);
  EXPECT_EQ(dialect.call_lead, "\n");
  ASSERT_TRUE(dialect.calls.has_value());
  EXPECT_EQ(dialect.calls->key_open, "\n<parameter=");
  EXPECT_EQ(dialect.calls->value_open, ">\n");
  EXPECT_EQ(dialect.calls->value_close, "\n</parameter>");
  EXPECT_EQ(dialect.calls->close, "\n</function>\n</tool_call>");
  EXPECT_TRUE(EndsInReasoning(dialect, "<|im_start|>assistant\n<think>\n"));
}

TEST(Dialect, OfMistral3) {
  const auto chat_template = jinja::ChatTemplate::Parse(kMistral3Template);
  ASSERT_TRUE(chat_template.ok()) << chat_template.error().message();
  const Dialect dialect =
      FindDialect(kMistral3Template, *chat_template, {{"bos_token", "<s>"}, {"eos_token", "</s>"}});
  EXPECT_EQ(dialect.family, Family::kMistral);
  EXPECT_TRUE(dialect.has_tools);
  EXPECT_TRUE(dialect.takes_system);
  ASSERT_TRUE(dialect.calls.has_value());
  EXPECT_EQ(dialect.calls->open, "[TOOL_CALLS]");
  EXPECT_EQ(dialect.calls->middle, "[ARGS]");
  EXPECT_EQ(dialect.calls->next, "[TOOL_CALLS]");
}

TEST(Dialect, OfMistralWithIds) {
  const auto chat_template = jinja::ChatTemplate::Parse(kMistralIdsTemplate);
  ASSERT_TRUE(chat_template.ok()) << chat_template.error().message();
  const Dialect dialect = FindDialect(kMistralIdsTemplate, *chat_template,
                                      {{"bos_token", "<s>"}, {"eos_token", "</s>"}});
  EXPECT_EQ(dialect.family, Family::kMistral);
  EXPECT_TRUE(dialect.has_tools);
  EXPECT_TRUE(dialect.wants_short_ids);
  EXPECT_EQ(dialect.arguments, ArgumentsAs::kText);
  ASSERT_TRUE(dialect.calls.has_value());
  EXPECT_EQ(dialect.calls->open, "[TOOL_CALLS]");
  EXPECT_EQ(dialect.calls->middle, std::string("[CALL_ID]") + kIdHere + "[ARGS]");
  EXPECT_EQ(dialect.calls->close, "");
  EXPECT_EQ(dialect.calls->next, "[TOOL_CALLS]");
}

TEST(Dialect, OfDeepSeek31) {
  for (const bool is_replaced : {false, true}) {
    const std::string source = is_replaced
                                   ? jinja::ReplacementTemplate("deepseek2", kDeepSeek31Template)
                                   : std::string(kDeepSeek31Template);
    const auto chat_template = jinja::ChatTemplate::Parse(source);
    ASSERT_TRUE(chat_template.ok()) << chat_template.error().message();
    const Dialect dialect = FindDialect(source, *chat_template, {{"eos_token", "<eos>"}});
    EXPECT_EQ(dialect.family, Family::kDeepSeek);
    EXPECT_EQ(dialect.has_tools, is_replaced);
    EXPECT_TRUE(dialect.takes_system);
    EXPECT_TRUE(dialect.takes_later_system);
    EXPECT_EQ(dialect.arguments, ArgumentsAs::kText);
    // The form in the instructions to the model is not mistaken for a call.
    ASSERT_TRUE(dialect.calls.has_value());
    EXPECT_EQ(dialect.calls->open, "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>");
    EXPECT_EQ(dialect.calls->middle, "<｜tool▁sep｜>");
    EXPECT_EQ(dialect.calls->next, "<｜tool▁call▁end｜><｜tool▁call▁begin｜>");
    EXPECT_EQ(dialect.calls->close, "<｜tool▁call▁end｜><｜tool▁calls▁end｜>");
  }
}

}  // namespace
}  // namespace aster::chat
