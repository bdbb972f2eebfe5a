// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "serve/llamacpp.h"
#include "serve/openai_request.h"
#include "serve/service.h"

namespace aster::serve {

using nlohmann::ordered_json;

void Service::LlamaAnswer(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream,
                          RequestReader read) {
  auto parsed = Parse(request, *stream, read);
  if (!parsed) return;
  auto& [body, model, api_request] = *parsed;
  auto writer = MakeLlamaWriter(FrameFor(body, *model, "", stream), api_request);
  StartAnswer(*model, request, std::move(api_request), stream, std::move(writer));
}

void Service::LlamaCompletion(const HttpRequest& request,
                              const std::shared_ptr<ReplyStream>& stream) {
  LlamaAnswer(request, stream, ReadLlamaCompletion);
}

void Service::LlamaInfill(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  LlamaAnswer(request, stream, ReadInfill);
}

void Service::Tokenize(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  Problem problem;
  const ordered_json body = ParseBody(request.body, problem);
  const ServedModel* const model = ModelOf(body, problem);
  if (model == nullptr) return Refuse(request, *stream, problem);
  const Fields fields(body, problem);
  const auto content = fields.String("content");
  const text::EncodeOptions options{.add_special = fields.Bool("add_special").value_or(false),
                                    .parse_special = fields.Bool("parse_special").value_or(true)};
  const bool has_pieces = fields.Bool("with_pieces").value_or(false);
  if (!content) fields.Refuse("content", "is missing");
  if (problem.any()) return Refuse(request, *stream, problem);
  const text::Tokenizer& tokenizer = *model->context.model.tokenizer;
  const auto tokens = tokenizer.Encode(*content, options);
  if (!tokens.ok()) return Refuse(request, *stream, ProblemOf(tokens.error(), "content"));
  ordered_json list = ordered_json::array();
  for (const int32_t id : *tokens) {
    const auto bytes = tokenizer.TokenBytes(id);
    if (!has_pieces || !bytes.ok()) {
      list.push_back(id);
    } else if (IsValidUtf8(*bytes)) {
      list.push_back({{"id", id}, {"piece", *bytes}});
    } else {
      // Part of a character is sent as its bytes.
      list.push_back({{"id", id}, {"piece", std::vector<uint8_t>(bytes->begin(), bytes->end())}});
    }
  }
  SendJson(request, *stream, 200, {{"tokens", std::move(list)}});
}

void Service::Detokenize(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  Problem problem;
  const ordered_json body = ParseBody(request.body, problem);
  const ServedModel* const model = ModelOf(body, problem);
  if (model == nullptr) return Refuse(request, *stream, problem);
  const std::vector<int32_t> tokens = ReadTokens(body, model->defaults.vocab_size, problem);
  if (problem.any()) return Refuse(request, *stream, problem);
  const auto text = model->context.model.tokenizer->Decode(tokens, {});
  if (!text.ok()) return Refuse(request, *stream, ProblemOf(text.error(), "tokens"));
  SendJson(request, *stream, 200, {{"content", *text}});
}

// The prompt of a conversation, as the model reads it.
void Service::ApplyTemplate(const HttpRequest& request,
                            const std::shared_ptr<ReplyStream>& stream) {
  auto parsed = Parse(request, *stream, ReadChatRequest);
  if (!parsed) return;
  const auto& [body, model, api_request] = *parsed;
  Problem problem;
  const auto prompt = PromptOf(model->context, api_request, problem);
  if (!prompt) return Refuse(request, *stream, problem);
  const auto text = model->context.model.tokenizer->Decode(prompt->tokens, {.remove_added = true});
  if (!text.ok()) return Refuse(request, *stream, ProblemOf(text.error()));
  SendJson(request, *stream, 200, {{"prompt", *text}});
}

void Service::LlamaProps(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  const ServedModel& model = options_.models.front();
  SendJson(request, *stream, 200,
           PropsJson(model.context.name, model.facts, model.defaults, options_.version));
}

void Service::LlamaSlots(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  const ServedModel& model = options_.models.front();
  const bool drafts = model.context.draft.kind != engine::DraftKind::kNone;
  SendJson(request, *stream, 200,
           SlotsJson(model.facts.slots, StateOf(model.context).running, model.context.context_limit,
                     drafts));
}

}  // namespace aster::serve
