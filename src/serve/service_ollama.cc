// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <nlohmann/json.hpp>

#include "serve/ollama.h"
#include "serve/service.h"

namespace aster::serve {

using nlohmann::ordered_json;

void Service::OllamaVersion(const HttpRequest& request,
                            const std::shared_ptr<ReplyStream>& stream) {
  SendJson(request, *stream, 200, {{"version", options_.version}});
}

void Service::OllamaTags(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  ordered_json list = ordered_json::array();
  for (const ServedModel& model : options_.models)
    list.push_back(OllamaModelJson(model.context.name, model.facts));
  SendJson(request, *stream, 200, {{"models", std::move(list)}});
}

// All models stay loaded while the server runs.
void Service::OllamaProcesses(const HttpRequest& request,
                              const std::shared_ptr<ReplyStream>& stream) {
  ordered_json list = ordered_json::array();
  for (const ServedModel& model : options_.models) {
    ordered_json json = OllamaModelJson(model.context.name, model.facts);
    json["context_length"] = model.context.context_limit;
    json["size_vram"] = 0;
    json["expires_at"] = "9999-12-31T23:59:59Z";
    list.push_back(std::move(json));
  }
  SendJson(request, *stream, 200, {{"models", std::move(list)}});
}

void Service::OllamaShow(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  Problem problem;
  ordered_json body = ParseBody(request.body, problem);
  // Older clients' name of the field.
  if (!problem.any() && !body.contains("model") && body.contains("name"))
    body["model"] = body["name"];
  const ServedModel* const model = ModelOf(body, problem);
  if (model == nullptr) return Refuse(request, *stream, problem);
  const chat::Dialect& dialect = model->context.model.dialect;
  SendJson(request, *stream, 200,
           OllamaShowJson(model->facts, dialect.has_tools, dialect.has_reasoning,
                          respond::HasGapTokens(*model->context.model.tokenizer)));
}

void Service::OllamaAnswer(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream,
                           RequestReader read, OllamaKind kind) {
  auto parsed = Parse(request, *stream, read);
  if (!parsed) return;
  auto& [body, model, api_request] = *parsed;
  ReplyFrame frame = FrameFor(body, *model, "", stream);
  if (IsEmptyRequest(api_request))
    return SendJson(request, *stream, 200, OllamaLoadedJson(frame, kind));
  auto writer = MakeOllamaWriter(std::move(frame), api_request, kind);
  StartAnswer(*model, request, std::move(api_request), stream, std::move(writer));
}

void Service::OllamaChat(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  OllamaAnswer(request, stream, ReadOllamaChat, OllamaKind::kChat);
}

void Service::OllamaGenerate(const HttpRequest& request,
                             const std::shared_ptr<ReplyStream>& stream) {
  OllamaAnswer(request, stream, ReadOllamaGenerate, OllamaKind::kGenerate);
}

}  // namespace aster::serve
