// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <nlohmann/json.hpp>
#include <utility>

#include "serve/openai_reply.h"
#include "serve/openai_request.h"
#include "serve/prompt_logprobs.h"
#include "serve/prompt_reading.h"
#include "serve/service.h"

namespace aster::serve {
namespace {

// The text of each prompt of a request.
Result<std::vector<Echo>> EchoesOf(const text::Tokenizer& tokenizer, const Ask& ask) {
  std::vector<Echo> echoes;
  for (const RawPrompt& raw : ask.raw) {
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
Result<std::vector<PromptLogprobs>> LogprobsOfPrompts(const ServedModel& model, Ask& ask) {
  std::vector<PromptLogprobs> all;
  for (RawPrompt& raw : ask.raw) {
    const text::Tokenizer& tokenizer = *model.context.model.tokenizer;
    const bool is_text = raw.ids.empty();
    if (is_text) raw.ids = TRY(model.context.model.prompt->EncodeRaw(raw.text, /*begins=*/true));
    if (raw.ids.empty())
      return InvalidArgument("the prompt is empty: give some text to go on from");
    const bool is_added = is_text && raw.ids.front() == tokenizer.vocab().special.bos;
    all.emplace_back(tokenizer, raw.ids, is_added, model.defaults.vocab_size,
                     ask.sampling.top_logprobs);
  }
  return all;
}

}  // namespace

struct Service::ScoredPrompts {
  HttpRequest request;  // without its body
  nlohmann::ordered_json body;
  const ServedModel* model;  // not null
  Ask ask;
  std::shared_ptr<ReplyStream> stream;
  std::vector<Echo> echoes = {};  // one for each prompt
  std::vector<PromptLogprobs> logprobs = {};
};

void Service::Completions(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  auto parsed = Parse(request, *stream, ReadCompletionRequest);
  if (!parsed) return;
  auto& [body, model, ask] = *parsed;
  std::vector<Echo> echoes;
  if (ask.echo) {
    auto made = EchoesOf(*model->context.model.tokenizer, ask);
    if (!made.ok()) return Refuse(request, *stream, ProblemOf(made.error()));
    echoes = *std::move(made);
  }
  if (ask.echo && ask.sampling.logprobs) {
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
                                                      .ask = std::move(ask),
                                                      .stream = stream,
                                                      .echoes = std::move(echoes)}));
  }
  auto writer = MakeCompletionWriter(FrameFor(body, *model, "cmpl-", stream), ask,
                                     ask.raw.size() * ask.choices, Repeated(echoes, ask.choices));
  StartAnswer(*model, request, std::move(ask), stream, std::move(writer));
}

void Service::ScorePrompts(std::shared_ptr<ScoredPrompts> scored) {
  Problem problem;
  ReadingAsk reading;
  reading.timeout_ns = TimeoutOf(scored->request, problem);
  auto logprobs = LogprobsOfPrompts(*scored->model, scored->ask);
  if (!logprobs.ok()) problem = ProblemOf(logprobs.error(), "prompt");
  if (problem.any()) return Refuse(scored->request, *scored->stream, problem);
  scored->logprobs = *std::move(logprobs);
  for (const PromptLogprobs& prompt : scored->logprobs) reading.prompts.push_back(prompt.tokens());
  reading.rows = engine::PromptRows::Kind::kLogits;
  reading.on_row = [scored](size_t prompt, std::span<const float> row) {
    scored->logprobs[prompt].Add(row);
  };
  reading.on_done = [this, scored] { AnswerScored(*scored); };
  reading.on_failed = [this, scored](const Problem& why) { FailScored(*scored, why); };
  reading.field = "prompt";
  reading.client = ClientOf(scored->request, scored->ask.user);
  // A stream sends keep-alives while its prompts are computed.
  WriterOf(*scored)->Await();
  std::make_shared<PromptReading>(scored->model->context, std::move(reading), scored->stream)
      ->Start();
}

std::unique_ptr<ReplyWriter> Service::WriterOf(const ScoredPrompts& scored) const {
  const Ask& ask = scored.ask;
  return MakeCompletionWriter(FrameFor(scored.body, *scored.model, "cmpl-", scored.stream), ask,
                              ask.raw.size() * ask.choices, Repeated(scored.echoes, ask.choices));
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
  StartAnswer(*scored.model, scored.request, std::move(scored.ask), scored.stream,
              std::move(writer));
}

}  // namespace aster::serve
