// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "chat/call_form.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "jinja/template.h"

namespace aster::chat {
namespace {

using nlohmann::ordered_json;

struct Way {
  std::string mark;
  bool has_tags = false;
  bool takes_text = false;
};

// The form of calls in a template that renders only the message of the answer.
std::optional<CallForm> Find(const std::string& source, const Way& way) {
  const auto made = jinja::ChatTemplate::Parse(source);
  EXPECT_TRUE(made.ok());
  if (!made.ok()) return std::nullopt;
  const auto render = [&](const ordered_json& message) -> std::optional<std::string> {
    auto text = made->Render({{"m", message}, {"eos_token", "<eos>"}});
    if (!text.ok()) return std::nullopt;
    return *std::move(text);
  };
  return FindCallForm({.render = render,
                       .mark = way.mark,
                       .eos = "<eos>",
                       .has_tags = way.has_tags,
                       .takes_text = way.takes_text});
}

TEST(CallForm, MarkupThatIsExplainedBeforeIsNotTaken) {
  const auto form = Find(
      "Call so: <tool_call>{\"name\": zqnamea}</tool_call><eos>\n{{ m.content }}"
      "{% for c in m.tool_calls or [] %}{{ '\\n<' }}tool_call>\n{\"name\": \"{{ c.function.name "
      "}}\", "
      "\"arguments\": {{ c.function.arguments }}}\n</tool_call>{% endfor %}<eos>\n",
      {.mark = "<tool_call>", .takes_text = true});
  ASSERT_TRUE(form.has_value());
  EXPECT_EQ(form->open, "<tool_call>\n{\"name\": \"");
  EXPECT_EQ(form->middle, "\", \"arguments\": ");
  EXPECT_EQ(form->close, "}\n</tool_call>");
  EXPECT_EQ(form->next, "}\n</tool_call>\n<tool_call>\n{\"name\": \"");
}

TEST(CallForm, QuotesAroundATextGo) {
  const auto form = Find(
      "{{ m.content }}{% for c in m.tool_calls or [] %}<c>{{ c.function.name }}|"
      "{{ c.function.arguments | tojson }}</c>{% endfor %}",
      {.mark = "<c>", .takes_text = true});
  ASSERT_TRUE(form.has_value());
  EXPECT_EQ(form->middle, "|");
  EXPECT_EQ(form->close, "</c>");
}

TEST(CallForm, NumbersAndIdsArePlaces) {
  const auto form = Find(
      "{{ m.content }}{% for c in m.tool_calls or [] %}<c>{{ c.function.name }}:"
      "{{ loop.index0 }}{{ c.function.arguments | tojson }}#{{ c.id }}"
      "{% endfor %}",
      {.mark = "<c>"});
  ASSERT_TRUE(form.has_value());
  EXPECT_EQ(form->middle, std::string(":") + kNumberHere);
  EXPECT_EQ(form->close, std::string("#") + kIdHere);
  EXPECT_EQ(form->next, std::string("#") + kIdHere + "<c>");
}

// Ids of several calls differ in their last digit, like a count of calls.
TEST(CallForm, IdsBeforeArgumentsAreNoNumbers) {
  const auto form = Find(
      "{{ m.content }}{% for c in m.tool_calls or [] %}<c>{{ c.function.name }}<id>{{ c.id }}"
      "<args>{{ c.function.arguments | tojson }}{% endfor %}<eos>",
      {.mark = "<c>", .takes_text = true});
  ASSERT_TRUE(form.has_value());
  EXPECT_EQ(form->open, "<c>");
  EXPECT_EQ(form->middle, std::string("<id>") + kIdHere + "<args>");
  EXPECT_EQ(form->close, "");
  EXPECT_EQ(form->next, "<c>");
}

TEST(CallForm, AnIdBesideANumber) {
  for (const bool id_first : {true, false}) {
    const std::string id = "{{ c.id }}";
    const std::string number = "{{ loop.index0 }}";
    const auto form = Find(
        "{{ m.content }}{% for c in m.tool_calls or [] %}<c>"
        "{{ c.function.name }}|" +
            (id_first ? id + "," + number : number + "," + id) +
            "|{{ c.function.arguments | tojson }}{% endfor %}<eos>",
        {.mark = "<c>"});
    ASSERT_TRUE(form.has_value());
    const std::string places = id_first ? std::string() + kIdHere + "," + kNumberHere
                                        : std::string() + kNumberHere + "," + kIdHere;
    EXPECT_EQ(form->middle, "|" + places + "|");
    EXPECT_EQ(form->next, "<c>");
  }
}

TEST(CallForm, OneCallWhereTheTemplateTakesOne) {
  const auto form = Find(
      "{{ m.content }}{% if m.tool_calls %}{% if m.tool_calls | length != 1 %}"
      "{{ raise_exception('one') }}{% endif %}{\"name\": \""
      "{{ m.tool_calls[0].function.name }}\", \"parameters\": "
      "{{ m.tool_calls[0].function.arguments | tojson }}}{% endif %}<eot>",
      {.mark = "{\"name\""});
  ASSERT_TRUE(form.has_value());
  EXPECT_EQ(form->close, "}");
  EXPECT_EQ(form->next, "");
}

TEST(CallForm, Tags) {
  const auto form = Find(
      "{{ m.content }}{% for c in m.tool_calls or [] %}{{ '\\n<' }}tool_call>\n<function="
      "{{ c.function.name }}>{% for k, v in c.function.arguments | items %}{{ '\\n<' "
      "}}parameter={{ k }}>\n"
      "{{ v }}\n</parameter>{% endfor %}{{ '\\n<' }}/function>\n</tool_call>{% endfor %}<eos>",
      {.mark = "<tool_call>", .has_tags = true});
  ASSERT_TRUE(form.has_value());
  EXPECT_EQ(form->open, "<tool_call>\n<function=");
  EXPECT_EQ(form->middle, ">");
  EXPECT_EQ(form->key_open, "\n<parameter=");
  EXPECT_EQ(form->value_open, ">\n");
  EXPECT_EQ(form->json_open, ">\n");
  EXPECT_EQ(form->value_close, "\n</parameter>");
  EXPECT_EQ(form->close, "\n</function>\n</tool_call>");
  EXPECT_EQ(form->next, "\n</function>\n</tool_call>\n<tool_call>\n<function=");
}

TEST(CallForm, TemplatesThatWriteNoCalls) {
  EXPECT_FALSE(Find("{{ m.content }}", {.mark = "<c>"}));
  EXPECT_FALSE(Find("{{ m.tool_calls }}", {.mark = "<c>"}));
  EXPECT_FALSE(Find("{{ raise_exception('no') }}", {.mark = "<c>"}));
  EXPECT_FALSE(
      Find("{{ m.content }}{% for c in m.tool_calls or [] %}<c>{{ c.function.name }}"
           "{% endfor %}",
           {.mark = "<c>"}));
}

}  // namespace
}  // namespace aster::chat
