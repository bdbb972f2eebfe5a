// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "respond/call_grammar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/json_string.h"
#include "grammar/free_text.h"
#include "grammar/json_rules.h"
#include "grammar/json_schema.h"
#include "respond/tag_arguments.h"

namespace aster::respond {
namespace {

using chat::kIdHere;
using chat::kNumberHere;
using grammar::Element;
using grammar::Grammar;
using grammar::Joined;
using grammar::RuleId;
using grammar::Sequence;
using nlohmann::ordered_json;

// How closely arguments follow the schema of a tool that is not strict.
enum class Keep : uint8_t {
  kAll,  // the tool's schema, as far as supported
  kAny,  // any object
};

constexpr std::string_view kPythonTag = "<|python_tag|>";

constexpr char kPlaceBytes[] = {kNumberHere, kIdHere};
constexpr std::string_view kPlaces(kPlaceBytes, 2);

const std::string& NameOf(const ordered_json& tool) {
  return tool["function"]["name"].get_ref<const std::string&>();
}

// Arguments are an object, whatever else the schema says.
ordered_json ObjectSchema(const ordered_json& schema) {
  if (!schema.is_object()) return {{"type", "object"}};
  ordered_json object = schema;
  if (!object.contains("type")) object["type"] = "object";
  return object;
}

// Whether a grammar can be made of the schema; not if it would spoil the grammar around it.
bool CanKeep(const ordered_json& schema, const grammar::BareStyle* bare) {
  if (schema["type"] != "object") return false;
  Grammar alone;
  const RuleId root = alone.AddRule();
  const auto arguments = grammar::AddJsonSchema(schema, alone, bare);
  if (!arguments.ok()) return false;
  alone.AddAlternative(root, {*arguments});
  return alone.Finish().ok();
}

// With members in the order of templates that write objects in another form than JSON.
ordered_json WithSortedMembers(const ordered_json& schema) {
  if (!schema.is_structured()) return schema;
  if (schema.is_array()) {
    ordered_json list = ordered_json::array();
    for (const ordered_json& one : schema) list.push_back(WithSortedMembers(one));
    return list;
  }
  const auto lower = [](std::string name) {
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return name;
  };
  std::vector<std::pair<std::string, std::string>> names;
  for (const auto& [name, value] : schema.items()) names.emplace_back(lower(name), name);
  std::ranges::sort(names);
  ordered_json object = ordered_json::object();
  for (const auto& [key, name] : names) object[name] = WithSortedMembers(schema[name]);
  return object;
}

// The texts that a family's calls may begin with in a model's tokens: as control tokens, and
// spelled out, which parses the same.
std::vector<std::string> MarksOf(const grammar::TokenTree& tokens, std::string_view mark) {
  std::vector<std::string> marks = {std::string(mark)};
  if (std::string spelled = tokens.Spelled(mark); spelled != mark)
    marks.push_back(std::move(spelled));
  return marks;
}

// Writes one grammar.
class CallWriter {
 public:
  CallWriter(const CallWriting& writing, const Conversation& conversation, Keep keep)
      : writing_(writing),
        form_(*writing.dialect.calls),
        conversation_(conversation),
        keep_(keep),
        bare_(BareOf(writing)),
        root_(grammar_->AddRule()),
        calls_(grammar_->AddRule()),
        after_(grammar_->AddRule()) {}

  // Adds calls of the tool with that name; if it is empty, of any tool.
  Status AddCalls(const std::string& name) {
    for (const ordered_json& tool : conversation_.tools) {
      if (!name.empty() && NameOf(tool) != name) continue;
      Sequence call = grammar_->Literal(TRY(Written(NameOf(tool))));
      const Element arguments = TRY(Arguments(tool["function"]));
      if (!first_arguments_) first_arguments_ = arguments;
      grammar_->AddAlternative(
          calls_, Joined({std::move(call), Markup(form_.middle), {arguments, Rule(after_)}}));
    }
    grammar_->AddAlternative(after_, Markup(form_.close));
    if (conversation_.parallel_calls && !form_.next.empty())
      grammar_->AddAlternative(after_, Joined({Markup(form_.next), {Rule(calls_)}}));
    return Ok();
  }

  // A tool's name as the markup has it.
  Result<std::string> Written(const std::string& name) const {
    if (!form_.has_tags && form_.open.ends_with('"')) {
      std::string json;
      AppendJsonString(json, name);
      return json.substr(1, json.size() - 2);
    }
    if (name.find_first_of(" \t\r\n{}\"<>") != std::string::npos) {
      return InvalidArgument(
          fmt::format("tools: this model cannot write the name {:?}; give it letters, digits, _ "
                      "and -",
                      name));
    }
    return name;
  }

  Sequence Markup(std::string_view markup) {
    Sequence all;
    while (!markup.empty()) {
      const size_t size = std::min(markup.find_first_of(kPlaces), markup.size());
      Sequence piece = grammar_->Literal(writing_.tokens.Spelled(markup.substr(0, size)));
      all.insert(all.end(), piece.begin(), piece.end());
      if (size == markup.size()) break;
      AddPlace(markup[size], all);
      markup.remove_prefix(size + 1);
    }
    return all;
  }

  Grammar& grammar() { return *grammar_; }
  Sequence calls() { return Joined({Markup(form_.open), {Rule(calls_)}}); }
  Element calls_from_name() const { return Rule(calls_); }
  Element first_arguments() const { return *first_arguments_; }
  Element after() const { return Rule(after_); }
  void AddRoot(Sequence sequence) { grammar_->AddAlternative(root_, std::move(sequence)); }

  Result<std::shared_ptr<const Grammar>> Take() && {
    TRY(grammar_->Finish());
    return std::shared_ptr<const Grammar>(std::move(grammar_));
  }

 private:
  static Element Rule(RuleId rule) { return Grammar::Rule(rule); }

  // Texts cannot contain the marks that end them or the call.
  static std::optional<grammar::BareStyle> BareOf(const CallWriting& writing) {
    const chat::CallForm& form = *writing.dialect.calls;
    if (form.quote.empty()) return std::nullopt;
    grammar::BareStyle bare{.quote = writing.tokens.Spelled(form.quote),
                            .marks = {form.quote, form.close}};
    bare.controls.set(grammar::TokenTree::kControlByte);
    return bare;
  }
  const grammar::BareStyle* bare() const { return bare_ ? &*bare_ : nullptr; }

  void AddPlace(char place, Sequence& all) {
    if (place == kNumberHere) {
      // At most three digits: no answer has more calls.
      const Element digit = grammar_->Characters({{'0', '9'}});
      const RuleId more = grammar_->AddRule({{}, {digit}});
      all.insert(all.end(), {digit, Rule(more), Rule(more)});
      return;
    }
    constexpr size_t kIdSize = 9;
    const Element letter = grammar_->Characters({{'a', 'z'}, {'A', 'Z'}, {'0', '9'}});
    all.insert(all.end(), kIdSize, letter);
  }

  Result<Element> Arguments(const ordered_json& function) {
    const ordered_json schema = ObjectSchema(function["parameters"]);
    const std::string& name = function["name"].get_ref<const std::string&>();
    const bool is_strict =
        std::ranges::find(conversation_.strict_tools, name) != conversation_.strict_tools.end();
    auto arguments = form_.has_tags ? Tags(schema, is_strict) : Json(schema, is_strict);
    return std::move(arguments).In(fmt::format("tools: {} cannot be strict", name));
  }

  Result<Element> Json(const ordered_json& given, bool is_strict) {
    const ordered_json schema = bare_ ? WithSortedMembers(given) : given;
    const bool keeps = is_strict || (keep_ == Keep::kAll && CanKeep(schema, bare()));
    return grammar::AddJsonSchema(keeps ? schema : ordered_json{{"type", "object"}}, *grammar_,
                                  bare());
  }

  Result<Element> Tags(const ordered_json& schema, bool is_strict) {
    const TagRules rules = {.form = form_,
                            .write = [this](std::string_view text) { return Markup(text); },
                            .text = TextInTags(),
                            .is_exact = is_strict};
    const bool keeps = is_strict || keep_ == Keep::kAll;
    Sequence sequence =
        keeps ? TRY(TagArguments(schema, rules, *grammar_)) : AnyTagArguments(rules, *grammar_);
    return Rule(grammar_->AddRule({std::move(sequence)}));
  }

  // Text that cannot end its tag or the call.
  Element TextInTags() {
    if (text_) return *text_;
    std::vector<std::string> marks = {form_.value_close.substr(form_.value_close.find('<'))};
    const std::string& close = form_.close;
    for (size_t tag = close.find("</"); tag != std::string::npos;) {
      const size_t end = close.find('>', tag);
      if (end == std::string::npos) break;
      marks.push_back(close.substr(tag, end + 1 - tag));
      tag = close.find("</", end);
    }
    grammar::ByteSet controls;
    controls.set(grammar::TokenTree::kControlByte);
    text_ = grammar::TextWithout(marks, controls, *grammar_);
    return *text_;
  }

  const CallWriting& writing_;
  const chat::CallForm& form_;
  const Conversation& conversation_;
  const Keep keep_;
  const std::optional<grammar::BareStyle> bare_;  // if arguments are not in JSON
  std::shared_ptr<Grammar> grammar_ = std::make_shared<Grammar>();
  const RuleId root_;
  const RuleId calls_;  // from a name to the end of the turn
  const RuleId after_;  // from the end of arguments
  std::optional<Element> first_arguments_;
  std::optional<Element> text_;
};

// If the grammar with all of the tools' schemas is too large, arguments are any objects.
template <typename Make>
Result<ResponseForm> MakeForm(const CallWriting& writing, const Conversation& conversation,
                              Keep most, const std::string& name, const Make& make) {
  if (!writing.dialect.calls) {
    return Unimplemented(
        "tools: the calls of this model cannot be constrained; use auto, "
        "without strict");
  }
  const auto attempt = [&](Keep keep) -> Result<ResponseForm> {
    CallWriter writer(writing, conversation, keep);
    TRY(writer.AddCalls(name));
    ResponseForm form;
    form.begun = make(writer);
    form.rest = TRY(std::move(writer).Take());
    return form;
  };
  auto form = attempt(most);
  if (!form.ok() && most == Keep::kAll) form = attempt(Keep::kAny);
  return form;
}

// Free text up to a mark, and the grammar after each mark.
class FreeTextWithCalls {
 public:
  FreeTextWithCalls(const CallWriting& writing, CallWriter& writer)
      : writing_(writing), writer_(writer) {}

  void Write(std::string_view prompt) {
    const RuleId said = writer_.grammar().AddRule();
    if (writing_.dialect.family == chat::Family::kLlama) {
      WriteLlama(said);
    } else {
      const Element text = Without(chat::CallsOpen(writing_.dialect.family));
      Add(said, {text});
      Add(said, Joined({{text}, writer_.calls()}));
    }
    if (!EndsInReasoning(writing_.dialect, prompt)) writer_.AddRoot({Grammar::Rule(said)});
    // In families whose reasoning consists of messages, it is free text as well.
    const bool has_tags = writing_.dialect.family != chat::Family::kHarmony;
    if (!writing_.dialect.has_reasoning || !has_tags) return;
    // Calls within reasoning are part of it.
    const RuleId reasoning_rule = writer_.grammar().AddRule();
    const std::string_view mark = chat::ReasoningClose(writing_.dialect.family);
    const Element reasoning = Without(mark);
    Add(reasoning_rule, {reasoning});
    for (const std::string& close : MarksOf(writing_.tokens, mark)) {
      Add(reasoning_rule,
          Joined({{reasoning}, writer_.grammar().Literal(close), {Grammar::Rule(said)}}));
    }
    if (EndsInReasoning(writing_.dialect, prompt))
      return writer_.AddRoot({Grammar::Rule(reasoning_rule)});
    for (const std::string& open :
         MarksOf(writing_.tokens, chat::ReasoningOpen(writing_.dialect.family))) {
      writer_.AddRoot(
          Joined({{Space()}, writer_.grammar().Literal(open), {Grammar::Rule(reasoning_rule)}}));
    }
  }

 private:
  void Add(RuleId rule, Sequence sequence) {
    writer_.grammar().AddAlternative(rule, std::move(sequence));
  }
  Element Without(std::string_view mark) {
    return grammar::TextWithout(MarksOf(writing_.tokens, mark), {}, writer_.grammar());
  }
  Element Space() {
    const RuleId space = writer_.grammar().AddRule();
    Add(space, {});
    Add(space,
        {writer_.grammar().Characters({{' ', ' '}, {'\t', '\t'}, {'\n', '\n'}, {'\r', '\r'}}),
         Grammar::Rule(space)});
    return Grammar::Rule(space);
  }

  // Llama's calls have no mark: an answer that begins with a brace is a call.
  void WriteLlama(RuleId said) {
    grammar::ByteSet any;
    any.set();
    grammar::ByteSet first = any;
    // If the tag is not a token, calls begin with its '<'.
    const bool is_token = writing_.tokens.Spelled(kPythonTag) != kPythonTag;
    if (!is_token) first.reset('<');
    for (const char byte : std::string_view("{ \t\n\r\xff"))
      first.reset(static_cast<uint8_t>(byte));
    const RuleId rest = writer_.grammar().AddRule();
    Add(rest, {});
    Add(rest, {writer_.grammar().Bytes(any), Grammar::Rule(rest)});
    const Element space = Space();
    Add(said, {space});
    Add(said, {space, writer_.grammar().Bytes(first), Grammar::Rule(rest)});
    Add(said, Joined({{space}, writer_.calls()}));
  }

  const CallWriting& writing_;
  CallWriter& writer_;
};

}  // namespace

Result<ResponseForm> FormOfCalls(const CallWriting& writing, const Conversation& conversation) {
  // The tool that must be called, if it is a single one.
  const std::string name = conversation.tool_choice == ToolChoice::kNamed ? conversation.tool_name
                           : conversation.tools.size() == 1 ? NameOf(conversation.tools[0])
                                                            : std::string();
  return MakeForm(writing, conversation, Keep::kAll, name, [&](CallWriter& writer) -> std::string {
    const chat::CallForm& form = *writing.dialect.calls;
    if (form.open.find_first_of(kPlaces) != std::string::npos) {
      writer.AddRoot(writer.calls());
      return "";
    }
    // Names from clients are never control tokens.
    const bool is_plain = writing.tokens.Spelled(name) == name;
    const auto written = writer.Written(name);
    if (name.empty() || !is_plain || !written.ok() ||
        form.middle.find_first_of(kPlaces) != std::string::npos) {
      writer.AddRoot({writer.calls_from_name()});
      return form.open;
    }
    // A space belongs to the token after it.
    const std::string begun = form.open + *written + form.middle;
    const size_t size = begun.find_last_not_of(' ') + 1;
    writer.AddRoot(Joined({writer.grammar().Literal(begun.substr(size)),
                           {writer.first_arguments(), writer.after()}}));
    return begun.substr(0, size);
  });
}

Result<ResponseForm> FormOrCalls(const CallWriting& writing, const Conversation& conversation) {
  return MakeForm(writing, conversation, Keep::kAll, "", [&](CallWriter& writer) {
    writer.AddRoot({writer.grammar().Include(*conversation.form)});
    writer.AddRoot(writer.calls());
    return std::string();
  });
}

Result<ResponseForm> TextWithCalls(const CallWriting& writing, const Conversation& conversation,
                                   std::string_view prompt) {
  return MakeForm(writing, conversation, Keep::kAny, "", [&](CallWriter& writer) {
    FreeTextWithCalls(writing, writer).Write(prompt);
    return std::string();
  });
}

}  // namespace aster::respond
