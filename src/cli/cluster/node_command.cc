// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster node: this machine computes slices of models for others.
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <csignal>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/machine.h"
#include "base/units.h"
#include "cli/cluster/cluster_commands.h"
#include "cli/commands.h"
#include "cli/options/model_options.h"
#include "cli/terminal/end_signals.h"
#include "cli/terminal/progress.h"
#include "cluster/home.h"
#include "discovery/discovery.h"
#include "disk/disk_pages.h"
#include "disk/session_folder.h"
#include "draft/proposers.h"
#include "drafting/load_drafter.h"
#include "fetch/parts.h"
#include "gguf/fingerprint.h"
#include "gguf/fingerprint_cache.h"
#include "kernels/arithmetic_version.h"
#include "net/tcp_network.h"
#include "node/addresses.h"
#include "node/daemon.h"
#include "open/builtin_models.h"
#include "open/local_nodes.h"
#include "stage/file_slice_source.h"
#include "stage/node.h"

namespace aster::cli {
namespace {

struct NodeFlags {
  open::ModelOptions model;
  std::vector<std::string> models;
  std::string listen = ":7424";
  std::string advertise;
  std::vector<std::string> join;
  std::string memory;
  std::vector<std::string> draft_for;
  bool no_discovery = false;
  bool standby = false;
  bool local = false;
};

Result<uint64_t> MemoryOf(const NodeFlags& options) {
  if (options.memory.empty()) return uint64_t{0};
  const uint64_t bytes = TRY(ParseBytes(options.memory).In("--memory"));
  if (bytes > 0) return bytes;
  return InvalidArgument(
      "--memory: a node without memory computes nothing; give more (default: 15/16 of the "
      "machine's)");
}

// In the form of `aster cluster join`.
Result<std::vector<std::string>> SeedsOf(const std::vector<std::string>& texts) {
  std::vector<std::string> seeds;
  for (const std::string& text : texts) {
    const auto seed = TRY(cluster::ParseHostPort(text, node::kDefaultPort).In("--join"));
    if (seed.port == 0) {
      return InvalidArgument(
          fmt::format("--join: \"{}\": port 0 cannot be reached; give the port at which the other "
                      "node listens, or none for {}",
                      text, node::kDefaultPort));
    }
    seeds.push_back(seed.ToText());
  }
  return seeds;
}

// "nova=comet", or "nova=ngram".
Result<drafting::DraftFor> ParseDraftFor(const std::string& text) {
  const size_t sign = text.rfind('=');
  if (sign == std::string::npos || sign == 0 || sign + 1 == text.size()) {
    return InvalidArgument(fmt::format(
        "--draft-for \"{}\": write MODEL=DRAFTER, such as nova=comet or nova=ngram", text));
  }
  drafting::DraftFor wanted{.model = text.substr(0, sign),
                            .model_path = {},
                            .drafter = text.substr(sign + 1),
                            .drafter_path = {}};
  wanted.model_path = TRY(open::FindModel(wanted.model).In("--draft-for"));
  if (wanted.drafter != "ngram") {
    wanted.drafter_path = TRY(open::FindModel(wanted.drafter).In("--draft-for"));
  }
  return wanted;
}

// The next line of standard input; nullopt at its end.
std::optional<std::string> ReadInputLine() {
  constexpr size_t kMaxLineBytes = 4096;
  std::string line;
  char c = 0;
  while (line.size() < kMaxLineBytes && read(STDIN_FILENO, &c, 1) == 1) {
    if (c == '\n') return line;
    line += c;
  }
  return std::nullopt;
}

Result<std::unique_ptr<stage::FileSliceSource>> SourceOf(
    const NodeFlags& options, const std::shared_ptr<disk::DiskPages>& pages) {
  stage::FileSliceOptions slices;
  const engine::LocalModelOptions engine = TRY(options.model.ForEngine());
  slices.threads = engine.threads;
  slices.gpu_layers = engine.gpu_layers;
  slices.open_gpus = engine.open_gpus;
  slices.memory_bytes = TRY(MemoryOf(options));
  slices.kv_now = options.model.kv_now;
  slices.page_store = pages;
  slices.page_chunks = pages;
  auto source = std::make_unique<stage::FileSliceSource>(slices);
  auto files = std::make_shared<gguf::ModelFiles>(TRY(gguf::ModelFiles::Open(options.model.paths)));
  ThreadPool pool(UsableCpuCount());
  const gguf::Fingerprint fingerprint = TRY(gguf::FingerprintModel(*files, pool));
  source->Add(fingerprint.model, std::move(files));
  return source;
}

// A process that a command with --local-nodes has started; it ends with that command.
Result<ExitStatus> ServeLocally(const NodeFlags& options, Console& console) {
  const auto line = ReadInputLine();
  if (!line) return InvalidArgument("--local is for processes that aster starts itself");
  const open::LocalInvitation invitation = TRY(open::LocalInvitation::Parse(*line));
  const std::shared_ptr<disk::DiskPages> pages = TRY(options.model.kv_cache.Open());
  const auto source = TRY(SourceOf(options, pages));
  const auto network = TRY(net::TcpNetwork::Start({.credentials = invitation.ForNetwork(),
                                                   .listen = {"127.0.0.1:0"},
                                                   .name = invitation.name,
                                                   .arithmetic = kernels::kArithmeticVersion,
                                                   .admit = nullptr}));
  stage::StageOptions stages{.proposers = draft::ProposersFor};
  stages.expert_uses = std::make_shared<stage::ExpertUses>(gguf::DefaultCacheFolder());
  stage::Node node(*network, *source, std::move(stages));
  node.Start();
  console.Write(open::LocalReply(network->addresses().front()));
  TRY(console.Flush());
  while (const auto question = ReadInputLine()) {
    if (*question + "\n" != open::kKvCacheQuestion) continue;
    console.Write(open::KvCacheToLine(pages.get()));
    TRY(console.Flush());
  }
  node.Stop();
  return kExitOk;
}

std::string DescribeModels(const std::vector<cluster::HeldModel>& models) {
  if (models.empty()) return "no model files; weights are fetched from nodes that have them";
  std::string text;
  for (const cluster::HeldModel& model : models) {
    text += fmt::format("{}{} ({}, {})", text.empty() ? "" : ", ", model.name,
                        fetch::LayersText(model), FormatBytes(model.tensor_bytes));
  }
  return text;
}

Result<ExitStatus> Serve(const NodeFlags& options, Console& console) {
  EndSignals signals;
  const cluster::Home home = TRY(cluster::Home::OfUser());
  node::DaemonOptions daemon;
  daemon.version = ASTER_VERSION;
  if (!options.model.paths.empty()) daemon.models.push_back(options.model.paths);
  for (const std::string& path : options.models) daemon.models.push_back({path});
  daemon.listen = options.listen;
  daemon.advertise = options.advertise;
  daemon.join = TRY(SeedsOf(options.join));
  daemon.keeps_standby = options.standby;
  if (!options.no_discovery) daemon.discovery_port = TRY(discovery::PortFromEnvironment());
  daemon.memory_bytes = TRY(MemoryOf(options));
  const engine::LocalModelOptions engine = TRY(options.model.ForEngine());
  daemon.threads = engine.threads;
  daemon.gpu_layers = engine.gpu_layers;
  daemon.open_gpus = engine.open_gpus;
  daemon.kv_now = options.model.kv_now;
  daemon.pages = TRY(options.model.kv_cache.Open());
  daemon.pages_folder = options.model.kv_cache.folder;
  daemon.sessions_folder = TRY(disk::SessionFolder::DefaultFolder());
  for (const std::string& text : options.draft_for)
    daemon.draft_for.push_back(TRY(ParseDraftFor(text)));
  const SystemClock clock;
  std::unique_ptr<node::Daemon> running;
  {
    Progress progress(console, clock, "hashing");
    daemon.on_hashing = [&](uint64_t done, uint64_t total) { progress.Update(done, total); };
    running = TRY(node::Daemon::Start(home, std::move(daemon)));
  }
  signals.Keep();
  console.Print("node {} of the cluster {} is at {}\n", running->identity().name,
                running->identity().cluster_name, fmt::join(running->control_addresses(), ", "));
  console.Print("it has {}\n", DescribeModels(running->Describe().models));
  for (const cluster::DrafterDescription& drafter : running->Describe().drafters) {
    console.Print("it drafts for {} with {}: {:.0f} tokens/s\n", drafter.model, drafter.drafter,
                  drafter.tokens_per_s);
  }
  TRY(console.Flush());
  signals.Wait();
  console.Note("shutting down");
  return kExitOk;
}

}  // namespace

Run DeclareNode(CLI::App& app) {
  auto options = std::make_shared<NodeFlags>();
  DeclareModel(app, options->model, "default: none; weights are fetched from nodes that have them");
  app.add_option(
         "--model", options->models,
         "Model file on this machine, for its own slices and for nodes without it. Repeatable")
      ->allow_extra_args(false)
      ->type_name("MODEL");
  app.add_option("--listen", options->listen,
                 "Address to listen on; the data plane takes the next port (default: every "
                 "interface, port 7424)")
      ->type_name("HOST[:PORT]");
  app.add_option(
         "--advertise", options->advertise,
         "Host name for other nodes, if they cannot reach this machine by its own addresses")
      ->type_name("HOST");
  app.add_option("--join", options->join,
                 fmt::format("Address of a node of the cluster (default port: {}). Repeatable",
                             node::kDefaultPort))
      ->allow_extra_args(false)
      ->type_name("HOST[:PORT]");
  app.add_flag("--no-discovery", options->no_discovery,
               "Do not look for the cluster's nodes on the local networks, nor answer there");
  app.add_flag(
      "--standby", options->standby,
      "Keep weights here of layers that only one other node has, so that this one can take "
      "over from it without fetching them");
  DeclareThreads(app, options->model);
  DeclareGpuLayers(app, options->model);
  DeclareKvCacheOptions(app, options->model.kv_cache);
  DeclareMemoryNow(app, options->model);
  app.add_option(
         "--memory", options->memory,
         "Memory for weights and the KV cache, such as 6GiB (default: 15/16 of the machine's)")
      ->type_name("SIZE");
  app.add_option("--draft-for", options->draft_for,
                 "Drafter for front ends on other machines: the model that it drafts for, and a "
                 "smaller model of the same vocabulary or ngram. Repeatable")
      ->allow_extra_args(false)
      ->type_name("MODEL=DRAFTER");
  app.add_flag(
      "--local", options->local,
      "Internal: started by a command with --local-nodes, which writes to its standard input");
  const CLI::App* const drain =
      app.add_subcommand("drain", "Take a node out of use: `aster cluster drain`");
  const Run run_drain = DeclareClusterDrain(*app.get_subcommand("drain"));
  app.footer(
      "The machine must belong to a cluster: `aster cluster init` makes one, `aster cluster join` "
      "joins one.\n"
      "  aster node big.gguf\n"
      "  aster node --listen 0.0.0.0:7424 --join desktop:7424\n"
      "  aster node --draft-for nova=comet");
  return [options, drain, run_drain](Console& console) -> Result<ExitStatus> {
    if (drain->parsed()) return run_drain(console);
    if (options->local) {
      TRY(options->model.Find());
      return ServeLocally(*options, console);
    }
    for (std::string& path : options->model.paths) path = TRY(open::FindModel(path));
    for (std::string& path : options->models) path = TRY(open::FindModel(path));
    return Serve(*options, console);
  };
}

}  // namespace aster::cli
