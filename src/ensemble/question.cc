// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/question.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace aster::ensemble {
namespace {

respond::Settings SettingsOf(const Member& member, const Question& question) {
  respond::Settings settings = question.settings;
  settings.sampling.seed += member.extra_seed;
  settings.sampling.logprobs = true;
  if (member.context_limit > 0) settings.context_limit = member.context_limit;
  if (member.draft) settings.draft = *member.draft;
  return settings;
}

Result<respond::Prompt> PromptFor(const Member& member, const Question& question) {
  if (question.text) {
    respond::Prompt prompt =
        respond::RawPrompt(TRY(member.model.prompt->EncodeRaw(*question.text, /*begins=*/true)),
                           question.conversation.form);
    prompt.text = *question.text;
    return prompt;
  }
  respond::Conversation conversation = question.conversation;
  // Only for texts: a template without tools ignores them.
  if (question.is_raw && !member.model.dialect.has_tools) conversation.tools = nullptr;
  respond::Prompt prompt = TRY(respond::MakePrompt(member.model, conversation));
  prompt.is_raw = question.is_raw;
  return prompt;
}

}  // namespace

Result<PreparedQuestion> PrepareQuestion(const Member& member, const Question& question) {
  CHECK(member.model.prompt != nullptr);
  PreparedQuestion prepared{.is_text = question.text.has_value(),
                            .settings = SettingsOf(member, question),
                            .prompt = TRY(PromptFor(member, question)),
                            .masks = nullptr};
  prepared.masks = TRY(respond::MakeMasks(member.model, prepared.prompt));
  return prepared;
}

Result<std::optional<std::vector<int32_t>>> TokensBehind(const Member& member,
                                                         const PreparedQuestion& prepared,
                                                         const std::string& marked) {
  const chat::ChatPrompt& chat = *member.model.prompt;
  const respond::Prompt& prompt = prepared.prompt;
  std::vector<int32_t> tokens = prepared.is_text
                                    ? TRY(chat.EncodeRaw(prompt.text + marked, /*begins=*/true))
                                    : TRY(chat.Encode(prompt.text + prompt.forced + marked));
  const auto [end, rest] = std::ranges::mismatch(prompt.tokens, tokens);
  if (end != prompt.tokens.end()) return std::optional<std::vector<int32_t>>();
  tokens.erase(tokens.begin(), rest);
  return std::optional(std::move(tokens));
}

}  // namespace aster::ensemble
