// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/pooler.h"
#include "serve/prompt_prefill.h"
#include "serve/service.h"

namespace aster::serve {
namespace {

// A request for embeddings in progress.
struct EmbedState {
  EmbedRequest api_request;
  Embeddings embeddings;
  std::vector<engine::Pooler> poolers;  // one for each text
  int64_t start_ns = 0;
};

// Cuts the text's tokens if the client wants that: a final special token stays at the end.
void CutTokens(const text::Tokenizer& tokenizer, size_t most, std::vector<int32_t>& tokens) {
  const int32_t last = tokens.back();
  tokens.resize(most);
  if (last == tokenizer.vocab().special.eos) tokens.back() = last;
}

std::vector<std::vector<int32_t>> TokensOf(const AnswerContext& context,
                                           const EmbedRequest& api_request, Problem& problem) {
  std::vector<std::vector<int32_t>> all;
  for (const TextToEmbed& text : api_request.texts) {
    std::vector<int32_t> tokens = text.ids;
    if (tokens.empty()) {
      auto encoded = context.model.prompt->EncodeRaw(text.text, /*begins=*/true);
      if (!encoded.ok()) problem = ProblemOf(encoded.error(), api_request.field);
      if (problem.any()) return {};
      tokens = *std::move(encoded);
    }
    const size_t count = tokens.size();
    if (count > context.context_limit && api_request.cuts_long_texts)
      CutTokens(*context.model.tokenizer, context.context_limit, tokens);
    if (tokens.size() > context.context_limit) {
      problem = TooManyTokens(api_request.field, count, context.context_limit);
      return {};
    }
    all.push_back(std::move(tokens));
  }
  return all;
}

Status FinishVectors(EmbedState& state, int64_t now_ns) {
  for (const engine::Pooler& pooler : state.poolers) {
    std::vector<float> vector = pooler.Finish();
    if (state.api_request.is_normalised)
      vector = TRY(engine::Normalised(vector, state.api_request.dimensions));
    state.embeddings.vectors.push_back(std::move(vector));
  }
  state.embeddings.ns = now_ns - state.start_ns;
  return Ok();
}

}  // namespace

void Service::OpenAiEmbeddings(const HttpRequest& request,
                               const std::shared_ptr<ReplyStream>& stream) {
  Embed(request, stream, EmbedKind::kOpenAi);
}

void Service::OllamaEmbed(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  Embed(request, stream, EmbedKind::kOllama);
}

void Service::OllamaEmbeddings(const HttpRequest& request,
                               const std::shared_ptr<ReplyStream>& stream) {
  Embed(request, stream, EmbedKind::kOldOllama);
}

void Service::LlamaEmbedding(const HttpRequest& request,
                             const std::shared_ptr<ReplyStream>& stream) {
  Embed(request, stream, EmbedKind::kLlama);
}

void Service::Embed(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream,
                    EmbedKind kind) {
  Problem problem;
  const nlohmann::ordered_json body = ParseBody(request.body, problem);
  const ServedModel* const model = ModelOf(body, problem);
  if (model == nullptr) return Refuse(request, *stream, problem);
  const AnswerContext& context = model->context;
  if (!context.pooling.ok()) problem = ProblemOf(context.pooling.error());
  if (context.pooling.ok() && *context.pooling == model::Pooling::kRank) {
    problem.Set(501, "model",
                fmt::format("{} ranks documents and makes no embeddings; ask /v1/rerank, or serve "
                            "an embedding model",
                            context.name));
  }
  // Reads the request into prompts; an empty one only loads a model (Ollama).
  auto state = std::make_shared<EmbedState>();
  state->start_ns = clock_.NowNs();
  if (!problem.any()) {
    state->api_request = ReadEmbedRequest(
        kind, body, {.vocab_size = model->defaults.vocab_size, .width = model->facts.embedding},
        problem);
  }
  PrefillRequest prefill;
  if (!problem.any()) prefill.prompts = TokensOf(context, state->api_request, problem);
  prefill.timeout_ns = TimeoutOf(request, problem);
  if (problem.any()) return Refuse(request, *stream, problem);
  state->embeddings.model = FrameFor(body, *model, "", stream).model;
  if (prefill.prompts.empty())
    return SendJson(request, *stream, 200, EmbeddingsJson(state->api_request, state->embeddings));

  // Pools the rows of each prompt as they come; the reply is sent when all are done.
  state->poolers.assign(prefill.prompts.size(), engine::Pooler(*context.pooling));
  for (const auto& prompt : prefill.prompts) state->embeddings.prompt_tokens += prompt.size();
  prefill.rows = state->poolers.front().rows();
  prefill.on_row = [state](size_t text, std::span<const float> row) {
    state->poolers[text].Add(row);
  };
  prefill.on_done = [this, state, stream, path = request.path] {
    const Status finished = FinishVectors(*state, clock_.NowNs());
    if (!finished.ok()) return RefuseAt(path, *stream, ProblemOf(finished.error()));
    SendJsonAt(path, *stream, EmbeddingsJson(state->api_request, state->embeddings));
  };
  prefill.on_failed = [this, stream, path = request.path](const Problem& why) {
    RefuseAt(path, *stream, why);
  };
  prefill.field = state->api_request.field;
  prefill.client = ClientOf(request, state->api_request.user);
  std::make_shared<PromptPrefill>(context, std::move(prefill), stream)->Start();
}

}  // namespace aster::serve
