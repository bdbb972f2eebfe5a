// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/utf8.h"
#include "engine/pooler.h"
#include "serve/prompt_prefill.h"
#include "serve/rerank_request.h"
#include "serve/service.h"

namespace aster::serve {
namespace {

// Of a request's query in all of its prompts. Prompts are made before any is computed.
constexpr size_t kMaxQueryBytes = 16 << 20;

// A request to rank documents in progress. If the model has a head for that, each prompt is the
// query with one document; otherwise the query, and then each document by itself.
struct RerankState {
  RerankRequest api_request;
  Ranks ranks;
  std::shared_ptr<const model::RankHead> head;  // null: by the cosine of embeddings
  std::vector<engine::Pooler> poolers;          // one for each prompt
};

// Fills query and document into the form: neither can name a control token, or the other's place.
std::string FilledForm(const chat::ChatPrompt& prompt, std::string_view form,
                       std::string_view query, std::string_view document) {
  constexpr std::string_view kQuery = "{query}";
  constexpr std::string_view kDocument = "{document}";
  std::string filled;
  while (!form.empty()) {
    if (form.starts_with(kQuery)) {
      filled += prompt.Marked(query);
      form.remove_prefix(kQuery.size());
    } else if (form.starts_with(kDocument)) {
      filled += prompt.Marked(document);
      form.remove_prefix(kDocument.size());
    } else {
      filled += form.front();
      form.remove_prefix(1);
    }
  }
  return filled;
}

// Makes the prompts of a request.
class RerankPrompts {
 public:
  RerankPrompts(const AnswerContext& context, const RerankState& state)
      : context_(context), tokenizer_(*context.model.tokenizer), state_(state) {}

  std::vector<std::vector<int32_t>> Make(Problem& problem) const {
    std::vector<std::vector<int32_t>> all;
    const size_t count = state_.api_request.documents.size();
    if (state_.head == nullptr) {
      Add(tokenizer_.Encode(state_.api_request.query, {.add_special = true}), "query", problem,
          all);
    } else if (state_.api_request.query.size() * count > kMaxQueryBytes) {
      problem.Set(400, "query",
                  fmt::format("query: is computed with each of {} documents, {} bytes in all, and "
                              "{} at most are possible: shorten it, or give fewer documents",
                              count, state_.api_request.query.size() * count, kMaxQueryBytes));
    }
    for (size_t i = 0; i < count && !problem.any(); ++i) {
      const std::string place = fmt::format("{}[{}]", state_.api_request.field, i);
      Add(TokensWith(state_.api_request.documents[i]), place, problem, all);
    }
    return all;
  }

 private:
  using Tokens = Result<std::vector<int32_t>>;

  void Add(Tokens tokens, const std::string& place, Problem& problem,
           std::vector<std::vector<int32_t>>& all) const {
    if (!tokens.ok()) {
      problem = ProblemOf(tokens.error(), place);
    } else if (tokens->empty()) {
      problem.Set(400, place, place + ": has no tokens: give some text");
    } else if (tokens->size() > context_.context_limit) {
      problem = TooManyTokens(place, tokens->size(), context_.context_limit);
    } else {
      all.push_back(*std::move(tokens));
    }
  }

  // The prompt of a document, which is cut as the request says.
  Tokens TokensWith(std::string document) const {
    const uint64_t most = state_.api_request.document_tokens;
    if (most != 0) {
      const auto encode = [this](const std::string& cut) { return tokenizer_.Encode(cut, {}); };
      static_cast<void>(TRY(Cut(document, most, encode)));
    }
    const auto encode = [this](const std::string& cut) { return PromptOf(cut); };
    if (!state_.api_request.cuts_documents) return encode(document);
    return Cut(document, context_.context_limit, encode);
  }

  Tokens PromptOf(const std::string& document) const {
    const RankHead* const head = state_.head.get();
    if (head == nullptr) return tokenizer_.Encode(document, {.add_special = true});
    const std::string& query = state_.api_request.query;
    if (!head->form.empty())
      return context_.model.prompt->Encode(
          FilledForm(*context_.model.prompt, head->form, query, document));
    const text::Vocab& vocab = tokenizer_.vocab();
    std::vector<int32_t> tokens = TRY(tokenizer_.Encode(query, {}));
    if (vocab.add_bos && vocab.special.bos != text::kNoToken)
      tokens.insert(tokens.begin(), vocab.special.bos);
    const auto add = [&tokens](text::TokenId id) {
      if (id != text::kNoToken) tokens.push_back(id);
    };
    add(vocab.special.eos);
    add(vocab.special.sep);
    const std::vector<int32_t> rest = TRY(tokenizer_.Encode(document, {}));
    tokens.insert(tokens.end(), rest.begin(), rest.end());
    add(vocab.special.eos);
    return tokens;
  }

  // Shortens the text until it has at most `most` tokens, or is empty.
  template <typename Encode>
  static Tokens Cut(std::string& text, uint64_t most, const Encode& encode) {
    std::vector<int32_t> tokens = TRY(encode(text));
    while (tokens.size() > most && !text.empty()) {
      // A little less than the share to keep, so that few steps are needed.
      const size_t kept = std::min(text.size() - 1, text.size() * most / tokens.size() * 15 / 16);
      text.resize(ValidUtf8Prefix(std::string_view(text).substr(0, kept)));
      tokens = TRY(encode(text));
    }
    return tokens;
  }

  using RankHead = model::RankHead;
  const AnswerContext& context_;
  const text::Tokenizer& tokenizer_;
  const RerankState& state_;
};

Result<std::vector<double>> CosinesOf(const RerankState& state) {
  const std::vector<float> query =
      TRY(engine::Normalised(state.poolers.front().Finish(), /*dimensions=*/0));
  std::vector<double> cosines;
  for (size_t i = 1; i < state.poolers.size(); ++i) {
    const std::vector<float> document =
        TRY(engine::Normalised(state.poolers[i].Finish(), /*dimensions=*/0));
    double sum = 0;
    for (size_t at = 0; at < query.size(); ++at)
      sum += static_cast<double>(query[at]) * static_cast<double>(document[at]);
    cosines.push_back(sum);
  }
  return cosines;
}

Result<std::vector<double>> ScoresOf(const RerankState& state) {
  if (state.head == nullptr) return CosinesOf(state);
  std::vector<double> scores;
  for (const engine::Pooler& pooler : state.poolers) {
    const std::vector<float> row = pooler.Finish();
    scores.push_back(state.api_request.is_raw ? state.head->RawScore(row)
                                              : state.head->Relevance(row));
    if (!std::isfinite(scores.back()))
      return DataLoss("the relevance is not a number: the model's weights are damaged");
  }
  return scores;
}

}  // namespace

void Service::Rerank(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  Problem problem;
  const nlohmann::ordered_json body = ParseBody(request.body, problem);
  const ServedModel* const model = ModelOf(body, problem);
  if (model == nullptr) return Refuse(request, *stream, problem);
  const AnswerContext& context = model->context;
  if (!context.rank_head.ok()) problem = ProblemOf(context.rank_head.error(), "model");
  if (problem.any()) return Refuse(request, *stream, problem);

  // The request as prompts.
  auto state = std::make_shared<RerankState>();
  state->api_request = ReadRerankRequest(body, problem);
  state->head = *context.rank_head;
  PrefillRequest prefill;
  if (!problem.any()) prefill.prompts = RerankPrompts(context, *state).Make(problem);
  prefill.timeout_ns = TimeoutOf(request, problem);
  if (problem.any()) return Refuse(request, *stream, problem);
  const ReplyFrame frame = FrameFor(body, *model, "rerank-", stream);
  state->ranks.id = frame.id;
  state->ranks.model = frame.model;
  state->ranks.method = state->head == nullptr ? "embedding_cosine" : "rank_head";
  for (const auto& prompt : prefill.prompts) state->ranks.prompt_tokens += prompt.size();

  // Computes their rows; when all have come, makes the scores.
  state->poolers.assign(prefill.prompts.size(), engine::Pooler(*context.pooling));
  prefill.rows = state->poolers.front().rows();
  prefill.on_row = [state](size_t text, std::span<const float> row) {
    state->poolers[text].Add(row);
  };
  prefill.on_done = [this, state, stream, path = request.path] {
    auto scores = ScoresOf(*state);
    if (!scores.ok()) return RefuseAt(path, *stream, ProblemOf(scores.error()));
    state->ranks.scores = *std::move(scores);
    SendJsonAt(path, *stream, RanksJson(state->api_request, state->ranks));
  };
  prefill.on_failed = [this, stream, path = request.path](const Problem& why) {
    RefuseAt(path, *stream, why);
  };
  prefill.field = state->api_request.field;
  prefill.client = ClientOf(request, state->api_request.user);
  std::make_shared<PromptPrefill>(context, std::move(prefill), stream)->Start();
}

}  // namespace aster::serve
