// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/node_session.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "conduct/chrome_trace.h"
#include "disk/disk_pages.h"
#include "draft/proposers.h"
#include "gguf/fingerprint_cache.h"
#include "kernels/isa_choice.h"
#include "model/files/block_shape.h"
#include "model/files/support.h"
#include "open/held_rows.h"
#include "open/model_files.h"
#include "open/model_identity.h"
#include "open/plan_for_turn.h"
#include "plan/alternatives.h"
#include "stage/kv_chunk_encoding.h"
#include "stage/row_encoding.h"

namespace aster::open {
namespace {

// The command's own name in a split.
constexpr std::string_view kOwnName = "here";
constexpr std::string_view kFrontName = "front";

// The node that a part of a split names: "a" of "a=0:20", "a:0-20" or "a"; blanks removed.
std::string_view NameOfPart(std::string_view part) {
  part = part.substr(0, part.find_first_of("=:"));
  const size_t begin = std::min(part.find_first_not_of(' '), part.size());
  return part.substr(begin, part.find_last_not_of(' ') + 1 - begin);
}

// "front" is another word for it, wherever a node's name may stand.
std::string WithOwnName(std::string_view split) {
  std::string renamed;
  for (size_t begin = 0; begin <= split.size();) {
    const size_t end = std::min(split.find(',', begin), split.size());
    std::string part(split.substr(begin, end - begin));
    if (const std::string_view name = NameOfPart(part); name == kFrontName) {
      part.replace(static_cast<size_t>(name.data() - part.data()), name.size(), kOwnName);
    }
    renamed += (begin == 0 ? "" : ",") + part;
    begin = end + 1;
  }
  return renamed;
}

bool NamesThisCommand(std::string_view split) {
  for (size_t begin = 0; begin <= split.size();) {
    const size_t end = std::min(split.find(',', begin), split.size());
    if (NameOfPart(split.substr(begin, end - begin)) == kOwnName) return true;
    begin = end + 1;
  }
  return false;
}

// An error about an unknown name also lists "here", which is in no list of nodes.
Error WithOwnWords(Error error) {
  if (error.code() != Code::kNotFound) return error;
  return {error.code(), fmt::format("{}; {} (or {}) is this command itself", error.message(),
                                    kOwnName, kFrontName)};
}

// The context length that plans assume for a token.
constexpr uint32_t kContext = 4096;

// An error if drafts are wanted and the drafter is for another model.
std::optional<uint32_t> DrafterLayerOf(const gguf::ModelFiles& files) {
  const model::Support support = model::CheckSupport(files);
  if (files.drafter() == nullptr || !support.shape) return std::nullopt;
  const auto drafter = model::BlockShapeOf(*files.drafter(), files.metadata(), *support.shape);
  return drafter.ok() ? std::optional(drafter->taps.front()) : std::nullopt;
}

}  // namespace

Result<std::unique_ptr<NodeSession>> NodeSession::Start(const gguf::ModelFiles& files,
                                                        const ModelOptions& model,
                                                        const ClusterOptions& cluster,
                                                        Reporter& reporter) {
  TRY(CheckWhole(files, cluster));
  const engine::LocalModelOptions engine = TRY(model.ForEngine());
  plan::RouteModel route_model{.shape = TRY(model::ShapeOf(files)),
                               .fingerprint = TRY(FingerprintOf(files, reporter)),
                               .drafter_layer = DrafterLayerOf(files)};
  // An MTP block may be in a file of its own, which the metadata do not mention.
  if (const model::Support support = model::CheckSupport(files); support.shape) {
    route_model.shape.mtp_layers = support.shape->mtp_layers;
  }
  conduct::RouteOptions route;
  route.encoding = TRY(stage::ParseRowEncoding(cluster.rows));
  route.kv_encoding = TRY(stage::ParseKvChunkEncoding(cluster.kv_wire));
  route.memory = engine.memory;
  route.kv_bytes = engine.memory_bytes;
  // A KV transfer changes only rows of 16-bit numbers.
  const kv::Layout layout =
      TRY(plan::LayoutOf(route_model.shape, route.memory, /*memory_name=*/route_model.fingerprint));
  if (!stage::ChangesRows(route.kv_encoding, layout)) route.kv_encoding = wire::RowEncoding::kF32;
  // Every node reserves memory for the KV cache, whatever its layers are.
  plan::ModelLoad load = TRY(plan::LoadOf(files, route.memory, /*kv_positions=*/0, kContext));
  std::unique_ptr<NodeSession> session;
  const std::string split = WithOwnName(cluster.split), decode = WithOwnName(cluster.decode);
  session.reset(
      // tidy: allow(ownership) make_unique does not reach a private constructor
      new NodeSession(std::move(route_model), route, std::move(load), cluster, split, decode,
                      !model.kv_cache.folder.empty()));
  if (const std::string why = session->Inexact(); !why.empty()) {
    reporter.Complain("note", fmt::format("results may differ from one machine's: {}", why));
  }
  if (!cluster.trace_path.empty())
    session->trace_file_ = TRY(AtomicFile::Create(cluster.trace_path).In("--trace"));
  session->pool_ = TRY(OpenNodePool(model, cluster,
                                    {.fingerprint = session->model_.fingerprint,
                                     .kv_bytes = session->route_.kv_bytes,
                                     .files = files.fingerprint() ? nullptr : &files}));
  session->network_ = TRY(net::TcpNetwork::Start({.credentials = session->pool_->Credentials(),
                                                  .listen = {},
                                                  .name = "front end",
                                                  .arithmetic = kernels::kArithmeticVersion,
                                                  .admit = nullptr}));
  session->TakeNodes();
  if (NamesThisCommand(split) || NamesThisCommand(decode)) {
    if (files.fingerprint()) {
      return FailedPrecondition(fmt::format(
          "not all of {} is on this machine, so this command cannot compute layers of it: give {} "
          "(or {}) no layers, or copy the file",
          ForDisplay(fmt::format("{}", fmt::join(model.paths, ", "))), kOwnName, kFrontName));
    }
    session->AddOwnStage(files, engine, TRY(model.kv_cache.Open()));
  }
  return session;
}

std::string NodeSession::Inexact() const {
  std::string options;
  if (!stage::IsExact(route_.encoding)) {
    options = fmt::format("--wire {}", stage::RowEncodingName(route_.encoding));
  }
  if (!stage::IsExact(route_.kv_encoding)) {
    options += fmt::format("{}--kv-wire {}", options.empty() ? "" : ", ",
                           stage::RowEncodingName(route_.kv_encoding));
  }
  return options;
}

NodeSession::~NodeSession() { static_cast<void>(SaveTrace()); }

Status NodeSession::SaveTrace() {
  if (!trace_file_) return Ok();
  AtomicFile file = *std::exchange(trace_file_, std::nullopt);
  const std::string text = conduct::ToChromeTrace(trace_);
  TRY(file.Write({reinterpret_cast<const uint8_t*>(text.data()), text.size()}).In("--trace"));
  return file.Commit().In("--trace");
}

void NodeSession::AddOwnStage(const gguf::ModelFiles& files,
                              const engine::LocalModelOptions& engine,
                              const std::shared_ptr<disk::DiskPages>& pages) {
  own_pages_ = pages;
  own_source_ = std::make_unique<stage::FileSliceSource>(
      stage::FileSliceOptions{.threads = engine.threads,
                              .memory_bytes = 0,
                              .isa = {},
                              .gpu_layers = engine.gpu_layers,
                              .open_gpus = engine.open_gpus,
                              .page_store = pages,
                              .page_chunks = pages});
  // The caller keeps the files for longer than the session.
  own_source_->Add(model_.fingerprint, std::shared_ptr<const gguf::ModelFiles>(
                                           std::shared_ptr<const gguf::ModelFiles>(), &files));
  own_ = std::make_unique<stage::StageServer>(
      *network_, *own_source_,
      stage::StageOptions{
          .proposers = draft::ProposersFor,
          .expert_uses = std::make_shared<stage::ExpertUses>(gguf::DefaultCacheFolder())});
  nodes_.push_back({.id = network_->self(), .name = std::string(kOwnName), .addresses = {}});
}

std::optional<disk::DiskPagesCounts> NodeSession::KvCache() const {
  if (!has_kv_cache_) return std::nullopt;
  std::optional<disk::DiskPagesCounts> all;
  const auto add = [&](const disk::DiskPagesCounts& counts) {
    if (!all) all.emplace();
    AddKvCache(counts, *all);
  };
  if (own_pages_) add(CountsOf(*own_pages_));
  for (const std::string& line : pool_->KvCacheLines()) {
    if (const auto counts = ParseKvCacheLine(line)) add(*counts);
  }
  return all;
}

void NodeSession::TakeNodes() {
  nodes_.clear();
  for (const plan::NodeAbility& able : pool_->nodes()) nodes_.push_back(able.node);
}

Result<plan::Plan> NodeSession::Plan() {
  reasons_.clear();
  alternatives_.clear();
  planned_ = {};
  plan::Plan plan;
  if (split_ == "auto") {
    held_ = FindHeld();
    auto planned = PlanForNodes();
    // Nothing is known of the next request.
    held_.clear();
    plan = TRY(std::move(planned));
  } else {
    plan.stages = TRY(ParsePath(split_).In(split_option_));
  }
  TRY(AddDecoders(plan));
  TRY(CheckGroups(plan).In(split_option_));
  if (split_ == "auto") auto_split_ = plan::SplitText(plan);
  ExplainDrafter(plan);
  return plan;
}

void NodeSession::ExplainDrafter(const plan::Plan& plan) {
  if (!model_.drafter_layer) return;
  const plan::PlanStage& last = plan.decode.empty() ? plan.stages.back() : plan.decode.back();
  if (*model_.drafter_layer >= last.slice.layer_begin && !last.is_group()) return;
  reasons_.push_back(fmt::format(
      "the model's drafter makes no draft tokens here: it reads rows behind layer {} and later "
      "ones, and {} has to compute these alone",
      *model_.drafter_layer, plan::NameOf(last)));
}

// Also names nodes that are not there.
Result<std::vector<plan::PlanStage>> NodeSession::ParsePath(const std::string& text) const {
  auto stages = plan::ParsePath(text, layer_count(), nodes_);
  if (stages.ok() || stages.error().code() != Code::kNotFound) return stages;
  for (const AbsentNode& node : pool_->absent()) {
    for (const std::string& name : {node.name, node.id.ToText()}) {
      if (stages.error().message().find(fmt::format("\"{}\"", name)) == std::string::npos) continue;
      return Error(Code::kUnavailable, fmt::format("node {} {}", node.name, node.why));
    }
  }
  return WithOwnWords(stages.error());
}

// Whether the model can be computed by the plan's groups.
Status NodeSession::CheckGroups(const plan::Plan& plan) const {
  if (!plan.has_groups()) return Ok();
  TRY(plan::CheckPlan(plan, layer_count()));
  const bool transfers = plan.has_groups() && !plan.decode.empty();
  if (transfers && route_.kv_encoding != wire::RowEncoding::kF32) {
    return Unimplemented("a group's KV rows travel exactly: leave --kv-wire out");
  }
  for (const plan::PlanStage& stage : plan.AllStages()) {
    TRY(model::CheckGroup(stage.Slices().front().part, model_.shape));
    if (stage.is_group() && stage.Has(network_->self())) {
      return Unimplemented(fmt::format(
          "{} cannot be in a group: give this machine a node of its own, and name that", kOwnName));
    }
  }
  return Ok();
}

Status NodeSession::AddDecoders(plan::Plan& plan) {
  if (decode_.empty()) return Ok();
  plan.decode = TRY(ParsePath(decode_).In("--decode"));
  const auto is_same = [](const plan::PlanStage& a, const plan::PlanStage& b) {
    return a.node.id == b.node.id && a.slice == b.slice && !a.is_group() && !b.is_group();
  };
  // The prefill nodes decode too: there is no KV transfer.
  if (std::ranges::equal(plan.stages, plan.decode, is_same)) plan.decode.clear();
  for (const plan::PlanStage& stage : plan.decode) {
    reasons_.push_back(
        fmt::format("{} decodes: {}", plan::NameOf(stage), plan::DescribeSlice(stage.slice)));
  }
  return Ok();
}

// Rows that are sent inexactly have a name that only their route knows.
std::vector<plan::HeldRows> NodeSession::FindHeld() {
  const bool is_exact = stage::IsExact(route_.encoding) && stage::IsExact(route_.kv_encoding);
  if (options_.only_tokens.empty() || !options_.cluster || !is_exact) return {};
  const auto layout = plan::LayoutOf(
      model_.shape, route_.memory,
      plan::MemoryName(model_.fingerprint, route_.encoding, route_.kv_encoding, /*stages=*/{}));
  if (!layout.ok()) return {};
  return FindHeldRows(*network_, nodes_, *layout, options_.only_tokens);
}

Result<plan::Plan> NodeSession::PlanForNodes() {
  plan::SplitPlan split = TRY(PlanByAbility(*pool_, Wanted(), shares_));
  reasons_ = std::move(split.lines);
  alternatives_ = std::move(split.alternatives);
  planned_ = {split.prefill_tokens_per_s, split.decode_tokens_per_s};
  return std::move(split.plan);
}

WantedPlan NodeSession::Wanted() const {
  std::vector<ExpectedRequest> requests = usual_requests_;
  if (requests.empty() && options_.only_request) requests = {*options_.only_request};
  // The user chose the decode nodes, so requests do not decide.
  if (!decode_.empty()) requests.clear();
  return {.load = load_,
          .kv_bytes = route_.kv_bytes,
          .requests = std::move(requests),
          .by_times = options_.only_request.has_value(),
          .held = held_,
          .exact_transfers = route_.kv_encoding == wire::RowEncoding::kF32};
}

Result<std::optional<std::string>> NodeSession::PrepareTurn(const ExpectedRequest& turn,
                                                            conduct::Conductor& conductor,
                                                            double opening_s) {
  const std::vector<ExpectedRequest> former = std::exchange(usual_requests_, {turn});
  // Nodes that cannot be asked now are noticed when the route breaks.
  if (!pool_->Refresh({}, Ok()).ok()) return std::optional<std::string>();
  std::optional<std::string> why =
      ChangeForTurn(*pool_, Wanted(), conductor.plan(), opening_s, turn_changes_);
  if (!why) {
    usual_requests_ = former;
    return why;
  }
  TRY(conductor.Replan(Error(Code::kUnavailable, *why)));
  return why;
}

// Nodes that came after this pool's last look may need weights from here, which it offers at its
// next look.
void NodeSession::SeeAs(const NodePool& seen) {
  const auto is_known = [&](const plan::NodeAbility& able) {
    return std::ranges::any_of(pool_->nodes(), [&](const plan::NodeAbility& known) {
      return known.node.id == able.node.id;
    });
  };
  has_seen_ = std::ranges::all_of(seen.nodes(), is_known);
  if (has_seen_) pool_->SeeAs(seen);
}

Result<std::unique_ptr<NodePool>> NodeSession::AnotherPool() const {
  return OpenNodePool({}, options_,
                      {.fingerprint = model_.fingerprint, .kv_bytes = route_.kv_bytes});
}

Result<std::unique_ptr<conduct::Conductor>> NodeSession::Open(
    const plan::Plan& plan, const text::Tokenizer* tokenizer, uint32_t max_running,
    int64_t longest_frame_ns, Reporter& reporter, engine::ProposerSource* proposers) {
  conduct::ConductorOptions options;
  options.route = route_;
  options.isa = TRY(kernels::IsaFromEnvironment());
  options.max_running = max_running;
  options.direct_tokens = options_.direct_tokens;
  options.longest_frame_ns = longest_frame_ns;
  options.trace = trace_file_ ? &trace_ : nullptr;
  options.peers = [this] { return Peers(); };
  if (const conduct::PlannedPath prefill = PlannedTimes(plan.stages); prefill.chunk_s > 0)
    options.prefill_tokens_per_s = prefill.chunk_tokens / prefill.chunk_s;
  options.planned = [this](std::span<const plan::PlanStage> path) { return PlannedTimes(path); };
  options.proposers = proposers;
  options.on_event = on_event_;
  options.on_closed = [this](std::span<const wire::RouteId> routes) { pool_->AddClosed(routes); };
  // A split that the user typed is opened or refused; a planned one may be replaced.
  constexpr uint32_t kOpenReplans = 3;
  options.max_open_replans = plan::SplitText(plan) == auto_split_ ? kOpenReplans : 0;
  auto conductor = std::make_unique<conduct::Conductor>(
      *network_, model_, tokenizer, plan, options,
      [this](const plan::Plan& broken, std::span<const wire::NodeId> lost, const Error& why) {
        return Replan(broken, lost, why);
      },
      own_.get());
  const StepProgress progress = reporter.StartProgress("nodes are loading");
  left_out_.clear();
  TRY(conductor->Open([&](const conduct::OpenProgress& opened) {
    progress(opened.done_bytes, opened.total_bytes);
  }));
  for (const std::string& line : left_out_) reporter.Complain("note", line);
  return conductor;
}

// Nodes that may hold KV rows of this command's prompts: all, with the slowest of their links.
std::vector<conduct::KvPeer> NodeSession::Peers() const {
  std::vector<conduct::KvPeer> peers;
  for (const plan::NodeAbility& able : pool_->nodes()) peers.push_back({.node = able.node});
  for (const plan::LinkAbility& link : pool_->links()) {
    double& rate = peers[link.from].bytes_per_s;
    if (link.bytes_per_s > 0) rate = rate > 0 ? std::min(rate, link.bytes_per_s) : link.bytes_per_s;
  }
  return peers;
}

// The predicted times of one path of a plan; empty for an empty path, or if rates are unknown.
conduct::PlannedPath NodeSession::PlannedTimes(std::span<const plan::PlanStage> path) const {
  if (path.empty()) return {};
  const plan::Plan plan{.stages = {path.begin(), path.end()}, .decode = {}};
  const auto split = PredictByAbility(*pool_, Wanted(), shares_, plan);
  if (!split) return {};
  constexpr uint32_t kChunk = plan::PlannerOptions().chunk_tokens;
  return {.first_chunk_s = split->first_chunk_s,
          .chunk_s = kChunk / split->prefill_tokens_per_s,
          .token_s = 1 / split->decode_tokens_per_s,
          .chunk_tokens = kChunk};
}

// Reports nodes that are there and get no layers, as users would wonder why.
void NodeSession::NoteLeftOut(std::span<const wire::NodeId> lost, const Error& why) {
  for (const AbsentNode& node : pool_->absent()) {
    if (std::ranges::count(lost, node.id) == 0) continue;
    left_out_.push_back(fmt::format("node {} is left out: {}", node.name, why.message()));
    failures_[node.id] = why.message();
  }
}

std::vector<AbsentNode> NodeSession::LeftOut() const {
  std::vector<AbsentNode> nodes = pool_->absent();
  for (AbsentNode& node : nodes) {
    const auto found = failures_.find(node.id);
    if (found != failures_.end()) node.why = fmt::format("failed: {}", found->second);
  }
  return nodes;
}

// A plan for the remaining nodes.
Result<plan::Plan> NodeSession::Replan(const plan::Plan& broken, std::span<const wire::NodeId> lost,
                                       const Error& why) {
  const bool has_seen = std::exchange(has_seen_, false) && lost.empty();
  const Status found = has_seen ? Ok() : pool_->Refresh(lost, why);
  // If all of them time out, this machine's own link is probably down, and may come back.
  if (!found.ok() && found.error().code() == Code::kDeadlineExceeded) return broken;
  NoteLeftOut(lost, why);
  TakeNodes();
  if (!found.ok() || nodes_.empty()) {
    return Error(found.ok() ? why.code() : Code::kUnavailable,
                 fmt::format("no node can compute layers 0 to {}; the last one failed: {}",
                             layer_count() - 1, why.message()));
  }
  auto planned = PlanForNodes();
  if (!planned.ok()) {
    return Error(why.code(), fmt::format("{}; the other nodes cannot take over: {}", why.message(),
                                         planned.error().message()));
  }
  plan::Plan plan = *std::move(planned);
  // The decode nodes may have failed: then the prefill nodes decode.
  if (!AddDecoders(plan).ok()) plan.decode.clear();
  return plan;
}

std::string DescribeHops(const conduct::Conductor& conductor) {
  std::string lines;
  const std::vector<conduct::HopFigures> hops = conductor.hops();
  const std::vector<plan::PlanStage> stages = conductor.plan().AllStages();
  for (size_t i = 0; i < hops.size(); ++i) {
    const plan::PlanStage& stage = stages[i];
    lines += fmt::format("{}{}, {}: {} frames, computing {}, waiting {}, {} sent in {}, idle {}",
                         i == 0 ? "" : "\n", plan::NameOf(stage), plan::DescribeSlice(stage.slice),
                         hops[i].frames, FormatDuration(static_cast<int64_t>(hops[i].compute_ns)),
                         FormatDuration(static_cast<int64_t>(hops[i].queue_ns)),
                         FormatBytes(hops[i].sent_bytes),
                         FormatDuration(static_cast<int64_t>(hops[i].send_ns)),
                         FormatDuration(static_cast<int64_t>(hops[i].idle_ns)));
    if (hops[i].gather_bytes == 0) continue;
    lines += fmt::format("; {} sent to the others of the group", FormatBytes(hops[i].gather_bytes));
    // Programs before protocol 10 do not report these two.
    if (hops[i].gathers > 0) {
      lines += fmt::format(" in {}, {} times",
                           FormatDuration(static_cast<int64_t>(hops[i].gather_send_ns)),
                           hops[i].gathers);
    }
    lines += fmt::format(", which it waited for {}",
                         FormatDuration(static_cast<int64_t>(hops[i].gather_ns)));
  }
  for (const auto& [node, from] : conductor.fetched()) {
    lines += fmt::format(
        "\n"
        "{} had {} tokens in its KV cache; {} transferred",
        from.name, from.tokens, FormatBytes(from.bytes));
  }
  const conduct::ConductorCounters& counters = conductor.counters();
  if (counters.transferred_prompts > 0) {
    lines += fmt::format(
        "\n"
        "first token {} after the end of prefill, on average; KV transfer of {}",
        FormatDuration(counters.exposed_ns / static_cast<int64_t>(counters.transferred_prompts)),
        FormatBytes(counters.transferred_bytes));
  }
  if (counters.frames_ahead > 0) {
    lines += fmt::format(
        "\n"
        "{} frames of draft tokens sent behind draft tokens in flight; {} of them cancelled; {} "
        "bubbles filled, {} in all",
        counters.frames_ahead, counters.frames_ahead_cancelled, counters.bubbles_filled,
        FormatDuration(counters.bubbles_filled_ns));
  }
  return lines;
}

}  // namespace aster::open
