// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "chat/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/folders_for_test.h"
#include "chat/dialect.h"
#include "chat/reply_parser.h"
#include "chat/templates_for_test.h"
#include "jinja/fallback.h"
#include "jinja/template.h"

namespace aster::chat {
namespace {

using nlohmann::ordered_json;

const ordered_json kBase = {{"bos_token", "<bos>"}, {"eos_token", "<eos>"}};

struct Known {
  std::string name;
  std::string source;
};

std::vector<Known> KnownTemplates() {
  std::vector<Known> known;
  known.push_back({"deepseek32", std::string(jinja::FallbackTemplate("deepseek32"))});
  known.push_back({"quasar", std::string(jinja::FallbackTemplate("deepseek4"))});
  known.push_back({"deepseek41", std::string(jinja::FallbackTemplate("deepseek41"))});
  known.push_back({"spaced dsml", std::string(kSpacedDsmlTemplate)});
  known.push_back({"gemma", std::string(jinja::FallbackTemplate("gemma3"))});
  known.push_back({"harmony", std::string(jinja::FallbackTemplate("gpt-oss"))});
  known.push_back({"minimax", std::string(jinja::FallbackTemplate("minimax-m2"))});
  known.push_back({"deepseek31", jinja::ReplacementTemplate("deepseek2", kDeepSeek31Template)});
  known.push_back({"phi", jinja::ReplacementTemplate("phi3", kPhiTemplate)});
  known.push_back({"gemma4", std::string(kGemmaTemplate)});
  known.push_back({"mimo", std::string(kMimoTemplate)});
  known.push_back({"mistral 3", std::string(kMistral3Template)});
  known.push_back({"mistral ids", std::string(kMistralIdsTemplate)});
  known.push_back({"qwen coder", std::string(kQwenCoderTemplate)});
  const std::filesystem::path folder = ASTER_SHARED_DIR "/data/templates";
  if (std::filesystem::exists(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      std::string source = ReadFile(entry.path(), 1 << 20).value();
      // This one expects users to describe tools to the model.
      if (entry.path().stem() == "deepseek-ai-DeepSeek-V3.1")
        source = jinja::ReplacementTemplate("deepseek2", source);
      known.push_back({entry.path().stem(), std::move(source)});
    }
  }
  return known;
}

ordered_json ToolList() {
  return ordered_json::parse(R"([{"type": "function", "function": {"name": "find", "description":
    "Finds.", "parameters": {"type": "object", "properties": {"what": {"type": "string"}, "most":
    {"type": "integer"}}, "required": ["what"]}}}])");
}

// Renders a prompt whose arguments are given as texts.
Result<std::string> Render(const jinja::ChatTemplate& chat_template, const Dialect& dialect,
                           const ordered_json& messages, bool generate) {
  ordered_json variables = kBase;
  variables["tools"] = ToolList();
  variables["add_generation_prompt"] = generate;
  const ArgumentTexts texts(messages);
  variables["messages"] = texts.messages();
  const auto prompt = chat_template.Render(variables);
  if (dialect.family != Family::kGemma && prompt.ok() && texts.AllStandIn(*prompt)) {
    return texts.Restore(*prompt, [](std::string_view text) { return std::string(text); });
  }
  variables["messages"] = TRY(WithArgumentObjects(messages));
  return chat_template.Render(variables);
}

ordered_json CallMessage(std::string_view content, const std::vector<std::string>& arguments) {
  ordered_json calls = ordered_json::array();
  for (size_t i = 0; i < arguments.size(); ++i) {
    calls.push_back({{"id", "abcdefgh" + std::to_string(i)},
                     {"type", "function"},
                     {"function", {{"name", "find"}, {"arguments", arguments[i]}}}});
  }
  return {{"role", "assistant"}, {"content", content}, {"tool_calls", calls}};
}

ordered_json MessageOf(const std::vector<ReplyEvent>& events) {
  std::string content;
  std::vector<std::string> arguments;
  for (const ReplyEvent& event : events) {
    if (event.kind == ReplyEvent::Kind::kContent) content += event.text;
    if (event.kind == ReplyEvent::Kind::kCallBegin) arguments.emplace_back();
    if (event.kind == ReplyEvent::Kind::kArguments) arguments.back() += event.text;
  }
  return CallMessage(content, arguments);
}

// A model writes calls in the form of its template; they are parsed, and the next prompt has them
// unchanged.
TEST(History, RepliesComeBackInThePromptUnchanged) {
  const ordered_json user = {{"role", "user"}, {"content", "Where is it?"}};
  size_t families = 0;
  for (const auto& [name, source] : KnownTemplates()) {
    SCOPED_TRACE(name);
    const auto chat_template = jinja::ChatTemplate::Parse(source);
    ASSERT_TRUE(chat_template.ok());
    const Dialect dialect = FindDialect(source, *chat_template, kBase);
    if (dialect.family == Family::kPlain) continue;
    EXPECT_TRUE(dialect.has_tools);
    ++families;
    const auto before = Render(*chat_template, dialect, ordered_json::array({user}), true);
    ASSERT_TRUE(before.ok()) << before.error().message();
    // The arguments have spaces as a model may write them, if the template takes them as text.
    const bool as_text = dialect.arguments == ArgumentsAs::kText;
    const std::string arguments =
        as_text ? R"({"what":"a \"key\"",  "most": 1.50})" : R"({"most": 3, "what": "a \"key\""})";
    const auto with_call = Render(*chat_template, dialect,
                                  ordered_json::array({user, CallMessage("", {arguments})}), false);
    ASSERT_TRUE(with_call.ok()) << with_call.error().message();
    ASSERT_TRUE(with_call->starts_with(*before) || dialect.family == Family::kGlm)
        << *before << "\n---\n"
        << *with_call;
    std::string reply = with_call->substr(std::min(before->size(), with_call->size()));
    for (const std::string_view end :
         {"<|im_end|>\n", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<eos>",
          "<｜end▁of▁sentence｜>", "<end_of_turn>\n", "[e~[\n", "<turn|>\n", "<|end|>"}) {
      if (reply.ends_with(end)) reply.erase(reply.size() - end.size());
    }
    const Tools tools = {.has_tool = [](std::string_view tool) { return tool == "find"; },
                         .is_string = nullptr};
    ReplyParser parser(dialect, *before, &tools);
    std::vector<ReplyEvent> events;
    parser.Push(reply, events);
    parser.Finish(events);
    const ordered_json said = MessageOf(events);
    ASSERT_EQ(said["tool_calls"].size(), 1U) << reply;
    EXPECT_EQ(said["content"], "") << reply;
    EXPECT_EQ(said["tool_calls"][0]["function"]["arguments"], arguments) << reply;
    const auto again = Render(*chat_template, dialect, ordered_json::array({user, said}), false);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(*again, *with_call);
  }
  EXPECT_GE(families, 1U);
}

// A reply with thoughts, text and several calls, one of them without arguments, is parsed in pieces
// of any size, and the next prompt has it unchanged.
void ExpectWhatWasWrittenAgain(std::string_view architecture) {
  const std::string source(jinja::FallbackTemplate(architecture));
  const auto chat_template = jinja::ChatTemplate::Parse(source);
  ASSERT_TRUE(chat_template.ok());
  const Dialect dialect = FindDialect(source, *chat_template, kBase);
  const auto render = [&](const ordered_json& messages) {
    return chat_template->Render({{"messages", messages},
                                  {"tools", ToolList()},
                                  {"enable_thinking", true},
                                  {"add_generation_prompt", messages.size() == 1}});
  };
  const ordered_json user = {{"role", "user"}, {"content", "Where is it?"}};
  const auto before = render(ordered_json::array({user}));
  ASSERT_TRUE(before.ok()) << before.error().message();
  ordered_json answer = CallMessage(
      "Let me see.", {R"({"what": "a \"key\"\n<b>", "most": 3, "more": [1, null, {"k": "v"}]})",
                      R"({"what": "12", "deep": true})", "{}"});
  answer["reasoning_content"] = "Hm.\n";
  const ordered_json objects = WithArgumentObjects(ordered_json::array({user, answer})).value();
  const auto after = render(objects);
  ASSERT_TRUE(after.ok()) << after.error().message();
  ASSERT_TRUE(after->starts_with(*before));
  std::string_view reply = std::string_view(*after).substr(before->size());
  reply.remove_suffix(std::string_view("<｜end▁of▁sentence｜>").size());
  const Tools tools;
  for (size_t piece = 1; piece <= reply.size(); ++piece) {
    ReplyParser parser(dialect, *before, &tools);
    std::vector<ReplyEvent> events;
    for (size_t at = 0; at < reply.size(); at += piece)
      parser.Push(reply.substr(at, piece), events);
    parser.Finish(events);
    ASSERT_EQ(events.front(), (ReplyEvent{ReplyEvent::Kind::kReasoning, "Hm.\n"})) << piece;
    ordered_json said = MessageOf(events);
    said["reasoning_content"] = "Hm.\n";
    ASSERT_EQ(said, answer) << piece;
  }
}

TEST(History, RepliesOfDeepSeekComeBackInThePromptUnchanged) {
  ExpectWhatWasWrittenAgain("deepseek32");
  ExpectWhatWasWrittenAgain("deepseek41");
}

TEST(History, ArgumentsThatAreNoObjectAreRefusedByName) {
  const ordered_json messages = ordered_json::array({CallMessage("", {"[1]"})});
  const auto changed = WithArgumentObjects(messages);
  ASSERT_FALSE(changed.ok());
  EXPECT_THAT(changed.error().message(),
              testing::HasSubstr("messages[0].tool_calls[0].function.arguments"));
}

// Rendering them would need the same depth.
TEST(History, ArgumentsThatAreTooDeepAreRefusedByName) {
  const std::string deep = "{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  const auto changed = WithArgumentObjects(ordered_json::array({CallMessage("", {"{}", deep})}));
  ASSERT_FALSE(changed.ok());
  EXPECT_THAT(changed.error().message(),
              testing::HasSubstr("messages[0].tool_calls[1].function.arguments"));
}

TEST(History, ManyArgumentsKeepTheirPlaces) {
  std::vector<std::string> arguments;
  for (int i = 0; i < 20'000; ++i) arguments.push_back("{\"i\": " + std::to_string(i) + "}");
  const ArgumentTexts texts(ordered_json::array({CallMessage("", arguments)}));
  const std::string prompt = texts.messages().dump();
  ASSERT_TRUE(texts.AllStandIn(prompt));
  EXPECT_FALSE(texts.AllStandIn(prompt + prompt));
  EXPECT_FALSE(texts.AllStandIn(prompt.substr(0, prompt.size() / 2)));
  const std::string back =
      texts.Restore(prompt, [](std::string_view text) { return std::string(text); });
  size_t at = 0;
  for (const std::string& one : arguments) {
    at = back.find("\"arguments\":" + one + "}", at);
    ASSERT_NE(at, std::string::npos) << one;
  }
}

// Placeholders differ each time, so one from an earlier prompt has no effect.
TEST(History, EachRenderingHasRandomPlaceholders) {
  const ordered_json messages = ordered_json::array({CallMessage("", {"{}"})});
  const ArgumentTexts texts(messages);
  const ArgumentTexts others(messages);
  EXPECT_FALSE(texts.AllStandIn(others.messages().dump()));
}

TEST(History, PlaceholdersNeverEqualUserText) {
  ordered_json message = CallMessage("zqarguments0z", {"{}", "{\"a\": \"zqargumentsq0z\"}"});
  const ArgumentTexts texts(ordered_json::array({message}));
  const std::string prompt = texts.messages().dump();
  ASSERT_TRUE(texts.AllStandIn(prompt));
  const std::string back =
      texts.Restore(prompt, [](std::string_view text) { return "[" + std::string(text) + "]"; });
  EXPECT_THAT(back, testing::HasSubstr("[{}]"));
  EXPECT_THAT(back, testing::HasSubstr("[{\"a\": \"zqargumentsq0z\"}]"));
  EXPECT_THAT(back, testing::HasSubstr("\"zqarguments0z\""));
}

}  // namespace
}  // namespace aster::chat
