// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Routes requests and checks who may send them: the table of paths, models, keys, origins. Must not
// know sockets, nor how a model is loaded.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>  // tidy: allow(third-party) a parsed body is a JSON value
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/sha256.h"
#include "net/waker.h"
#include "serve/answer.h"
#include "serve/answer_loop.h"
#include "serve/api_request.h"
#include "serve/cluster_changes.h"
#include "serve/embed_request.h"
#include "serve/http_parser.h"
#include "serve/metrics.h"
#include "serve/model_facts.h"
#include "serve/model_pulls.h"
#include "serve/ollama.h"
#include "serve/reply_stream.h"
#include "serve/response_store.h"
#include "serve/saved_sessions.h"

namespace aster::serve {

struct ServedModel {
  ModelFacts facts;
  std::vector<std::string> aliases;  // other names for it
  RequestDefaults defaults;
  AnswerContext context;  // with its name in /v1/models
};

struct ServiceOptions {
  std::vector<ServedModel> models;         // the first one answers requests without a name
  std::vector<crypto::Sha256Digest> keys;  // of API keys; empty: every client may ask
  // Of administrators' keys, which are API keys, too; empty: the cluster cannot be changed.
  std::vector<crypto::Sha256Digest> admin_keys = {};
  std::vector<std::string> cors_origins;  // their web pages may ask; "*": all
  int64_t created_s = 0;
  std::string version;
  size_t stored_responses = 0;  // the most stored responses that clients may continue
  // The nodes of the cluster as JSON, for the page; null: no cluster. Never blocks.
  std::function<std::string()> cluster = nullptr;
  ClusterChanges* changes = nullptr;  // of that cluster; outlives the service; or null
  ModelPulls* pulls = nullptr;        // outlives the service; null: no pulls
  SavedSessions* sessions = nullptr;  // outlives the service; null: none
  bool files_need_admin = true;       // pulls and sessions need an administrator's key
  bool metrics_need_key = true;       // gateways' endpoint pickers have no key
};

// How long a client waits, by its header, in nanoseconds; 0 without one.
int64_t TimeoutOf(const HttpRequest& request, Problem& problem);

// Handle is safe for concurrent use.
class Service {
 public:
  // The objects that models and answers refer to outlive it. `connections` returns their number.
  Service(ServiceOptions options, RequestCounts& requests, const Clock& clock,
          std::function<uint64_t()> connections);

  void Handle(HttpRequest request, std::shared_ptr<ReplyStream> stream);
  // Whether a request with this head will be answered: other bodies are not read.
  bool TakesBody(const HttpRequest& head) const;
  // Whether the request only asks how the server is: Handle answers it at once.
  static bool AsksForHealth(const HttpRequest& request);
  // The reply of a server that still loads its models: it runs, and is not ready.
  static void RefuseWhileLoading(const HttpRequest& request, ReplyStream& stream);
  // Counts a request that could not be read.
  void OnUnread(std::string_view request_id, int status);
  // The error of a request for this path, in the form of its dialect.
  static std::string Describe(std::string_view path, int status, std::string_view message);
  // Headers of every reply.
  static HttpHeaders HeadersFor(const HttpRequest& request,
                                const std::vector<std::string>& cors_origins);

 private:
  struct Route;
  using Handler = void (Service::*)(const HttpRequest&, const std::shared_ptr<ReplyStream>&);

  static const std::vector<Route>& Routes();
  // The route of a request; null, or a route with another method, and a problem.
  const Route* FindRoute(const HttpRequest& request, Problem& problem) const;
  bool IsAllowed(const HttpRequest& request, bool needs_key, Problem& problem) const;
  static bool HasKeyOf(const std::vector<crypto::Sha256Digest>& keys, const HttpRequest& request);
  // The model with this name as users write it, or null; an empty name is the first model's.
  const ServedModel* FindModel(const std::string& written) const;
  // The model that the body names; null, and a problem, if there is none.
  const ServedModel* ModelOf(const nlohmann::ordered_json& body, Problem& problem) const;
  // The body of a request, read by one API; nullopt if it was refused.
  struct Parsed {
    nlohmann::ordered_json body;
    const ServedModel* model;  // not null
    ApiRequest api_request;
  };
  using RequestReader = ApiRequest (*)(const nlohmann::ordered_json& body,
                                       const RequestDefaults& defaults, Problem& problem);
  std::optional<Parsed> Parse(const HttpRequest& request, ReplyStream& stream, RequestReader read);
  // Tokens of a conversation; nullopt if a problem was sent.
  std::optional<uint64_t> CountOf(const HttpRequest& request, ReplyStream& stream,
                                  const ServedModel& model, const ApiRequest& api_request);
  ReplyFrame FrameFor(const nlohmann::ordered_json& body, const ServedModel& model,
                      const char* prefix, const std::shared_ptr<ReplyStream>& stream) const;
  // `start`: Answer::Start, or Answer::Follow.
  void StartAnswer(const ServedModel& model, const HttpRequest& request, ApiRequest api_request,
                   const std::shared_ptr<ReplyStream>& stream, std::unique_ptr<ReplyWriter> writer,
                   void (Answer::*start)(const std::string& client) = &Answer::Start);
  // The name for taking turns: the request's key, and the client's name for its user.
  static std::string ClientOf(const HttpRequest& request, const std::string& user);
  void SendJson(const HttpRequest& request, ReplyStream& stream, int status,
                const nlohmann::ordered_json& json);
  // For requests that are answered later.
  void SendJsonAt(const std::string& path, ReplyStream& stream, const nlohmann::ordered_json& json);
  void RefuseAt(const std::string& path, ReplyStream& stream, const Problem& problem);
  void Refuse(const HttpRequest& request, ReplyStream& stream, const Problem& problem);
  void Refuse(std::string_view route, ProblemForm form, ReplyStream& stream,
              const Problem& problem);
  void NoteRefused(std::string_view route, std::string_view request_id, int status);
  nlohmann::ordered_json ModelJson(const ServedModel& model) const;
  std::vector<ModelFigures> Figures() const;

  void Chat(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void Completions(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void Messages(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void CountTokens(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void InputTokens(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void Responses(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void OneResponse(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void StartInBackground(const ServedModel& model, const HttpRequest& request, ReplyFrame frame,
                         ApiRequest api_request, const nlohmann::ordered_json& body,
                         ReplyStream& stream);
  void CancelResponse(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void ContinueResponse(const HttpRequest& request, nlohmann::ordered_json& body,
                        Problem& problem) const;
  void Models(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void OneModel(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  // Prompts whose log-probabilities are wanted are computed for these first.
  struct ScoredPrompts;
  void ScorePrompts(std::shared_ptr<ScoredPrompts> scored);
  void AnswerScored(ScoredPrompts& scored);
  std::unique_ptr<ReplyWriter> WriterOf(const ScoredPrompts& scored) const;
  void FailScored(const ScoredPrompts& scored, const Problem& problem);
  // Embeddings, in a file of their own.
  void OpenAiEmbeddings(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void OllamaEmbed(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void OllamaEmbeddings(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void LlamaEmbedding(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void Embed(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream,
             EmbedKind kind);
  void Rerank(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  // Supported by the route's original service and not by this server.
  void NotDone(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);

  // Ollama's and llama.cpp's, in files of their own.
  void OllamaVersion(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void OllamaTags(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void OllamaProcesses(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void OllamaShow(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void OllamaPull(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  // A request's use of files on the server's machine, and the command that does the same there.
  struct FilesUse {
    const char* verb;
    const char* command;
  };
  bool MayUseFiles(const HttpRequest& request, const FilesUse& use, Problem& problem) const;
  bool MayUseSessions(const HttpRequest& request, Problem& problem) const;
  void Sessions(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void OneSession(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void LoadSession(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void OllamaChat(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void OllamaGenerate(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void OllamaAnswer(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream,
                    RequestReader read, OllamaKind kind);
  void LlamaCompletion(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void LlamaInfill(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void LlamaAnswer(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream,
                   RequestReader read);
  void Tokenize(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void Detokenize(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void ApplyTemplate(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void LlamaProps(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void LlamaSlots(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);

  void Health(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void Ready(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void Prometheus(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void ShowStatus(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void ShowCluster(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);

  // Changes of the cluster.
  bool MayChangeCluster(const HttpRequest& request, Problem& problem) const;
  nlohmann::ordered_json ChangeOf(const HttpRequest& request, Problem& problem) const;
  ClusterChanges::Done ReplyWith(std::string path, const std::shared_ptr<ReplyStream>& stream);
  void Invite(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void Drain(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);
  void Revoke(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream);

  const ServiceOptions options_;
  RequestCounts& requests_;
  const Clock& clock_;
  const std::function<uint64_t()> connections_;
  ResponseStore responses_;
  net::Waker background_waker_;  // of streams without a client
};

}  // namespace aster::serve
