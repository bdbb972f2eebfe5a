// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster serve: serves models with the HTTP APIs of common clients.
#include <fmt/format.h>
#include <pthread.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/options/sampling_options.h"
#include "cli/serve/cluster_change_worker.h"
#include "cli/serve/cluster_watch.h"
#include "cli/serve/facts_of_model.h"
#include "cli/serve/pull_worker.h"
#include "cli/serve/serve_ensembles.h"
#include "cli/serve/serve_models.h"
#include "cli/serve/serve_options.h"
#include "cli/serve/served_ensemble.h"
#include "cli/serve/session_worker.h"
#include "cli/terminal/console.h"
#include "cli/terminal/end_signals.h"
#include "model/files/support.h"
#include "net/tls.h"
#include "open/load_tokenizer.h"
#include "open/model_identity.h"
#include "open/node_pool.h"
#include "open/open_model.h"
#include "open/plan_watch.h"
#include "serve/http_server.h"
#include "serve/service.h"

namespace aster::cli {
namespace {

// One model, ready to answer.
struct Served {
  const gguf::ModelFiles& files;
  open::ModelOptions options;  // with its own part of the memory
  open::ClusterOptions cluster;
  std::string name;
  std::vector<std::string> aliases;
  bool is_drafted_for = false;
  std::unique_ptr<text::Tokenizer> tokenizer = {};
  std::optional<chat::ChatPrompt> prompt = {};
  serve::RequestDefaults defaults = {};
  std::optional<Hash128> fingerprint = {};  // if it is cheap to compute
  std::unique_ptr<open::OpenedModel> opened = {};
  serve::ModelFacts facts = {};
  std::unique_ptr<serve::Metrics> metrics = std::make_unique<serve::Metrics>();
  std::unique_ptr<serve::AnswerLoop> loop = {};
};

// Tokens of prompt and answer: as requested, within the training context and the memory.
Result<uint32_t> ContextOf(const Served& served, const ServeOptions& options, Console& console) {
  const uint32_t trained = served.opened->generator().shape().context_length;
  const uint32_t room = served.opened->capacity_tokens();
  if (room == 0) {
    return InvalidArgument(
        fmt::format("{}: --kv-memory is too small for a single token; give more", served.name));
  }
  const uint32_t wanted = options.context == 0 ? trained : options.context;
  if (wanted > trained) {
    console.Note(fmt::format("{}: --ctx {} is above the model's context of {} tokens", served.name,
                             wanted, trained));
  }
  const uint32_t limit = std::min(wanted, trained);
  if (room < limit) {
    console.Note(fmt::format("{}: the KV cache (--kv-memory) has room for {} tokens of {}",
                             served.name, room, limit));
  }
  return std::min(limit, room);
}

Status Load(Served& served, const ServeOptions& options, serve::Turns* turns, const Clock& clock,
            Console& console) {
  const model::Shape shape = TRY(model::ShapeOf(served.files));
  served.tokenizer = TRY(open::LoadTokenizer(served.files, served.options.paths.front(), console));
  served.prompt = TRY(chat::ChatPrompt::Make(served.files.metadata(), *served.tokenizer));
  served.defaults.sampling = TRY(options.sampling.ForEngine(shape.vocab_size, 0));
  served.defaults.vocab_size = shape.vocab_size;
  if (options.max_tokens > 0) served.defaults.max_tokens = options.max_tokens;
  served.fingerprint = open::KnownFingerprintOf(served.files, console);
  // Batches are small enough that progress and a client that disconnects wait for less than a
  // second.
  served.opened = TRY(open::OpenModel(served.files, served.tokenizer.get(), clock,
                                      {.model = &served.options,
                                       .cluster = &served.cluster,
                                       .draft = served.is_drafted_for ? &options.draft : nullptr,
                                       .batch_tokens = 256,
                                       .longest_step_ns = open::kLongestStepNs,
                                       .max_running = options.parallel,
                                       // Sessions can be loaded into it.
                                       .is_kept = served.fingerprint.has_value()},
                                      console));
  serve::AnswerLoopOptions loop{.max_queued = options.queue, .max_running = options.parallel};
  loop.on_step = [opened = served.opened.get(), metrics = served.metrics.get()] {
    metrics->SetHops(opened->hops());
    metrics->SetRemoteDrafts(opened->remote_drafts());
    metrics->SetMemory(opened->memory());
  };
  // Figures of memory and nodes are visible before the first request.
  loop.on_step();
  // Nodes manage their own cores; here, models share them.
  if (!served.cluster.wants_nodes()) loop.turns = turns;
  served.facts = FactsOf(served.files, *served.tokenizer, served.fingerprint);
  served.facts.slots = options.parallel;
  served.defaults.context_limit = TRY(ContextOf(served, options, console));
  served.loop =
      std::make_unique<serve::AnswerLoop>(served.opened->generator(), clock, std::move(loop));
  return Ok();
}

// What to serve.
struct Wanted {
  std::vector<ModelGroup> groups;
  std::vector<open::PlacedModel> places;  // of models that have one
  std::vector<EnsembleSpec> ensembles;
  bool has_only_ensembles = false;  // no model was given: a request without a name gets an ensemble

  std::vector<std::vector<std::string>> Paths() const {
    std::vector<std::vector<std::string>> paths;
    for (const ModelGroup& group : groups) paths.push_back(group.paths);
    return paths;
  }
};

// The names of what is served.
struct Names {
  std::vector<std::string> names;                 // of the models, then of the ensembles
  std::vector<std::vector<std::string>> aliases;  // for each name

  // The names of the first `count` models.
  std::vector<std::string> OfModels(size_t count) const {
    return {names.begin(), names.begin() + static_cast<ptrdiff_t>(count)};
  }
};

Result<Names> NameAll(const ServeOptions& options, const Wanted& wanted) {
  Names all{.names = TRY(NameModels(wanted.groups, options.names)), .aliases = {}};
  for (const EnsembleSpec& ensemble : wanted.ensembles) {
    if (std::ranges::find(all.names, ensemble.name) != all.names.end()) {
      return InvalidArgument(fmt::format(
          "--ensemble {}: another model has this name; give the ensemble one of its own",
          ensemble.name));
    }
    all.names.push_back(ensemble.name);
  }
  all.aliases = TRY(AliasModels(all.names, options.aliases));
  return all;
}

Result<std::vector<std::unique_ptr<Served>>> LoadAll(const ServeOptions& options,
                                                     const Wanted& wanted, const Names& names,
                                                     serve::Turns& turns, const Clock& clock,
                                                     Console& console) {
  const std::vector<ModelGroup>& groups = wanted.groups;
  const std::vector<open::ClusterOptions> clusters = TRY(
      PlaceModels(wanted.places, names.OfModels(groups.size()), wanted.Paths(), options.cluster));
  const std::vector<bool> with_drafts = TRY(ModelsWithDrafts(groups, options.draft));
  // Several models share the memory for the KV cache.
  std::vector<uint64_t> memory;
  if (groups.size() > 1) {
    if (!options.cluster.trace_path.empty())
      return InvalidArgument("--trace needs a single model: serve one, or use --trace-dir");
    const engine::LocalModelOptions engine = TRY(options.model.ForEngine());
    memory = TRY(ShareMemory(groups, engine.memory, engine.memory_bytes));
  }
  std::vector<std::unique_ptr<Served>> all;
  for (size_t i = 0; i < groups.size(); ++i) {
    open::ModelOptions of_model = options.model;
    of_model.paths = groups[i].paths;
    if (groups.size() > 1) of_model.kv_memory = fmt::format("{}", memory[i]);
    all.push_back(std::make_unique<Served>(Served{.files = groups[i].files,
                                                  .options = std::move(of_model),
                                                  .cluster = clusters[i],
                                                  .name = names.names[i],
                                                  .aliases = names.aliases[i],
                                                  .is_drafted_for = with_drafts[i]}));
    if (options.draft.wanted() && !with_drafts[i]) {
      console.Note(fmt::format("{}: --draft {} cannot draft for this model", names.names[i],
                               options.draft.draft));
    }
    TRY(Load(*all.back(), options, groups.size() > 1 ? &turns : nullptr, clock, console));
  }
  return all;
}

// For its responses: the plan, and predicted and actual times.
std::shared_ptr<const respond::PlanUsed> PlanOf(const open::OpenedModel& opened,
                                                engine::RequestId request) {
  const auto computed = opened.ComputedHow(request);
  if (!computed) return nullptr;
  const conduct::RequestForecast& of = computed->forecast;
  return std::make_shared<respond::PlanUsed>(
      respond::PlanUsed{.plan = computed->plan,
                        .is_direct = of.is_direct,
                        .held_tokens = of.held_tokens,
                        .fetched_tokens = of.fetched_tokens,
                        .others = of.others,
                        .fetch_s = of.fetch_s,
                        .first_token_s = of.first_token_s,
                        .token_s = of.token_s,
                        .actual_fetch_s = of.actual_fetch_s,
                        .actual_first_token_s = of.actual_first_token_s,
                        .actual_token_s = of.actual_token_s});
}

serve::ServedModel ServedModelOf(const Served& served, const ServeOptions& options,
                                 serve::RequestCounts& requests, const Clock& clock) {
  const model::Shape& shape = served.opened->generator().shape();
  return {.facts = served.facts,
          .aliases = served.aliases,
          .defaults = served.defaults,
          .context = {
              .name = served.name,
              .model = respond::ModelWithForms(*served.prompt, shape.vocab_size),
              .loop = served.loop.get(),
              .is_elsewhere = served.cluster.wants_nodes(),
              .plan_of = [opened = served.opened.get()](
                             engine::RequestId request) { return PlanOf(*opened, request); },
              .metrics = served.metrics.get(),
              .requests = &requests,
              .clock = &clock,
              .context_limit = served.defaults.context_limit,
              .deadline_ns = static_cast<int64_t>(options.deadline_s) * kNsPerSecond,
              .draft = served.is_drafted_for ? options.draft.ForEngine() : engine::DraftOptions{},
              .logs_prompts = options.log_prompts,
              .trace_folder = options.trace_folder,
              .pooling = model::ReadPooling(served.files.metadata()),
              .rank_head = model::ReadRankHead(served.files)}};
}

using ServedEnsembles = std::vector<std::unique_ptr<ServedEnsemble>>;

// `models` are those of `all`, in their order.
Result<ServedEnsembles> MakeEnsembles(const ServeOptions& options, const Wanted& wanted,
                                      const Names& names,
                                      const std::vector<serve::ServedModel>& models, Clock& clock) {
  const std::vector<std::string> of_models = names.OfModels(wanted.groups.size());
  const std::vector<std::vector<std::string>> paths = wanted.Paths();
  ServedEnsembles all;
  for (const EnsembleSpec& spec : wanted.ensembles) {
    std::vector<const serve::ServedModel*> members;
    for (const std::string& member : spec.members)
      members.push_back(&models[TRY(FindMember(member, of_models, paths).In("--ensemble"))]);
    const auto wait_ns = static_cast<int64_t>(options.ensemble_wait_s * 1e9);
    all.push_back(
        TRY(ServedEnsemble::Make(spec, members, {.policy = spec.policy, .wait_ns = wait_ns},
                                 options.queue + options.parallel, clock)
                .In("--ensemble " + spec.name)));
  }
  return all;
}

void StopModels(const std::vector<std::unique_ptr<Served>>& all, int64_t grace_ns) {
  for (const auto& served : all) served->loop->Stop(grace_ns);
}

// Follows nodes that come, go and become slower while their models are served.
std::vector<std::unique_ptr<open::PlanWatch>> FollowNodes(
    const std::vector<std::unique_ptr<Served>>& all) {
  std::vector<std::unique_ptr<open::PlanWatch>> followers;
  for (const auto& served : all) {
    if (!served->cluster.cluster) continue;
    serve::AnswerLoop* const loop = served->loop.get();
    followers.push_back(std::make_unique<open::PlanWatch>(
        served->name, *served->opened,
        [loop](const std::function<Status()>& work) { return loop->CallBetweenSteps(work); },
        [loop] { loop->MoveConversations(); }));
  }
  return followers;
}

// Runs all loops, each on a thread of its own, until they end. `grace_left_ns` is called when
// ensembles have ended.
void RunLoops(const std::vector<std::unique_ptr<Served>>& all, const ServedEnsembles& ensembles,
              const std::function<int64_t()>& grace_left_ns) {
  std::vector<std::thread> models, others;
  for (const auto& served : all) models.emplace_back([&served] { served->loop->Run(); });
  const auto followers = FollowNodes(all);
  for (const auto& ensemble : ensembles)
    others.emplace_back([&ensemble] { ensemble->loop().Run(); });
  for (std::thread& other : others) other.join();
  // Members answer as long as their ensembles do.
  if (!ensembles.empty()) StopModels(all, grace_left_ns());
  for (std::thread& model : models) model.join();
}

// Whether files can be written there; otherwise each one would be lost.
Status TryToWrite(const std::string& folder) {
  TRY(MakeDirectories(folder));
  // An uncommitted file is removed by itself.
  static_cast<void>(TRY(AtomicFile::Create(folder + "/writable")));
  return Ok();
}

Result<serve::HttpServerOptions> HttpOptions(const ServeOptions& options) {
  serve::HttpServerOptions http;
  http.listen = options.Listen();
  http.limits.body_bytes = TRY(options.BodyBytes());
  http.headers = [origins = options.cors](const serve::HttpRequest& request) {
    return serve::Service::HeadersFor(request, origins);
  };
  if (!options.tls_certificate.empty())
    http.tls = TRY(net::TlsContext::MakeForClients(options.tls_certificate, options.tls_key));
  return http;
}

// Null without a cluster. The first sample finds the cluster; after a failed one the next finds it
// again.
std::unique_ptr<ClusterWatch> WatchCluster(const ServeOptions& options, const Clock& clock) {
  if (!options.cluster.cluster) return nullptr;
  const auto view = std::make_shared<std::unique_ptr<node::ClusterView>>();
  return std::make_unique<ClusterWatch>(
      [view, via = options.cluster.via, &clock]() -> Result<ClusterSample> {
        if (*view == nullptr) *view = TRY(open::ViewOfCluster(via));
        auto nodes = (*view)->Look();
        if (!nodes.ok()) view->reset();
        return ClusterSample{.taken_ns = clock.NowNs(), .nodes = TRY(std::move(nodes))};
      });
}

std::vector<ClusterChangeWorker::Model> ClusterModels(
    const std::vector<std::unique_ptr<Served>>& all) {
  std::vector<ClusterChangeWorker::Model> models;
  for (const auto& served : all) {
    if (served->cluster.cluster)
      models.push_back({served->name, served->opened.get(), served->loop.get()});
  }
  return models;
}

Result<std::vector<SessionWorker::Model>> SessionModels(
    const std::vector<std::unique_ptr<Served>>& all) {
  std::vector<SessionWorker::Model> models;
  for (const auto& served : all) {
    // Without a known fingerprint, no session belongs to the model.
    if (!served->fingerprint) continue;
    models.push_back(TRY(SessionWorker::ModelOf(served->name, *served->fingerprint, served->options,
                                                served->opened->generator(), *served->loop)));
  }
  return models;
}

struct WorkersStop {
  std::optional<ClusterChangeWorker>& cluster;
  std::optional<SessionWorker>& sessions;
  PullWorker& pulls;
  ~WorkersStop() {
    if (cluster) cluster->Stop();
    if (sessions) sessions->Stop();
    pulls.Stop();
  }
};

// The server's port: it reports that models are being loaded, and from Open on the service answers.
class ServerPort {
 public:
  ServerPort(serve::HttpServerOptions options, const Clock& clock)
      : server_(WithHooks(std::move(options)), clock,
                [this](serve::HttpRequest request, std::shared_ptr<serve::ReplyStream> stream) {
                  serve::Service* const service = service_;
                  if (service == nullptr)
                    return serve::Service::RefuseWhileLoading(request, *stream);
                  service->Handle(std::move(request), std::move(stream));
                }) {}

  // The service outlives this.
  void Open(serve::Service& service) { service_ = &service; }
  serve::HttpServer& server() { return server_; }

 private:
  serve::HttpServerOptions WithHooks(serve::HttpServerOptions options) {
    options.takes_body = [this](const serve::HttpRequest& head) {
      const serve::Service* const service = service_;
      return service != nullptr && service->TakesBody(head);
    };
    options.is_quick = serve::Service::AsksForHealth;
    options.describe = serve::Service::Describe;
    options.on_refused = [this](std::string_view id, int status) {
      serve::Service* const service = service_;
      if (service != nullptr) service->OnUnread(id, status);
    };
    return options;
  }

  std::atomic<serve::Service*> service_ = nullptr;
  serve::HttpServer server_;
};

// Models come first, unless only ensembles were given.
void AddEnsembles(const ServedEnsembles& ensembles, const Names& names, bool goes_first,
                  std::vector<serve::ServedModel>& models) {
  std::vector<serve::ServedModel> all;
  const size_t first_alias = names.aliases.size() - ensembles.size();
  for (size_t i = 0; i < ensembles.size(); ++i)
    all.push_back(ensembles[i]->Model(names.aliases[first_alias + i]));
  models.insert(goes_first ? models.begin() : models.end(), all.begin(), all.end());
}

Status Announce(const Names& names, bool is_protected, std::string_view address, Console& console) {
  console.Print("{} {} served at {}://{}\n", fmt::join(names.names, ", "),
                names.names.size() == 1 ? "is" : "are", is_protected ? "https" : "http", address);
  return console.Flush();
}

// Waits until the last replies are sent, at most until the end of the grace, or for two seconds.
void AwaitReplies(const serve::HttpServer& server, const std::atomic<int64_t>& grace_end_ns) {
  SystemClock clock;
  const int64_t end_ns = clock.NowNs() + 2 * kNsPerSecond;
  while (server.busy_count() > 0 && clock.NowNs() < std::max(end_ns, grace_end_ns.load()))
    clock.SleepFor(10 * kNsPerMs);
}

Result<ExitStatus> Serve(const ServeOptions& options, const Wanted& wanted, EndSignals& signals,
                         Console& console) {
  SystemClock clock;
  // Finds errors before models are loaded.
  serve::HttpServerOptions http_options = TRY(HttpOptions(options));
  serve::ServiceOptions service_options{.models = {},
                                        .keys = TRY(options.Keys()),
                                        .admin_keys = TRY(options.AdminKeys()),
                                        .cors_origins = options.cors,
                                        .created_s = clock.WallNs() / kNsPerSecond,
                                        .version = ASTER_VERSION,
                                        .stored_responses = options.stored_responses};
  service_options.files_need_admin = options.IsShared();
  service_options.metrics_need_key = !options.open_metrics;
  if (!options.trace_folder.empty()) TRY(TryToWrite(options.trace_folder).In("--trace-dir"));
  const Names names = TRY(NameAll(options, wanted));
  const bool is_protected = http_options.tls != nullptr;
  // The service and all that it refers to outlive the port, whose threads may be using them.
  serve::Turns turns;
  serve::RequestCounts requests;
  std::vector<std::unique_ptr<Served>> all;
  ServedEnsembles ensembles;
  std::unique_ptr<ClusterWatch> watch;
  std::optional<ClusterChangeWorker> cluster_changes;
  std::optional<SessionWorker> sessions;
  PullWorker pulls;
  std::optional<serve::Service> service;
  ServerPort port(std::move(http_options), clock);
  const WorkersStop workers_stop{cluster_changes, sessions, pulls};  // before the port closes
  serve::HttpServer& server = port.server();
  TRY(server.Start());
  all = TRY(LoadAll(options, wanted, names, turns, clock, console));
  for (const auto& served : all)
    service_options.models.push_back(ServedModelOf(*served, options, requests, clock));
  ensembles = TRY(MakeEnsembles(options, wanted, names, service_options.models, clock));
  AddEnsembles(ensembles, names, wanted.has_only_ensembles, service_options.models);
  watch = WatchCluster(options, clock);
  if (watch != nullptr) {
    service_options.cluster = [&watch] { return watch->Json(); };
    service_options.changes = &cluster_changes.emplace(ClusterModels(all));
  }
  service_options.pulls = &pulls;
  service_options.sessions = &sessions.emplace(TRY(SessionModels(all)));
  service.emplace(std::move(service_options), requests, clock,
                  [&server] { return server.connection_count(); });
  port.Open(*service);
  std::atomic<int64_t> grace_end_ns = 0;
  signals.Watch([&](bool again) {
    // No new requests; running ones continue to their end, unless a second signal comes.
    server.StopListening();
    const int64_t grace_ns = again ? 0 : static_cast<int64_t>(options.grace_s) * kNsPerSecond;
    grace_end_ns = clock.NowNs() + grace_ns;
    for (const auto& ensemble : ensembles) ensemble->loop().Stop(grace_ns);
    if (ensembles.empty() || again) StopModels(all, grace_ns);
  });
  const Status announced = Announce(names, is_protected, server.address(), console);
  if (!announced.ok()) {
    signals.Unwatch();
    return announced.error();
  }
  RunLoops(all, ensembles,
           [&] { return std::max<int64_t>(0, grace_end_ns.load() - clock.NowNs()); });
  AwaitReplies(server, grace_end_ns);
  signals.Unwatch();
  for (const auto& served : all) TRY(served->opened->Save());
  console.Note("goodbye");
  return kExitOk;
}

}  // namespace

namespace {

// In the form of --config: given values, and defaults as comments.
std::string DescribeOptions(CLI::App& app) {
  const std::string given = "\n" + app.config_to_str(/*default_also=*/false);
  for (CLI::Option* option : app.get_options()) option->capture_default_str();
  const std::string all = app.config_to_str(/*default_also=*/true);
  std::string lines;
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = std::min(all.find('\n', begin), all.size());
    const std::string_view line = std::string_view(all).substr(begin, end - begin);
    begin = end + 1;
    const bool is_empty = line.empty() || line.ends_with("=\"\"") || line.ends_with("=\"[]\"");
    const bool is_given = given.find(fmt::format("\n{}\n", line)) != std::string::npos;
    if (!is_empty) lines += fmt::format("{}{}\n", is_given ? "" : "# ", line);
  }
  return lines;
}

}  // namespace

Run DeclareServe(CLI::App& app) {
  auto options = std::make_shared<ServeOptions>();
  options->Declare(app);
  app.footer(
      "The value of an option is that of the command line, else of the environment "
      "(ASTER_SERVE_PORT for --port), else of the\n"
      "table [serve] in the file of --config. ASTER_API_KEY holds an API key, beside those of "
      "--keys,\n"
      "ASTER_ADMIN_KEY one that may change the cluster, beside those of --admin-keys.\n"
      "SIGTERM and SIGINT end the server when running answers are finished, a second one at "
      "once.\n"
      "  aster serve Qwen3-0.6B-Q8_0 --port 8000\n"
      "  aster --config serve.toml serve\n"
      "  ASTER_API_KEY=secret aster serve --host 0.0.0.0");
  return [options, &app](Console& console) -> Result<ExitStatus> {
    if (options->print_config) {
      console.Print("[serve]\n{}", DescribeOptions(app));
      return kExitOk;
    }
    TRY(options->Check());
    // Before any other thread, so that none of them gets a signal.
    EndSignals signals;
    // The given models, and members that are none of these.
    std::vector<std::string>& paths = options->model.paths;
    Wanted wanted;
    wanted.ensembles = TRY(ReadEnsembles(options->ensembles, options->weights, options->policies));
    wanted.has_only_ensembles = paths.empty() && !wanted.ensembles.empty();
    wanted.places = TakePlaces(paths, wanted.ensembles);
    paths = WithMembers(paths, options->names, wanted.ensembles);
    TRY(options->model.Find());
    wanted.groups = TRY(GroupModels(paths, options->cluster));
    return Serve(*options, wanted, signals, console);
  };
}

}  // namespace aster::cli
