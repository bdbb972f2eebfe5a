// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <nlohmann/json.hpp>
#include <utility>

#include "serve/openai_reply.h"
#include "serve/openai_request.h"
#include "serve/prompt_logprobs.h"
#include "serve/prompt_prefill.h"
#include "serve/service.h"

namespace aster::serve {
namespace {

// The text of each prompt of a request.
Result<std::vector<Echo>> EchoesOf(const text::Tokenizer& tokenizer,
                                   const ApiRequest& api_request) {
  std::vector<Echo> echoes;
  for (const RawPrompt& raw : api_request.raw) {
    std::string text = raw.ids.empty() ? raw.text : TRY(tokenizer.Decode(raw.ids, {}));
    echoes.push_back({.text = std::move(text)});
  }
  return echoes;
}

// One for each choice.
std::vector<Echo> Repeated(const std::vector<Echo>& echoes, size_t times) {
  std::vector<Echo> all;
  for (const Echo& echo : echoes) all.insert(all.end(), times, echo);
  return all;
}

// Encodes the prompts; the logits after each token are added later.
Result<std::vector<PromptLogprobs>> LogprobsOfPrompts(const ServedModel& model,
                                                      ApiRequest& api_request) {
  std::vector<PromptLogprobs> all;
  for (RawPrompt& raw : api_request.raw) {
    const text::Tokenizer& tokenizer = *model.context.model.tokenizer;
    const bool is_text = raw.ids.empty();
    if (is_text) raw.ids = TRY(model.context.model.prompt->EncodeRaw(raw.text, /*begins=*/true));
    if (raw.ids.empty())
      return InvalidArgument("the prompt is empty: give some text to go on from");
    const bool is_added = is_text && raw.ids.front() == tokenizer.vocab().special.bos;
    all.emplace_back(tokenizer, raw.ids, is_added, model.defaults.vocab_size,
                     api_request.sampling.top_logprobs);
  }
  return all;
}

}  // namespace

struct Service::ScoredPrompts {
  HttpRequest request;  // without its body
  nlohmann::ordered_json body;
  const ServedModel* model;  // not null
  ApiRequest api_request;
  std::shared_ptr<ReplyStream> stream;
  std::vector<Echo> echoes = {};  // one for each prompt
  std::vector<PromptLogprobs> logprobs = {};
};

void Service::Completions(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  auto parsed = Parse(request, *stream, ReadCompletionRequest);
  if (!parsed) return;
  auto& [body, model, api_request] = *parsed;
  std::vector<Echo> echoes;
  if (api_request.echo) {
    auto made = EchoesOf(*model->context.model.tokenizer, api_request);
    if (!made.ok()) return Refuse(request, *stream, ProblemOf(made.error()));
    echoes = *std::move(made);
  }
  if (api_request.echo && api_request.sampling.logprobs) {
    if (model->context.ensemble != nullptr) {
      const char* const why =
          "an ensemble has no log-probabilities of a prompt, whose tokens are of one vocabulary";
      return Refuse(request, *stream, {.status = 400, .message = why, .param = "echo"});
    }
    HttpRequest head = request;
    head.body.clear();
    return ScorePrompts(
        std::make_shared<ScoredPrompts>(ScoredPrompts{.request = std::move(head),
                                                      .body = std::move(body),
                                                      .model = model,
                                                      .api_request = std::move(api_request),
                                                      .stream = stream,
                                                      .echoes = std::move(echoes)}));
  }
  auto writer = MakeCompletionWriter(FrameFor(body, *model, "cmpl-", stream), api_request,
                                     api_request.raw.size() * api_request.choices,
                                     Repeated(echoes, api_request.choices));
  StartAnswer(*model, request, std::move(api_request), stream, std::move(writer));
}

void Service::ScorePrompts(std::shared_ptr<ScoredPrompts> scored) {
  Problem problem;
  PrefillRequest prefill;
  prefill.timeout_ns = TimeoutOf(scored->request, problem);
  const ApiRequest& api_request = scored->api_request;
  const Status counted =
      scored->model->context.loop->CheckCount(api_request.raw.size() * api_request.choices);
  if (!counted.ok())
    return Refuse(scored->request, *scored->stream, ProblemOf(counted.error(), "n"));
  auto logprobs = LogprobsOfPrompts(*scored->model, scored->api_request);
  if (!logprobs.ok()) problem = ProblemOf(logprobs.error(), "prompt");
  if (problem.any()) return Refuse(scored->request, *scored->stream, problem);
  scored->logprobs = *std::move(logprobs);
  for (const PromptLogprobs& prompt : scored->logprobs) prefill.prompts.push_back(prompt.tokens());
  prefill.rows = engine::PromptRows::Kind::kLogits;
  prefill.on_row = [scored](size_t prompt, std::span<const float> row) {
    scored->logprobs[prompt].Add(row);
  };
  prefill.on_done = [this, scored] { AnswerScored(*scored); };
  prefill.on_failed = [this, scored](const Problem& why) { FailScored(*scored, why); };
  prefill.field = "prompt";
  prefill.client = ClientOf(scored->request, scored->api_request.user);
  // A stream sends keep-alives while its prompts are computed.
  WriterOf(*scored)->Await();
  std::make_shared<PromptPrefill>(scored->model->context, std::move(prefill), scored->stream)
      ->Start();
}

std::unique_ptr<ReplyWriter> Service::WriterOf(const ScoredPrompts& scored) const {
  const ApiRequest& api_request = scored.api_request;
  return MakeCompletionWriter(FrameFor(scored.body, *scored.model, "cmpl-", scored.stream),
                              api_request, api_request.raw.size() * api_request.choices,
                              Repeated(scored.echoes, api_request.choices));
}

// In the form of the stream, if that has begun.
void Service::FailScored(const ScoredPrompts& scored, const Problem& problem) {
  WriterOf(scored)->Fail(problem);
  NoteRefused(scored.request.path, scored.stream->request_id(), problem.status);
}

// The prompts' rows are in the KV cache, where the answers find them.
void Service::AnswerScored(ScoredPrompts& scored) {
  for (size_t i = 0; i < scored.echoes.size(); ++i) {
    auto tokens = scored.logprobs[i].Take();
    if (!tokens.ok()) return FailScored(scored, ProblemOf(tokens.error()));
    scored.echoes[i].tokens = *std::move(tokens);
  }
  auto writer = WriterOf(scored);
  // The request was accepted with its prompts.
  StartAnswer(*scored.model, scored.request, std::move(scored.api_request), scored.stream,
              std::move(writer), &Answer::Follow);
}

}  // namespace aster::serve
