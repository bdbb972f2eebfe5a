// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "respond/prompt.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "chat/conversation.h"
#include "respond/call_grammar.h"
#include "respond/offered_tools.h"

namespace aster::respond {
namespace {

using nlohmann::ordered_json;

Status CheckTemplate(const Model& model) {
  if (model.prompt->has_template()) return Ok();
  return Unimplemented("this model has no chat template: give it a text to go on from");
}

Status CheckTools(const Model& model, const Conversation& conversation) {
  if (!conversation.offers_tools() || model.dialect.has_tools) return Ok();
  return Unimplemented("tools: this model's chat template has no place for tools");
}

// Some templates need optional fields of tools: if a template fails on the tools as sent, it is
// rendered again with these fields filled in.
Result<std::string> Render(const Model& model, const Conversation& conversation) {
  const bool offers = conversation.offers_tools();
  const ordered_json messages = chat::FittedMessages(model.dialect, conversation.messages);
  const ordered_json tools = offers ? conversation.tools : ordered_json();
  auto prompt = model.prompt->Render(messages, tools, conversation.variables);
  if (prompt.ok() || !offers) return prompt;
  auto again = model.prompt->Render(messages, chat::FilledTools(tools), conversation.variables);
  return again.ok() ? std::move(again) : std::move(prompt);
}

// Without the message that the response begins with.
Conversation WithoutLast(const Conversation& conversation) {
  Conversation rest = conversation;
  rest.messages.erase(rest.messages.size() - 1);
  return rest;
}

Status CheckContinuation(const Conversation& conversation) {
  const ordered_json& last = conversation.messages.back();
  if (conversation.form != nullptr)
    return InvalidArgument("an answer that continues a text cannot be structured as well");
  if (conversation.offers_tools() && conversation.tool_choice != ToolChoice::kAuto)
    return InvalidArgument("an answer that continues a text cannot be a tool call as well");
  if (last.contains("tool_calls"))
    return InvalidArgument(
        "the last message has calls: give their results, or a text to go on from");
  return Ok();
}

// The prompt of a response that continues the last message.
Result<std::string> RenderContinued(const Model& model, const Conversation& conversation) {
  TRY(CheckContinuation(conversation));
  // The prompt for a response from its beginning, without reasoning, then the given beginning, in
  // which control tokens stay text.
  std::string prompt = TRY(Render(model, WithoutLast(conversation)));
  prompt += chat::ReasoningEnd(model.dialect, prompt);
  prompt += chat::AnswerOpen(model.dialect.family);
  const auto& begun = conversation.messages.back()["content"].get_ref<const std::string&>();
  return prompt + model.prompt->Marked(begun);
}

// Sets the form of the response, if the conversation asks for one.
Status AddForm(const Model& model, const Conversation& conversation, Prompt& prompt) {
  const bool offers = conversation.offers_tools();
  const bool has_form = conversation.form != nullptr;
  const ToolChoice choice = conversation.tool_choice;
  prompt.has_to_call = offers && (choice == ToolChoice::kRequired || choice == ToolChoice::kNamed);
  ResponseForm form{.begun = "", .rest = conversation.form};
  if (prompt.has_to_call) {
    form = TRY(FormOfCalls({model.dialect, *model.tokens}, conversation));
  } else if (offers && has_form) {
    form = TRY(FormOrCalls({model.dialect, *model.tokens}, conversation));
  } else if (offers && !conversation.strict_tools.empty()) {
    form = TRY(TextWithCalls({model.dialect, *model.tokens}, conversation, prompt.text));
  }
  // The form covers the whole response: reasoning that the prompt has begun ends here.
  if (prompt.has_to_call || has_form)
    prompt.forced = chat::ReasoningEnd(model.dialect, prompt.text);
  if (has_form && !offers) prompt.forced += chat::AnswerOpen(model.dialect.family);
  prompt.forced += form.begun;
  prompt.grammar = std::move(form.rest);
  return Ok();
}

}  // namespace

Model ModelOf(const chat::ChatPrompt& prompt) {
  return {.tokenizer = &prompt.tokenizer(), .prompt = &prompt, .dialect = prompt.FindDialect()};
}

Model ModelWithForms(const chat::ChatPrompt& prompt, uint32_t vocab_size) {
  Model model = ModelOf(prompt);
  model.tokens = std::make_shared<grammar::TokenTree>(prompt.tokenizer(), vocab_size);
  return model;
}

Result<Prompt> RenderPrompt(const Model& model, const Conversation& conversation, Part* part) {
  Part ignored = Part::kMessages;
  Part& at = part == nullptr ? ignored : *part;
  Prompt prompt;
  // `at`: the part of the request that is wrong if a step fails.
  at = Part::kMessages;
  TRY(CheckTemplate(model));
  at = Part::kTools;
  TRY(CheckTools(model, conversation));
  at = Part::kMessages;
  prompt.text = TRY(conversation.continues ? RenderContinued(model, conversation)
                                           : Render(model, conversation));
  at = Part::kTools;
  TRY(AddForm(model, conversation, prompt));
  if (conversation.offers_tools()) prompt.tools = OfferedTools(conversation.tools);
  prompt.one_call = !conversation.parallel_calls;
  return prompt;
}

Result<Prompt> MakePrompt(const Model& model, const Conversation& conversation, Part* part) {
  Prompt prompt = TRY(RenderPrompt(model, conversation, part));
  if (part != nullptr) *part = Part::kMessages;
  prompt.tokens = TRY(model.prompt->Encode(prompt.text + prompt.forced));
  return prompt;
}

bool HasGapTokens(const text::Tokenizer& tokenizer) {
  const text::SpecialTokens& special = tokenizer.vocab().special;
  return special.fim_prefix != text::kNoToken && special.fim_suffix != text::kNoToken &&
         special.fim_middle != text::kNoToken;
}

Result<std::vector<int32_t>> InfillPrompt(const text::Tokenizer& tokenizer, std::string_view prefix,
                                          std::string_view suffix, std::string_view middle,
                                          std::span<const OtherFile> others) {
  const text::Vocab& vocab = tokenizer.vocab();
  const text::SpecialTokens& special = vocab.special;
  if (!HasGapTokens(tokenizer))
    return Unimplemented(
        "this model has no tokens for fill-in-the-middle; give a text to go on "
        "from, without a suffix");
  if (!others.empty() && special.fim_file == text::kNoToken)
    return Unimplemented("this model has no token that separates files; leave out the others");
  std::vector<int32_t> tokens;
  if (vocab.add_bos) tokens.push_back(special.bos);
  const auto add = [&](text::TokenId before, std::string_view text) -> Status {
    if (before != text::kNoToken) tokens.push_back(before);
    // Texts of files are never control tokens.
    const std::vector<int32_t> ids = TRY(tokenizer.Encode(text, {}));
    tokens.insert(tokens.end(), ids.begin(), ids.end());
    return Ok();
  };
  for (const OtherFile& other : others) {
    TRY(add(special.fim_file, other.name + "\n" + other.text));
  }
  TRY(add(special.fim_prefix, prefix));
  TRY(add(special.fim_suffix, suffix));
  TRY(add(special.fim_middle, middle));
  return tokens;
}

Prompt RawPrompt(std::vector<int32_t> tokens, std::shared_ptr<const grammar::Grammar> form) {
  Prompt prompt;
  prompt.tokens = std::move(tokens);
  prompt.grammar = std::move(form);
  prompt.is_raw = true;
  return prompt;
}

Result<std::shared_ptr<grammar::MaskCache>> MakeMasks(const Model& model, const Prompt& prompt) {
  std::shared_ptr<grammar::MaskCache> masks;
  if (prompt.grammar == nullptr) return masks;
  masks = std::make_shared<grammar::MaskCache>(prompt.grammar, model.tokens);
  if (masks->has_failed()) return TooCostly();
  return masks;
}

Error TooCostly() {
  return InvalidArgument("the grammar or schema can be read in too many ways; make it simpler");
}

}  // namespace aster::respond
