// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "base/float_text.h"
#include "base/log.h"
#include "base/percent.h"
#include "base/random.h"
#include "base/utf8.h"
#include "crypto/sha256.h"
#include "serve/anthropic.h"
#include "serve/model_names.h"
#include "serve/openai_reply.h"
#include "serve/openai_request.h"
#include "serve/origin.h"
#include "serve/page.h"
#include "serve/responses.h"

namespace aster::serve {
namespace {

using nlohmann::ordered_json;

ProblemForm FormOf(std::string_view path) {
  if (path.starts_with("/v1/messages")) return ProblemForm::kAnthropic;
  return path.starts_with("/api/") ? ProblemForm::kOllama : ProblemForm::kOpenAi;
}

}  // namespace

int64_t TimeoutOf(const HttpRequest& request, Problem& problem) {
  constexpr double kMostSeconds = 1e6;
  const std::string_view text = request.Header("x-request-timeout");
  if (text.empty()) return 0;
  double seconds = 0;
  const auto parsed = FloatFromChars(text.data(), text.data() + text.size(), seconds);
  const bool is_all = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  if (is_all && seconds > 0 && seconds <= kMostSeconds)
    return static_cast<int64_t>(seconds * static_cast<double>(kNsPerSecond));
  problem.Set(400, "", "X-Request-Timeout: give a number of seconds, above 0");
  return 0;
}

namespace {

// The name of all unknown paths in counts and logs.
constexpr std::string_view kOtherRoute = "other";

// A client's key; empty if it gives none.
std::string_view KeyOfRequest(const HttpRequest& request) {
  const std::string_view bearer = request.Header("authorization");
  if (bearer.size() > 7 && (bearer.starts_with("Bearer ") || bearer.starts_with("bearer ")))
    return bearer.substr(7);
  return request.Header("x-api-key");
}

// The host of "https://a.example" is "a.example".
std::string_view HostOf(std::string_view origin) {
  const size_t scheme = origin.find("://");
  return scheme == std::string_view::npos ? "" : origin.substr(scheme + 3);
}

}  // namespace

struct Service::Route {
  std::string_view method;
  std::string_view path;  // if it ends with /, it is a prefix
  Handler handler;
  bool is_open = false;  // asks for the server's health, without a key
};

const std::vector<Service::Route>& Service::Routes() {
  static const std::vector<Route> kRoutes = {
      {"POST", "/v1/chat/completions", &Service::Chat},
      {"POST", "/v1/completions", &Service::Completions},
      {"POST", "/v1/messages", &Service::Messages},
      {"POST", "/v1/messages/count_tokens", &Service::CountTokens},
      {"POST", "/v1/responses", &Service::Responses},
      {"GET", "/v1/responses/", &Service::OneResponse},
      {"DELETE", "/v1/responses/", &Service::OneResponse},
      {"POST", "/v1/responses/", &Service::CancelResponse},
      {"POST", "/v1/responses/input_tokens", &Service::InputTokens},
      {"GET", "/v1/sessions", &Service::Sessions},
      {"GET", "/v1/sessions/", &Service::OneSession},
      {"DELETE", "/v1/sessions/", &Service::OneSession},
      {"POST", "/v1/sessions/", &Service::LoadSession},
      {"GET", "/v1/models", &Service::Models},
      {"GET", "/v1/models/", &Service::OneModel},
      {"GET", "/api/version", &Service::OllamaVersion},
      {"GET", "/api/tags", &Service::OllamaTags},
      {"GET", "/api/ps", &Service::OllamaProcesses},
      {"POST", "/api/show", &Service::OllamaShow},
      {"POST", "/api/chat", &Service::OllamaChat},
      {"POST", "/api/generate", &Service::OllamaGenerate},
      {"POST", "/api/embed", &Service::OllamaEmbed},
      {"POST", "/api/embeddings", &Service::OllamaEmbeddings},
      {"POST", "/api/pull", &Service::OllamaPull},
      {"POST", "/api/push", &Service::NotDone},
      {"POST", "/api/create", &Service::NotDone},
      {"POST", "/api/copy", &Service::NotDone},
      {"DELETE", "/api/delete", &Service::NotDone},
      {"POST", "/completion", &Service::LlamaCompletion},
      {"POST", "/infill", &Service::LlamaInfill},
      {"POST", "/tokenize", &Service::Tokenize},
      {"POST", "/detokenize", &Service::Detokenize},
      {"POST", "/apply-template", &Service::ApplyTemplate},
      {"GET", "/props", &Service::LlamaProps},
      {"GET", "/slots", &Service::LlamaSlots},
      {"POST", "/embedding", &Service::LlamaEmbedding},
      {"POST", "/embeddings", &Service::LlamaEmbedding},
      {"POST", "/v1/embeddings", &Service::OpenAiEmbeddings},
      {"POST", "/v1/rerank", &Service::Rerank},
      {"POST", "/v1/reranking", &Service::Rerank},
      {"POST", "/v2/rerank", &Service::Rerank},
      {"POST", "/rerank", &Service::Rerank},
      {"POST", "/reranking", &Service::Rerank},
      {"GET", "/v1/status", &Service::ShowStatus},
      {"GET", "/v1/cluster", &Service::ShowCluster},
      {"POST", "/v1/cluster/invite", &Service::Invite},
      {"POST", "/v1/cluster/drain", &Service::Drain},
      {"POST", "/v1/cluster/revoke", &Service::Revoke},
      {"GET", "/metrics", &Service::Prometheus},
      {"GET", "/live", &Service::Health, true},
      {"GET", "/health", &Service::Health, true},
      {"GET", "/ready", &Service::Ready, true},
  };
  return kRoutes;
}

Service::Service(ServiceOptions options, RequestCounts& requests, const Clock& clock,
                 std::function<uint64_t()> connections)
    : options_(std::move(options)),
      requests_(requests),
      clock_(clock),
      connections_(std::move(connections)),
      responses_(options_.stored_responses) {
  CHECK(!options_.models.empty());
}

HttpHeaders Service::HeadersFor(const HttpRequest& request,
                                const std::vector<std::string>& origins) {
  if (origins.empty()) return {};
  HttpHeaders headers = {{"Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS"},
                         {"Access-Control-Allow-Headers", "*, Authorization"},
                         {"Access-Control-Expose-Headers", "X-Request-Id, Request-Id, Retry-After"},
                         {"Access-Control-Max-Age", "7200"}};
  const auto has = [&](std::string_view origin) {
    return std::ranges::find(origins, origin) != origins.end();
  };
  const std::string_view from = request.Header("origin");
  if (has("*")) {
    headers.emplace_back("Access-Control-Allow-Origin", "*");
    return headers;
  }
  // Caches must not give one origin the reply to another.
  headers.emplace_back("Vary", "Origin");
  if (has(from)) headers.emplace_back("Access-Control-Allow-Origin", from);
  return headers;
}

bool Service::HasKeyOf(const std::vector<crypto::Sha256Digest>& keys, const HttpRequest& request) {
  const std::string_view key = KeyOfRequest(request);
  const crypto::Sha256Digest digest =
      crypto::Sha256Of({reinterpret_cast<const uint8_t*>(key.data()), key.size()});
  // Compares with all keys, so that the time reveals nothing.
  bool found = false;
  for (const crypto::Sha256Digest& known : keys) found |= known == digest;
  return found;
}

bool Service::IsAllowed(const HttpRequest& request, bool needs_key, Problem& problem) const {
  const std::string_view origin = request.Header("origin");
  const std::string_view host = request.Header("host");
  const std::vector<std::string>& origins = options_.cors_origins;
  const bool takes_all = std::ranges::find(origins, "*") != origins.end();
  // A key protects from DNS rebinding, as an attacker's page has none. Without a key, the host name
  // must be local.
  const bool has_key = HasKeyOf(options_.keys, request) || HasKeyOf(options_.admin_keys, request);
  const bool is_known =
      takes_all || IsLocalHost(host) || std::ranges::find(origins, host, HostOf) != origins.end();
  if (!needs_key && !has_key && !is_known) {
    problem.Set(403, "",
                fmt::format("this server is not known as {}: use its address, or start it with an "
                            "API key or with --cors http://{}",
                            host, host));
    return false;
  }
  const bool is_named = std::ranges::find(origins, origin) != origins.end();
  if (IsOfPage(origin) && !takes_all && !is_named && !IsLoopbackOrigin(origin) &&
      !IsSameOrigin(origin, host)) {
    problem.Set(
        403, "",
        fmt::format(
            "web pages of {} may not send requests; start the server with --cors to allow them",
            origin));
    return false;
  }
  if (!needs_key || has_key) return true;
  const bool has_another =
      !request.Header("authorization").empty() || !request.Header("x-api-key").empty();
  problem.Set(401, "",
              has_another ? "the API key is wrong: the server has none like it"
                          : "give an API key: Authorization: Bearer KEY, or x-api-key: KEY",
              "invalid_api_key");
  return false;
}

const Service::Route* Service::FindRoute(const HttpRequest& request, Problem& problem) const {
  std::string_view method = request.method;
  if (method == "HEAD") method = "GET";
  const Route* found = nullptr;
  for (const Route& route : Routes()) {
    const bool is_prefix = route.path.ends_with('/');
    if (is_prefix ? !request.path.starts_with(route.path) : request.path != route.path) continue;
    if (found == nullptr || route.method == method) found = &route;
  }
  if (found == nullptr) {
    problem.Set(404, "", fmt::format("there is nothing at {}", request.path));
  } else if (found->method != method) {
    problem.Set(405, "", fmt::format("{} does not take {}", request.path, request.method));
    problem.allow = found->method == "GET" ? "GET, HEAD" : std::string(found->method);
  } else if (!found->is_open) {
    const bool has_keys = !options_.keys.empty();
    const bool is_open = found->path == "/metrics" && !options_.metrics_need_key;
    IsAllowed(request, /*needs_key=*/has_keys && !is_open, problem);
  }
  return found;
}

bool Service::TakesBody(const HttpRequest& head) const {
  Problem problem;
  FindRoute(head, problem);
  return head.method == "POST" && !problem.any();
}

bool Service::AsksForHealth(const HttpRequest& request) {
  return std::ranges::any_of(
      Routes(), [&](const Route& route) { return route.is_open && route.path == request.path; });
}

void Service::Handle(HttpRequest request, std::shared_ptr<ReplyStream> stream) {
  if (request.method == "OPTIONS" && !options_.cors_origins.empty()) {
    return stream->Send(204, "text/plain", "");
  }
  if (request.method == "GET" || request.method == "HEAD") {
    // The page needs no key: it asks for one.
    if (const PageFile* const file = FindPageFile(request.path)) {
      return requests_.Count(request.path, SendPageFile(*file, request, *stream));
    }
  }
  Problem problem;
  const Route* const found = FindRoute(request, problem);
  if (problem.any()) {
    // Counted and logged by the known route only, so that a client without a key cannot fill counts
    // and logs.
    const std::string_view route = found != nullptr ? found->path : kOtherRoute;
    return Refuse(route, FormOf(request.path), *stream, problem);
  }
  (this->*found->handler)(request, stream);
}

void Service::RefuseWhileLoading(const HttpRequest& request, ReplyStream& stream) {
  const bool is_health = request.path == "/health" || request.path == "/live";
  if (is_health || request.path == "/ready") {
    return stream.Send(is_health ? 200 : 503, "application/json",
                       DumpJson({{"status", is_health ? "ok" : "loading"}}));
  }
  SendProblem(stream, {.status = 503, .message = "models are being loaded; try again later"},
              FormOf(request.path));
}

void Service::OnUnread(std::string_view request_id, int status) {
  NoteRefused(kOtherRoute, request_id, status);
}

void Service::Refuse(const HttpRequest& request, ReplyStream& stream, const Problem& problem) {
  Refuse(request.path, FormOf(request.path), stream, problem);
}

void Service::Refuse(std::string_view route, ProblemForm form, ReplyStream& stream,
                     const Problem& problem) {
  SendProblem(stream, problem, form);
  NoteRefused(route, stream.request_id(), problem.status);
}

void Service::NoteRefused(std::string_view route, std::string_view request_id, int status) {
  requests_.Count(std::string(route), status);
  log::Info("refused", {{"id", request_id}, {"path", route}, {"status", status}});
}

std::string Service::Describe(std::string_view path, int status, std::string_view message) {
  return DumpJson(ProblemJson({.status = status, .message = std::string(message)}, FormOf(path)));
}

void Service::SendJson(const HttpRequest& request, ReplyStream& stream, int status,
                       const ordered_json& json) {
  stream.Send(status, "application/json", DumpJson(json));
  requests_.Count(request.path, status);
}

void Service::SendJsonAt(const std::string& path, ReplyStream& stream, const ordered_json& json) {
  HttpRequest counted;
  counted.path = path;
  SendJson(counted, stream, 200, json);
}

void Service::RefuseAt(const std::string& path, ReplyStream& stream, const Problem& problem) {
  Refuse(path, FormOf(path), stream, problem);
}

std::string Service::ClientOf(const HttpRequest& request, const std::string& user) {
  std::string_view key = KeyOfRequest(request);
  // Behind a proxy that asks for passwords, these distinguish clients.
  if (key.empty()) key = request.Header("authorization");
  return std::string(key) + "\n" + user;
}

const ServedModel* Service::FindModel(const std::string& written) const {
  if (written.empty()) return &options_.models.front();
  const auto find = [this](const auto& matches) -> const ServedModel* {
    for (const ServedModel& model : options_.models) {
      if (matches(model.context.name)) return &model;
    }
    for (const ServedModel& model : options_.models) {
      if (std::ranges::any_of(model.aliases, matches)) return &model;
    }
    return nullptr;
  };
  // An exact name is preferred to a similar one.
  const ServedModel* found = find([&](const std::string& name) { return name == written; });
  const std::string plain = PlainName(written);
  if (found == nullptr)
    found = find([&](const std::string& name) { return PlainName(name) == plain; });
  if (found == nullptr) found = find([](const std::string& name) { return name == "*"; });
  return found;
}

const ServedModel* Service::ModelOf(const ordered_json& body, Problem& problem) const {
  if (problem.any()) return nullptr;
  const auto name = Fields(body, problem).String("model");
  if (problem.any()) return nullptr;
  if (const ServedModel* const found = FindModel(name.value_or(""))) return found;
  std::string names;
  for (const ServedModel& model : options_.models) {
    names += (names.empty() ? "" : ", ") + model.context.name;
  }
  problem.Set(404, "model", fmt::format("there is no model {} here; there is {}", *name, names),
              "model_not_found");
  return nullptr;
}

ReplyFrame Service::FrameFor(const ordered_json& body, const ServedModel& model, const char* prefix,
                             const std::shared_ptr<ReplyStream>& stream) const {
  const auto name = body.find("model");
  const bool is_named = name != body.end() && name->is_string() && *name != "";
  return {.stream = stream,
          .id = fmt::format("{}{:016x}{:016x}", prefix, SystemSeed(), SystemSeed()),
          .model = is_named ? name->get<std::string>() : model.context.name,
          .created_s = clock_.WallNs() / kNsPerSecond,
          .fingerprint = model.facts.fingerprint_of_answers};
}

void Service::StartAnswer(const ServedModel& model, const HttpRequest& request,
                          ApiRequest api_request, const std::shared_ptr<ReplyStream>& stream,
                          std::unique_ptr<ReplyWriter> writer,
                          void (Answer::*start)(const std::string& client)) {
  Problem problem;
  api_request.timeout_ns = TimeoutOf(request, problem);
  if (problem.any()) return Refuse(request, *stream, problem);
  if (!api_request.left_out_tools.empty()) {
    log::Info("tools left out",
              {{"id", stream->request_id()},
               {"types", fmt::format("{}", fmt::join(api_request.left_out_tools, ", "))}});
  }
  const std::string client = ClientOf(request, api_request.user);
  const auto answer = std::make_shared<Answer>(model.context, std::move(api_request), stream,
                                               std::move(writer), request.path);
  (answer.get()->*start)(client);
}

std::optional<Service::Parsed> Service::Parse(const HttpRequest& request, ReplyStream& stream,
                                              RequestReader read) {
  Problem problem;
  Parsed parsed{.body = ParseBody(request.body, problem), .model = nullptr, .api_request = {}};
  parsed.model = ModelOf(parsed.body, problem);
  if (parsed.model != nullptr) {
    parsed.api_request = read(parsed.body, parsed.model->defaults, problem);
    if (!problem.any()) return parsed;
  }
  Refuse(request, stream, problem);
  return std::nullopt;
}

namespace {

ApiRequest ReadMessages(const ordered_json& body, const RequestDefaults& defaults,
                        Problem& problem) {
  return ReadMessagesRequest(body, defaults, /*only_counts=*/false, problem);
}

ApiRequest ReadCountedMessages(const ordered_json& body, const RequestDefaults& defaults,
                               Problem& problem) {
  return ReadMessagesRequest(body, defaults, /*only_counts=*/true, problem);
}

}  // namespace

void Service::Chat(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  auto parsed = Parse(request, *stream, ReadChatRequest);
  if (!parsed) return;
  auto& [body, model, api_request] = *parsed;
  auto writer = MakeChatWriter(FrameFor(body, *model, "chatcmpl-", stream), api_request);
  StartAnswer(*model, request, std::move(api_request), stream, std::move(writer));
}

void Service::Messages(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  auto parsed = Parse(request, *stream, ReadMessages);
  if (!parsed) return;
  auto& [body, model, api_request] = *parsed;
  auto writer = MakeMessagesWriter(FrameFor(body, *model, "msg_", stream), api_request);
  StartAnswer(*model, request, std::move(api_request), stream, std::move(writer));
}

void Service::CountTokens(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  auto parsed = Parse(request, *stream, ReadCountedMessages);
  if (!parsed) return;
  auto& [body, model, api_request] = *parsed;
  const auto count = CountOf(request, *stream, *model, api_request);
  if (count) SendJson(request, *stream, 200, {{"input_tokens", *count}});
}

std::optional<uint64_t> Service::CountOf(const HttpRequest& request, ReplyStream& stream,
                                         const ServedModel& model, const ApiRequest& api_request) {
  Problem problem;
  const auto prompt = PromptOf(model.context, api_request, problem);
  if (prompt) return prompt->tokens.size();
  Refuse(request, stream, problem);
  return std::nullopt;
}

void Service::InputTokens(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  auto parsed = Parse(request, *stream, ReadResponsesRequest);
  if (!parsed) return;
  auto& [body, model, api_request] = *parsed;
  const auto count = CountOf(request, *stream, *model, api_request);
  if (!count) return;
  SendJson(request, *stream, 200, {{"object", "response.input_tokens"}, {"input_tokens", *count}});
}

void Service::NotDone(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  const char* const why =
      "models are chosen when the server starts: /api/pull or aster pull NAME fetches one, and "
      "aster serve NAME serves it";
  Refuse(request, *stream, {.status = 501, .message = why});
}

}  // namespace aster::serve
