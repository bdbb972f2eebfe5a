// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/open_model.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "disk/disk_pages.h"
#include "engine/scheduler.h"
#include "open/load_model.h"
#include "open/node_session.h"
#include "open/usual_request.h"

namespace aster::open {
namespace {

// How long an idle server waits for a route that it opens ahead of requests.
constexpr int64_t kOpenAheadNs = 10 * kNsPerSecond;

class OpenedLocalModel final : public OpenedModel {
 public:
  OpenedLocalModel(std::unique_ptr<engine::LocalModel> model, std::unique_ptr<Drafts> drafts,
                   std::shared_ptr<disk::DiskPages> kv_cache, const text::Tokenizer* tokenizer,
                   const Clock& clock, engine::SchedulerOptions options)
      : kv_cache_(std::move(kv_cache)), model_(std::move(model)), drafts_(std::move(drafts)) {
    if (drafts_ != nullptr) options.proposers = &drafts_->For(model_.get());
    capacity_tokens_ = engine::LongestThatFits(*model_, options.batch_tokens);
    scheduler_.emplace(*model_, tokenizer, clock, options);
  }

  engine::Generator& generator() override { return *scheduler_; }
  std::string DescribeWork() const override {
    std::string lines = kv_cache_ == nullptr ? "" : DescribeKvCache(CountsOf(*kv_cache_));
    const std::string drafts =
        drafts_ == nullptr ? "" : DescribeRemoteDrafts(drafts_->remote_counts());
    if (!lines.empty() && !drafts.empty()) lines += "\n";
    return lines + drafts;
  }
  std::optional<disk::DiskPagesCounts> kv_cache() override {
    if (kv_cache_ == nullptr) return std::nullopt;
    return CountsOf(*kv_cache_);
  }
  uint32_t capacity_tokens() const override { return capacity_tokens_; }
  MemoryFigures memory() const override {
    const kv::Pool::Usage& memory = model_->memory();
    return {.weight_bytes = model_->packed_bytes(),
            .held_bytes = memory.held_bytes,
            .cached_bytes = memory.cached_bytes,
            .limit_bytes = memory.budget_bytes,
            .limit_tokens = capacity_tokens_,
            .disk = disk()};
  }
  RemoteDraftFigures remote_drafts() const override {
    return drafts_ == nullptr ? RemoteDraftFigures() : FiguresOf(drafts_->remote_counts());
  }

 private:
  DiskFigures disk() const {
    if (kv_cache_ == nullptr) return {};
    const disk::DiskPagesCounts counts = kv_cache_->counts();
    return {.bytes = counts.total_bytes,
            .files = counts.file_count,
            .limit_bytes = counts.size_bytes,
            .loaded_tokens = counts.loaded_positions,
            .loaded_bytes = counts.loaded_bytes,
            .looked_for = counts.looked_for,
            .found = counts.found};
  }

  const std::shared_ptr<disk::DiskPages> kv_cache_;  // null: none
  std::unique_ptr<engine::LocalModel> model_;
  std::unique_ptr<Drafts> drafts_;  // null: none
  uint32_t capacity_tokens_ = 0;
  std::optional<engine::Scheduler> scheduler_;
};

class OpenedRoute final : public OpenedModel {
 public:
  OpenedRoute(std::unique_ptr<NodeSession> nodes, std::unique_ptr<Drafts> drafts,
              std::unique_ptr<conduct::Conductor> conductor)
      : nodes_(std::move(nodes)), drafts_(std::move(drafts)), conductor_(std::move(conductor)) {}

  engine::Generator& generator() override { return *conductor_; }
  std::string DescribeWork() const override {
    std::string lines;
    for (const std::string& reason : nodes_->reasons()) lines += reason + "\n";
    if (const auto counts = nodes_->KvCache()) lines += DescribeKvCache(*counts) + "\n";
    lines += DescribeHops(*conductor_);
    const std::string drafts =
        drafts_ == nullptr ? "" : DescribeRemoteDrafts(drafts_->remote_counts());
    return drafts.empty() ? lines : lines + "\n" + drafts;
  }
  std::optional<disk::DiskPagesCounts> kv_cache() override { return nodes_->KvCache(); }
  std::string inexact() const override { return nodes_->Inexact(); }
  std::vector<RowsFromNode> fetched() const override {
    std::vector<RowsFromNode> all;
    for (const auto& [node, from] : conductor_->fetched()) {
      all.push_back({.node = from.name, .tokens = from.tokens, .bytes = from.bytes});
    }
    std::ranges::sort(all, {}, &RowsFromNode::node);
    return all;
  }
  KvTransfers kv_transfers() const override {
    const conduct::ConductorCounters& counters = conductor_->counters();
    return {.prompts = counters.transferred_prompts,
            .bytes = counters.transferred_bytes,
            .exposed_ns = counters.exposed_ns};
  }
  std::vector<conduct::RequestForecast> forecasts() const override {
    return {conductor_->forecasts().begin(), conductor_->forecasts().end()};
  }
  std::optional<Computed> ComputedHow(engine::RequestId request) const override {
    const conduct::RequestForecast* const forecast = conductor_->FindForecast(request);
    if (forecast == nullptr) return std::nullopt;
    return Computed{.plan = plan::SplitText(conductor_->plan()), .forecast = *forecast};
  }
  std::vector<plan::Alternative> alternatives() const override { return nodes_->alternatives(); }
  std::vector<AbsentNode> left_out() const override { return nodes_->LeftOut(); }
  // That of the present route: another one may have more, or less.
  uint32_t capacity_tokens() const override {
    const conduct::RouteClient* const route = conductor_->route();
    if (route == nullptr || !route->is_ready()) return UINT32_MAX;
    return static_cast<uint32_t>(std::min<uint64_t>(route->kv_positions(), UINT32_MAX));
  }
  MemoryFigures memory() const override {
    const uint32_t tokens = capacity_tokens();
    return {.limit_tokens = tokens == UINT32_MAX ? 0 : tokens};
  }
  HopsFigures hops() const override {
    const KvTransfers transfers = kv_transfers();
    HopsFigures figures{
        .replans = conductor_->counters().replans,
        .fetched_bytes = conductor_->counters().fetched_bytes,
        .transferred_prompts = transfers.prompts,
        .transferred_bytes = transfers.bytes,
        .exposed_ns = static_cast<uint64_t>(std::max<int64_t>(0, transfers.exposed_ns)),
        .frames_ahead = conductor_->counters().frames_ahead,
        .frames_ahead_cancelled = conductor_->counters().frames_ahead_cancelled,
        .bubbles_filled = conductor_->counters().bubbles_filled,
        .bubbles_filled_ns = static_cast<uint64_t>(conductor_->counters().bubbles_filled_ns),
        .reasons = nodes_->reasons(),
        .planned_prefill_tokens_per_s = nodes_->planned().prefill_tokens_per_s,
        .planned_decode_tokens_per_s = nodes_->planned().decode_tokens_per_s};
    const std::vector<plan::PlanStage> stages = conductor_->plan().AllStages();
    const std::vector<conduct::HopFigures> hops = conductor_->hops();
    for (size_t i = 0; i < hops.size() && i < stages.size(); ++i) {
      figures.hops.push_back({.node = plan::NameOf(stages[i]),
                              .layers = plan::DescribeSlice(stages[i].slice),
                              .layer_begin = stages[i].slice.layer_begin,
                              .layer_end = stages[i].slice.layer_end,
                              .frames = hops[i].frames,
                              .queue_ns = hops[i].queue_ns,
                              .compute_ns = hops[i].compute_ns,
                              .send_ns = hops[i].send_ns,
                              .idle_ns = hops[i].idle_ns,
                              .sent_bytes = hops[i].sent_bytes,
                              .gather_ns = hops[i].gather_ns,
                              .gather_bytes = hops[i].gather_bytes,
                              .gathers = hops[i].gathers,
                              .gather_send_ns = hops[i].gather_send_ns});
    }
    return figures;
  }
  RemoteDraftFigures remote_drafts() const override {
    return drafts_ == nullptr ? RemoteDraftFigures() : FiguresOf(drafts_->remote_counts());
  }
  Status SetDrained(const std::vector<wire::NodeId>& nodes) override {
    TRY(nodes_->SetDrained(nodes));
    const Status replanned =
        conductor_->Replan(Error(Code::kUnavailable, "the drained nodes have changed"));
    if (replanned.ok()) {
      drained_ = nodes;
    } else {
      TRY(nodes_->SetDrained(drained_));
    }
    return replanned;
  }
  std::optional<RouteNow> route_now() const override {
    if (!nodes_->is_cluster()) return std::nullopt;
    return RouteNow{.plan = conductor_->plan(),
                    .paces = conductor_->paces(),
                    .drained = drained_,
                    .usual_requests = UsualRequests(forecasts()),
                    .is_busy = !conductor_->idle(),
                    .opening_ns = conductor_->opening_ns(),
                    .follows = nodes_->plans_by_ability()};
  }
  void Leave(std::span<const wire::NodeId> nodes) override {
    conductor_->Forget(nodes);
    for (const wire::NodeId& node : nodes) nodes_->Disconnect(node);
  }
  Status Rebalance(const NodePool& seen, NodeShares shares,
                   std::vector<ExpectedRequest> usual_requests, const std::string& why) override {
    nodes_->SeeAs(seen);
    nodes_->SetShares(std::move(shares));
    nodes_->SetUsualRequests(std::move(usual_requests));
    TRY(conductor_->Replan(Error(Code::kUnavailable, why)));
    if (!conductor_->idle()) return Ok();
    // The next request finds the route ready, or being opened.
    const int64_t deadline_ns = nodes_->network().clock().NowNs() + kOpenAheadNs;
    const Status opened =
        conductor_->Open(nullptr, [&] { return nodes_->network().clock().NowNs() >= deadline_ns; });
    return !opened.ok() && opened.error().code() == Code::kCancelled ? Ok() : opened;
  }
  Result<std::optional<std::string>> PrepareTurn(const ExpectedRequest& turn) override {
    if (!nodes_->plans_by_ability() || !conductor_->idle()) return std::optional<std::string>();
    const double opened_s = static_cast<double>(conductor_->opening_ns()) / kNsPerSecond;
    opening_s_ = std::max(opening_s_, opened_s);
    return nodes_->PrepareTurn(turn, *conductor_, opening_s_);
  }
  Result<PlanWatchPool> MakePlanWatchPool() const override {
    PlanWatchPool watch_pool{.pool = TRY(nodes_->AnotherPool()), .wanted = nodes_->Wanted()};
    watch_pool.wanted.replaces = true;
    watch_pool.wanted.requests.clear();  // each look has its own
    return watch_pool;
  }
  Status Save() override { return nodes_->SaveTrace(); }

 private:
  std::vector<wire::NodeId> drained_;
  double opening_s_ = 0;  // the longest of earlier routes: with weights to be loaded
  std::unique_ptr<NodeSession> nodes_;
  std::unique_ptr<Drafts> drafts_;  // null: none
  std::unique_ptr<conduct::Conductor> conductor_;
};

}  // namespace

Status OpenedModel::SetDrained(const std::vector<wire::NodeId>& /*nodes*/) {
  return FailedPrecondition("the model is on no cluster");
}

Status OpenedModel::Rebalance(const NodePool& /*seen*/, NodeShares /*shares*/,
                              std::vector<ExpectedRequest> /*usual_requests*/,
                              const std::string& /*why*/) {
  return FailedPrecondition("the model is on no cluster");
}

Result<PlanWatchPool> OpenedModel::MakePlanWatchPool() const {
  return FailedPrecondition("the model is on no cluster");
}

Result<std::unique_ptr<OpenedModel>> OpenModel(const gguf::ModelFiles& files,
                                               const text::Tokenizer* tokenizer, const Clock& clock,
                                               const OpenOptions& options, Reporter& reporter) {
  std::unique_ptr<Drafts> drafts;
  if (options.draft != nullptr && options.draft->wanted()) {
    drafts = TRY(Drafts::Load(*options.draft, files, *options.model, *options.cluster, reporter));
  }
  const auto drafter = drafts != nullptr ? drafts->drafter() : nullptr;
  // On nodes: plans, and opens a route.
  if (options.cluster->wants_nodes()) {
    if (drafter != nullptr && drafter != files.drafter()) {
      return FailedPrecondition(fmt::format(
          "--draft {}: it reads rows of the model's layers; give it along with the model to the "
          "node that has the last ones, and draft with mtp",
          options.draft->draft));
    }
    auto nodes = TRY(NodeSession::Start(files, *options.model, *options.cluster, reporter));
    const plan::Plan plan = TRY(nodes->Plan());
    engine::ProposerSource* proposers = options.proposers;
    if (drafts != nullptr) {
      proposers = &drafts->For(/*answers=*/nullptr, &nodes->network());
      nodes->SetEventHandler(
          [of = drafts.get()](const net::Event& event) { return of->OnEvent(event); });
    }
    auto conductor = TRY(nodes->Open(plan, tokenizer, options.max_running, options.longest_step_ns,
                                     reporter, proposers));
    return std::unique_ptr<OpenedModel>(
        std::make_unique<OpenedRoute>(std::move(nodes), std::move(drafts), std::move(conductor)));
  }
  // In this process: loads the weights.
  auto kv_cache = TRY(options.model->kv_cache.Open());
  auto model = TRY(LoadModel(files, *options.model, reporter,
                             {.store = kv_cache, .is_kept = options.is_kept, .drafter = drafter}));
  if (drafter != nullptr && model->weights().mtp == nullptr) TRY(model->drafter().In("--draft"));
  return std::unique_ptr<OpenedModel>(std::make_unique<OpenedLocalModel>(
      std::move(model), std::move(drafts), std::move(kv_cache), tokenizer, clock,
      engine::SchedulerOptions{.batch_tokens = options.batch_tokens,
                               .max_running = options.max_running,
                               .longest_step_ns = options.longest_step_ns,
                               .proposers = options.proposers}));
}

}  // namespace aster::open
