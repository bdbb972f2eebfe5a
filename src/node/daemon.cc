// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/daemon.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/machine.h"
#include "base/process_limits.h"
#include "draft/proposers.h"
#include "gguf/fingerprint_cache.h"
#include "kernels/arithmetic_version.h"
#include "kernels/isa_choice.h"
#include "node/addresses.h"
#include "node/announce.h"
#include "node/call_member.h"
#include "node/machine_state.h"
#include "node/member_peer.h"

namespace aster::node {

using cluster::NodeId;

namespace {

// For the connections of a large cluster, model files and KV page files: the shell's limit is too
// low for them.
constexpr uint64_t kOpenFiles = 16384;
// The longest time that a thread takes to wake up on a machine that is not overloaded.
constexpr uint64_t kWakingNs = 2 * kNsPerMs;
// The size of a draft model's KV cache, for the texts of all front ends.
constexpr uint64_t kDraftKvBytes = uint64_t{256} << 20;
// A starting node measures no further models after this time.
constexpr int64_t kMeasureModelsNs = 2 * kNsPerSecond;

uint64_t MemoryForSlices(uint64_t asked_bytes) {
  if (asked_bytes > 0) return asked_bytes;
  return static_cast<uint64_t>(static_cast<double>(DetectMemory().total_bytes) *
                               stage::kDefaultMemoryShare);
}

// A GPU that was found at the start and cannot be opened now is lost: its layers are computed by
// the processor, however many were asked for.
engine::OpenGpus OpensFoundGpus(engine::OpenGpus open_gpus) {
  return [open_gpus = std::move(open_gpus)](const vulkan::KernelUse& use,
                                            compute::Context& host) -> Result<engine::Gpus> {
    Result<engine::Gpus> gpus = open_gpus(use, host);
    if (gpus.ok()) return gpus;
    return Error(Code::kUnavailable, gpus.error().message());
  };
}

cluster::SliceStatus ToStatus(const stage::StageRouteStatus& stage) {
  return {.route = stage.route,
          .model = {},
          .fingerprint = stage.fingerprint,
          .layers = {stage.slice.layer_begin, stage.slice.layer_end},
          .embedding = stage.slice.embedding,
          .head = stage.slice.head,
          .is_ready = stage.is_ready,
          .done_bytes = stage.done_bytes,
          .total_bytes = stage.total_bytes,
          .weight_bytes = stage.packed_bytes,
          .kv_held_bytes = stage.kv_held_bytes,
          .kv_budget_bytes = stage.kv_budget_bytes,
          .sequences = static_cast<uint32_t>(stage.sequences),
          .queued_frames = static_cast<uint32_t>(stage.queued_frames),
          .frames = stage.frames,
          .tokens = stage.tokens,
          .queue_ns = stage.queue_ns,
          .compute_ns = stage.compute_ns,
          .bytes_out = stage.bytes_out,
          .gpu_layers = stage.gpu_layers};
}

cluster::WorkRate::Times ToStatus(const stage::WorkRate::Times& times) {
  return {.ns = static_cast<uint64_t>(times.seconds * kNsPerSecond),
          .rows = times.rows,
          .context = times.context,
          .waited_ns = static_cast<uint64_t>(times.waited_s * kNsPerSecond)};
}

cluster::WorkRate ToStatus(const stage::WorkRate& rate) {
  const model::Slice& slice = rate.slice;
  return {.model = {},
          .fingerprint = rate.fingerprint,
          .layers = {slice.layer_begin, slice.layer_end},
          .head = slice.head,
          .part = slice.part.share(),
          .decode = ToStatus(rate.token),
          .prefill = ToStatus(rate.chunk)};
}

cluster::DiskCacheStatus ToStatus(const disk::DiskPagesCounts& counts) {
  return {.bytes = counts.total_bytes,
          .bytes_limit = counts.size_bytes,
          .files = counts.file_count,
          .loaded_tokens = counts.loaded_positions,
          .loaded_bytes = counts.loaded_bytes,
          .looked_for_pages = counts.looked_for,
          .found_pages = counts.found};
}

}  // namespace

Daemon::Daemon(const cluster::Home& home, cluster::Identity identity, DaemonOptions options,
               std::string weights_folder)
    : home_(home),
      identity_(std::move(identity)),
      options_(std::move(options)),
      store_({.folder = std::move(weights_folder)}, clock_) {}

Result<std::unique_ptr<Daemon>> Daemon::Start(const cluster::Home& home, DaemonOptions options) {
  const SystemClock clock;
  cluster::Identity identity = TRY(home.LoadIdentity(clock.WallNs() / kNsPerSecond));
  // One node per machine: two would use the same identity.
  auto lock = FileLock::TryAcquire(home.folder() + ".node.lock", /*mode=*/0600);
  if (!lock.ok() && lock.error().code() == Code::kUnavailable) {
    return FailedPrecondition(
        fmt::format("{}: a node of this machine runs already; end it first, or give the second one "
                    "settings of its own with ASTER_CONFIG",
                    home.folder()));
  }
  if (!lock.ok()) return lock.error();
  RaiseOpenFiles(kOpenFiles);
  std::string folder = options.weights_folder.empty() ? TRY(fetch::TensorStore::DefaultFolder())
                                                      : options.weights_folder;
  std::unique_ptr<Daemon> daemon;
  // tidy: allow(ownership) make_unique does not reach a private constructor
  daemon.reset(new Daemon(home, std::move(identity), std::move(options), std::move(folder)));
  daemon->lock_.emplace(*std::move(lock));
  {
    ThreadPool pool(daemon->options_.threads > 0 ? daemon->options_.threads : UsableCpuCount());
    TRY(daemon->OpenModels(pool));
    TRY(daemon->MeasureMachine(pool));
  }
  daemon->MeasureModels();
  TRY(daemon->LoadDrafters());
  daemon->files_.emplace(daemon->SliceOptions());
  daemon->models_.AddTo(*daemon->files_);
  TRY(daemon->Listen());
  return daemon;
}

stage::FileSliceOptions Daemon::SliceOptions() const {
  return {.threads = options_.threads,
          .memory_bytes = options_.memory_bytes,
          .isa = {},
          .gpu_layers = options_.gpu_layers,
          .open_gpus = devices_.empty() ? options_.open_gpus : OpensFoundGpus(options_.open_gpus),
          .gpu_bytes = gpu_bytes_,
          .kv_now = options_.kv_now,
          .page_store = options_.pages,
          .page_chunks = options_.pages};
}

Status Daemon::MeasureMachine(ThreadPool& pool) {
  if (!options_.measure) return Ok();
  compute::Context host{pool, TRY(kernels::IsaFromEnvironment())};
  speed_ = TRY(engine::MeasureSpeed(pool, host.isa, clock_));
  log::Info("measured this machine", {{"how", speed_.how},
                                      {"multiply_flops_per_s", speed_.multiply_flops_per_s},
                                      {"memory_bytes_per_s", speed_.memory_bytes_per_s}});
  if (options_.gpu_layers.wanted() && options_.open_gpus) MeasureGpus(host);
  return Ok();
}

// Measures the rates of as many models as time allows.
void Daemon::MeasureModels() {
  // A GPU has other rates than the processor.
  if (!options_.measure || options_.gpu_layers.wanted()) return;
  const int64_t end_ns = clock_.NowNs() + kMeasureModelsNs;
  for (const cluster::HeldModel& model : models_.Describe()) {
    const bool is_worth_it = model.is_whole() && model.tensor_bytes >= stage::kLeastMeasuredBytes;
    if (!is_worth_it || clock_.NowNs() > end_ns) continue;
    const auto measured = stage::MeasureLayers(
        model.fingerprint, *models_.Find(model.fingerprint)->files, options_.threads, clock_);
    if (!measured.ok()) {
      log::Warn("a model could not be measured",
                {{"model", model.name}, {"why", measured.error().message()}});
      continue;
    }
    model_rates_.insert(model_rates_.end(), measured->begin(), measured->end());
  }
}

// Called while the node has no layers and drafts for no front end.
Status Daemon::MeasureAgain() {
  if (!options_.measure) return Ok();
  const auto measure = [this]() -> Result<engine::MachineSpeed> {
    ThreadPool pool(options_.threads > 0 ? options_.threads : UsableCpuCount());
    return engine::MeasureSpeed(pool, TRY(kernels::IsaFromEnvironment()), clock_);
  };
  self_meter_ = std::make_unique<SelfMeter>(
      speed_, measure, [this] { return drafting_ == nullptr && node_->Snapshot().empty(); },
      clock_);
  return self_meter_->Start();
}

// For plans and for users. Errors are only logged: loading a slice reports them again.
void Daemon::MeasureGpus(compute::Context& host) {
  Result<engine::Gpus> gpus = options_.open_gpus(engine::MeasuredUse(), host);
  gpu_bytes_.emplace();
  if (!gpus.ok()) return log::Info("no GPU is measured", {{"why", gpus.error().message()}});
  for (const auto& gpu : *gpus) {
    cluster::DeviceDescription device{.name = gpu->name(),
                                      .memory_bytes = gpu->available_bytes(),
                                      .shares_memory = gpu->shares_memory()};
    // Layers in main memory count as the processor's do.
    gpu_bytes_->push_back(device.shares_memory ? 0 : device.memory_bytes);
    const auto speed = engine::MeasureDevice(gpu->backend(), clock_);
    if (speed.ok()) {
      device.multiply_flops_per_s = speed->multiply_flops_per_s;
      device.memory_bytes_per_s = speed->memory_bytes_per_s;
      device.bus_round_trip_ns = static_cast<uint64_t>(speed->bus_round_trip_s * kNsPerSecond);
      device.bus_bytes_per_s = speed->bus_bytes_per_s;
    }
    log::Info("measured a GPU", {{"gpu", device.name},
                                 {"multiply_flops_per_s", device.multiply_flops_per_s},
                                 {"memory_bytes_per_s", device.memory_bytes_per_s},
                                 {"bus_bytes_per_s", device.bus_bytes_per_s}});
    devices_.push_back(std::move(device));
  }
}

Status Daemon::OpenModels(ThreadPool& pool) {
  for (const std::vector<std::string>& paths : options_.models) {
    gguf::FingerprintOptions fingerprint;
    fingerprint.hashing.progress = options_.on_hashing;
    const auto held = TRY(models_.Add(paths, pool, fingerprint));
    for (const std::string& warning : held->fingerprint.warnings) log::Warn(warning);
  }
  return Ok();
}

Status Daemon::LoadDrafters() {
  const drafting::TextFolders folders{.sessions = options_.sessions_folder,
                                      .pages = options_.pages_folder};
  for (const drafting::DraftFor& wanted : options_.draft_for) {
    engine::LocalModelOptions engine;
    engine.threads = options_.threads;
    engine.memory_bytes = kDraftKvBytes;
    drafters_.push_back(
        TRY(drafting::LoadDrafter(wanted, engine, folders, clock_).In("--draft-for")));
    log::Info("drafts for others", {{"model", wanted.model},
                                    {"drafter", wanted.drafter},
                                    {"tokens_per_s", drafters_.back().tokens_per_s}});
  }
  return Ok();
}

// Starts everything that answers before the node accepts requests.
Status Daemon::Listen() {
  const ListenAddresses listen = TRY(ParseListen(options_.listen).In("--listen"));
  cluster::Member self;
  self.node = identity_.node;
  self.name = identity_.name;
  MembershipOptions membership;
  membership.seeds = options_.join;
  membership.on_revoked = [this](const NodeId& node) {
    if (!network_) return;
    const std::string why = fmt::format("node {} was revoked", node.ToText());
    network_->Disconnect(node, Error(Code::kPermissionDenied, why));
  };
  membership.addresses = [this] { return Reachable(); };
  membership_ = std::make_unique<Membership>(home_, identity_, std::move(self),
                                             std::move(membership), clock_);
  net::Credentials credentials;
  credentials.authority = identity_.ca_certificate;
  credentials.certificate = identity_.certificate;
  credentials.key = identity_.key;
  if (!options_.sessions_folder.empty()) {
    sessions_ = std::make_unique<SessionInbox>(options_.sessions_folder, clock_);
  }
  links_ = std::make_unique<LinkMeter>(
      identity_, [this] { return membership_->Members(); },
      [this](const NodeId& node) { return ReceivedFrom(node); }, path_rates_, clock_);
  answers_ = std::make_unique<ControlAnswers>(AnswerSources{
      .home = &home_,
      .clock = &clock_,
      .membership = membership_.get(),
      .models = &models_,
      .store = &store_,
      .sessions = sessions_.get(),
      .offers = &offers_,
      .drain = &drain_,
      .describe = [this] { return Describe(); },
      .status = [this] { return GetStatus(); },
      .on_slow_link = [links = links_.get()](const NodeId& node) { links->Doubt(node); }});
  network_ = TRY(net::TcpNetwork::Start(
      {.credentials = std::move(credentials),
       .listen = listen.data,
       .name = identity_.name,
       .arithmetic = kernels::kArithmeticVersion,
       .admit = [answers = answers_.get()](const NodeId& node) { return answers->Admit(node); },
       .path_rates = path_rates_}));
  source_ = std::make_unique<fetch::FetchingSliceSource>(
      *files_, store_, [this](const Hash128& model) { return PeersToFetchFrom(model); },
      fetch::FetchingOptions{.loading = SliceOptions(),
                             .parts_here = [this] { return models_.Parts(); }});
  stage::StageOptions stages{.proposers = draft::ProposersFor};
  stages.expert_uses = std::make_shared<stage::ExpertUses>(gguf::DefaultCacheFolder());
  if (!drafters_.empty()) {
    drafting_ = std::make_unique<drafting::DraftNode>(*network_, std::move(drafters_));
    drafting_->Start();
    stages.others = [drafting = drafting_.get()](const net::Event& event) {
      return drafting->Handle(event);
    };
  }
  node_ = std::make_unique<stage::Node>(*network_, *source_, std::move(stages));
  node_->Start();
  server_ =
      TRY(rpc::ControlServer::Start({.identity = identity_, .listen = listen.control}, *answers_));
  OwnAddresses reachable = TRY(Reachable());
  control_addresses_ = reachable.control;
  membership_->SetAddresses(std::move(reachable));
  TRY(membership_->Start());
  TRY(links_->Start());
  TRY(MeasureAgain());
  TRY(StartStandby());
  return BeFound();
}

uint64_t Daemon::ReceivedFrom(const NodeId& node) const {
  uint64_t bytes = 0;
  for (const net::PeerStatus& peer : network_->Peers()) {
    if (peer.machine == node) bytes += peer.received_bytes;
  }
  return bytes;
}

Status Daemon::StartStandby() {
  if (!options_.keeps_standby) return Ok();
  const auto ask = [](rpc::ControlClient& client) -> Result<StandbyPeer> {
    StandbyPeer peer;
    peer.description = TRY(client.Describe());
    peer.status = TRY(client.GetStatus());
    return peer;
  };
  const auto look = [this, ask] {
    Standby::Seen seen;
    seen.self = {.description = Describe(), .status = GetStatus()};
    for (const cluster::Member& member : membership_->Living()) {
      auto peer = CallMember(identity_, member, ask);
      if (peer.ok()) seen.others.push_back(*std::move(peer));
    }
    return seen;
  };
  standby_ = std::make_unique<Standby>(
      look,
      [this](const StandbySlice& wanted, const std::stop_token& stop) {
        return KeepForOthers(wanted, stop);
      },
      clock_);
  return standby_->Start();
}

// If there is room beside the layers computed here, fetches layer by layer: a route that needs
// weights of this model meanwhile waits for one layer at most.
Status Daemon::KeepForOthers(const StandbySlice& wanted, const std::stop_token& stop) {
  const auto fits = [&](const gguf::ModelFiles& layout) -> Status {
    const stage::SliceRequest request{.fingerprint = wanted.fingerprint,
                                      .memory_name = {},
                                      .slice = wanted.slice,
                                      .used_bytes = GetStatus().memory_used_bytes};
    TRY(stage::FindRoom(layout, request, SliceOptions()));
    return Ok();
  };
  const model::Slice& all = wanted.slice;
  for (uint32_t layer = all.layer_begin; layer < all.layer_end; ++layer) {
    const bool is_first = layer == all.layer_begin;
    const bool is_last = layer + 1 == all.layer_end;
    TRY(store_.Ensure({.fingerprint = wanted.fingerprint,
                       .slice = {.layer_begin = layer,
                                 .layer_end = layer + 1,
                                 .embedding = all.embedding && is_first,
                                 .head = all.head && is_last},
                       .peers = PeersToFetchFrom(wanted.fingerprint),
                       .here = models_.Parts(),
                       .fetching = {.progress = {}, .stop = stop},
                       .check = fits}));
  }
  return Ok();
}

Status Daemon::BeFound() {
  if (!options_.discovery_port) return Ok();
  discovery_ = TRY(
      Announce(home_, identity_,
               {.port = *options_.discovery_port,
                .listening = server_->addresses(),
                .on_found = [this](const std::string& address) { membership_->AddHint(address); }},
               clock_));
  return Ok();
}

Result<OwnAddresses> Daemon::Reachable() const {
  return OwnAddresses{.control = TRY(ReachableAt(server_->addresses(), options_.advertise)),
                      .data = TRY(ReachableAt(network_->addresses(), options_.advertise))};
}

Daemon::~Daemon() {
  discovery_.reset();
  // The others are told first: the threads below may be in calls to nodes that do not answer.
  if (membership_) membership_->Stop();
  if (standby_) standby_->Stop();
  if (self_meter_) self_meter_->Stop();
  if (links_) links_->Stop();
  server_.reset();
  if (node_) node_->Stop();
  if (drafting_) drafting_->Stop();
}

cluster::Description Daemon::Describe() const {
  cluster::Description description;
  description.node = identity_.node;
  description.name = identity_.name;
  description.version = options_.version;
  description.protocol = wire::kNewestProtocol;
  description.arithmetic = kernels::kArithmeticVersion;
  description.core_count =
      static_cast<uint32_t>(options_.threads > 0 ? options_.threads : UsableCpuCount());
  const auto isa = kernels::IsaFromEnvironment();
  description.instruction_set = isa.ok() ? std::string(kernels::IsaName(*isa)) : "unknown";
  description.memory_bytes = MemoryForSlices(options_.memory_bytes);
  description.memory_total_bytes = DetectMemory().total_bytes;
  const engine::MachineSpeed speed = self_meter_ ? self_meter_->speed() : speed_;
  description.multiply_flops_per_s = speed.multiply_flops_per_s;
  description.memory_bytes_per_s = speed.memory_bytes_per_s;
  description.models = models_.Describe();
  if (drafting_ != nullptr) {
    for (const drafting::OwnDrafter& own : drafting_->drafters()) {
      description.drafters.push_back({.model = own.model,
                                      .drafter = own.drafter,
                                      .fingerprint = own.name,
                                      .vocabulary = own.vocabulary.digest,
                                      .tokens_per_s = own.tokens_per_s});
    }
  }
  if (node_ != nullptr && node_->has_lost_gpu()) return description;
  description.devices = devices_;
  description.gpu_layers = options_.gpu_layers.count.value_or(0);
  return description;
}

// All members (one without the weights says so at once), then machines that offered weights, which
// may have left.
std::vector<std::shared_ptr<fetch::WeightPeer>> Daemon::PeersToFetchFrom(
    const Hash128& fingerprint) const {
  std::vector<std::shared_ptr<fetch::PartHolder>> peers;
  for (const cluster::Member& member : membership_->Living())
    peers.push_back(std::make_shared<MemberPeer>(identity_, member));
  for (const cluster::Member& asker : offers_.Of(fingerprint, clock_.NowNs()))
    peers.push_back(std::make_shared<MemberPeer>(identity_, asker));
  return fetch::PeersWithParts(peers, models_.Parts(),
                               [this](const Hash128& model) { return store_.FindManifest(model); });
}

// Weights from other machines come with a name; it is read from the disk once.
std::string Daemon::NameOfModel(const Hash128& fingerprint) const {
  if (const auto held = models_.Find(fingerprint)) return held->description.name;
  const MutexLock lock(names_mu_);
  if (const auto known = fetched_names_.find(fingerprint); known != fetched_names_.end())
    return known->second;
  std::string name = store_.NameOf(fingerprint);
  if (!name.empty()) fetched_names_[fingerprint] = name;
  return name;
}

// Front ends that a drained node still waits for. If another node leads a group here, that node
// reports its own front end.
size_t Daemon::FrontEndsHere(std::span<const stage::StageRouteStatus> stages) const {
  std::vector<NodeId> with_layers, connected;
  for (const stage::StageRouteStatus& stage : stages) with_layers.push_back(stage.conductor);
  for (const net::PeerStatus& peer : network_->Peers()) {
    if (peer.is_up && peer.node != peer.machine) connected.push_back(peer.node);
  }
  return drain_.Leaving(with_layers, connected);
}

cluster::NodeStatus Daemon::GetStatus() const {
  cluster::NodeStatus status;
  status.node = identity_.node;
  status.name = identity_.name;
  status.uptime_ms = static_cast<uint64_t>((clock_.NowNs() - begin_ns_) / kNsPerMs);
  const std::vector<stage::StageRouteStatus> stages = node_->Snapshot();
  status.is_drained = drain_.is_drained();
  status.leaving = static_cast<uint32_t>(FrontEndsHere(stages));
  const MachineState machine = LookAtMachine();
  status.load = machine.load;
  status.battery = machine.battery;
  for (const stage::StageRouteStatus& stage : stages) {
    status.slices.push_back(ToStatus(stage));
    status.slices.back().model = NameOfModel(stage.fingerprint);
    if (!stage.is_counted) status.memory_used_bytes += stage.main_memory_bytes;
  }
  std::vector<stage::WorkRate> rates = node_->Rates();
  const engine::MachineSpeed speed = self_meter_ ? self_meter_->speed() : speed_;
  stage::AddMeasured(model_rates_, speed_.memory_bytes_per_s / speed.memory_bytes_per_s,
                     speed_.multiply_flops_per_s / speed.multiply_flops_per_s, rates);
  for (const stage::WorkRate& rate : rates) {
    status.rates.push_back(ToStatus(rate));
    status.rates.back().model = NameOfModel(rate.fingerprint);
  }
  status.members = membership_->Members();
  const std::vector<net::PeerStatus> peers = network_->Peers();
  for (size_t i = 1; i < status.members.size(); ++i) {
    const NodeId& node = status.members[i].node;
    const rpc::LinkMeasurement measured = links_->Of(node);
    cluster::LinkStatus link{
        .peer = node, .round_trip_ns = measured.round_trip_ns, .bytes_per_s = measured.bytes_per_s};
    const auto peer = std::ranges::find(peers, node, &net::PeerStatus::node);
    if (peer != peers.end()) {
      link.is_up = peer->is_up;
      // A heartbeat's time includes thread wake-ups: it counts only if it is much longer.
      const auto heartbeat_ns = static_cast<uint64_t>(std::max<int64_t>(peer->round_trip_ns, 0));
      if (link.round_trip_ns == 0 || heartbeat_ns > link.round_trip_ns + kWakingNs)
        link.round_trip_ns = heartbeat_ns;
      link.sent_bytes = peer->sent_bytes;
      link.received_bytes = peer->received_bytes;
    }
    status.links.push_back(link);
  }
  if (options_.pages) status.disk_cache = ToStatus(options_.pages->counts());
  return status;
}

}  // namespace aster::node
