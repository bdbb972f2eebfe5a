// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The server's own state: whether it runs, its figures, and the nodes of its cluster.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "serve/service.h"

namespace aster::serve {

using nlohmann::ordered_json;

std::vector<ModelFigures> Service::Figures() const {
  std::vector<ModelFigures> all;
  for (const ServedModel& model : options_.models) {
    const AnswerLoopState state = StateOf(model.context);
    const Metrics& metrics = *model.context.metrics;
    all.push_back({.model = model.context.name,
                   .queued = state.queued,
                   .running = state.running,
                   .totals = metrics.totals(),
                   .first_token = metrics.first_token(),
                   .next_token = metrics.next_token(),
                   .prompt_rate = metrics.prompt_rate(),
                   .answer_rate = metrics.answer_rate(),
                   .hops = metrics.hops(),
                   .remote_drafts = metrics.remote_drafts(),
                   .memory = metrics.memory()});
  }
  return all;
}

void Service::Health(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  SendJson(request, *stream, 200, {{"status", "ok"}});
}

void Service::Ready(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  bool has_failed = false;
  bool is_ending = false;
  for (const ServedModel& model : options_.models) {
    const AnswerLoopState state = StateOf(model.context);
    has_failed |= state.has_failed;
    is_ending |= state.is_ending;
  }
  const char* const status = has_failed ? "failed" : is_ending ? "shutting down" : "ready";
  SendJson(request, *stream, has_failed || is_ending ? 503 : 200, {{"status", status}});
}

void Service::Prometheus(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  stream->Send(200, "text/plain; version=0.0.4; charset=utf-8",
               ToPrometheus(requests_.all(), connections_(), Figures()));
  requests_.Count(request.path, 200);
}

namespace {

// Null if unknown.
ordered_json KnownJson(uint64_t value, uint64_t limit) {
  return limit == 0 ? ordered_json() : ordered_json(value);
}

ordered_json KvJson(const open::MemoryFigures& kv) {
  return {{"bytes", KnownJson(kv.held_bytes, kv.limit_bytes)},
          {"cached_bytes", KnownJson(kv.cached_bytes, kv.limit_bytes)},
          {"bytes_limit", KnownJson(kv.limit_bytes, kv.limit_bytes)},
          {"tokens_limit", KnownJson(kv.limit_tokens, kv.limit_tokens)}};
}

// Null if there is none, or if nodes have it.
ordered_json DiskJson(const open::DiskFigures& disk) {
  if (disk.limit_bytes == 0) return nullptr;
  return {{"bytes", disk.bytes},
          {"bytes_limit", disk.limit_bytes},
          {"files", disk.files},
          {"loaded_tokens", disk.loaded_tokens},
          {"loaded_bytes", disk.loaded_bytes},
          {"looked_for_pages", disk.looked_for},
          {"found_pages", disk.found}};
}

ordered_json KvTransfersJson(const open::HopsFigures& hops) {
  return {{"prompts", hops.transferred_prompts},
          {"bytes", hops.transferred_bytes},
          {"exposed_ns", hops.exposed_ns}};
}

ordered_json DraftFramesJson(const open::HopsFigures& hops) {
  return {{"ahead", hops.frames_ahead},
          {"cancelled", hops.frames_ahead_cancelled},
          {"bubbles_filled", hops.bubbles_filled},
          {"bubbles_filled_ns", hops.bubbles_filled_ns}};
}

ordered_json RemoteDraftsJson(const open::RemoteDraftFigures& drafts) {
  return {{"drafters", drafts.drafters},
          {"proposed", drafts.proposed},
          {"accepted", drafts.accepted},
          {"cancelled", drafts.cancelled}};
}

ordered_json QuantilesJson(const Histogram& histogram) {
  if (histogram.count() == 0) return nullptr;
  return {{"p50_at_most", histogram.Quantile(0.5)},
          {"p99_at_most", histogram.Quantile(0.99)},
          {"mean", histogram.mean()}};
}

ordered_json TotalsJson(const Totals& totals) {
  return {{"answers", totals.answers},
          {"prompt_tokens", totals.prompt_tokens},
          {"cached_tokens", totals.cached_tokens},
          {"answer_tokens", totals.answer_tokens},
          {"drafted_tokens", totals.drafted_tokens},
          {"accepted_tokens", totals.accepted_tokens},
          {"abandoned", totals.abandoned},
          {"failed", totals.failed}};
}

// Null if no plan has predictions.
ordered_json PlannedJson(const open::HopsFigures& hops) {
  if (hops.planned_decode_tokens_per_s <= 0) return nullptr;
  return {{"prefill_tokens_per_s", hops.planned_prefill_tokens_per_s},
          {"decode_tokens_per_s", hops.planned_decode_tokens_per_s}};
}

ordered_json HopsJson(const open::HopsFigures& figures) {
  ordered_json hops = ordered_json::array();
  for (const open::HopFigures& hop : figures.hops) {
    hops.push_back({{"node", hop.node},
                    {"layers", hop.layers},
                    {"layer_begin", hop.layer_begin},
                    {"layer_end", hop.layer_end},
                    {"frames", hop.frames},
                    {"queue_ns", hop.queue_ns},
                    {"compute_ns", hop.compute_ns},
                    {"send_ns", hop.send_ns},
                    {"idle_ns", hop.idle_ns},
                    {"sent_bytes", hop.sent_bytes},
                    {"gather_ns", hop.gather_ns},
                    {"gather_bytes", hop.gather_bytes},
                    {"gathers", hop.gathers},
                    {"gather_send_ns", hop.gather_send_ns}});
  }
  return hops;
}

// What may be changed of the cluster through this server; null without a cluster.
ordered_json ClusterJson(const ServiceOptions& options) {
  if (options.changes == nullptr) return nullptr;
  return {{"takes_changes", !options.admin_keys.empty()}, {"drained", options.changes->Drained()}};
}

}  // namespace

void Service::ShowStatus(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  const std::vector<ModelFigures> figures = Figures();
  uint64_t queued = 0;
  uint64_t running = 0;
  Totals totals;
  ordered_json models = ordered_json::array();
  for (size_t i = 0; i < figures.size(); ++i) {
    const ModelFigures& model = figures[i];
    queued += model.queued;
    running += model.running;
    totals += model.totals;
    ordered_json json = ModelJson(options_.models[i]);
    json["sampled_tokens"] = model.first_token.count() + model.next_token.count();
    json["now"] = {{"queued", model.queued}, {"running", model.running}};
    json["since_start"] = TotalsJson(model.totals);
    json["first_token_seconds"] = QuantilesJson(model.first_token);
    json["next_token_seconds"] = QuantilesJson(model.next_token);
    json["prompt_tokens_per_second"] = QuantilesJson(model.prompt_rate);
    json["answer_tokens_per_second"] = QuantilesJson(model.answer_rate);
    json["weight_bytes"] = KnownJson(model.memory.weight_bytes, model.memory.weight_bytes);
    json["kv"] = KvJson(model.memory);
    json["kv_transfers"] = KvTransfersJson(model.hops);
    json["handed_over"] = json["kv_transfers"];  // an earlier name, which scripts may use
    json["remote_drafts"] = RemoteDraftsJson(model.remote_drafts);
    json["hops"] = HopsJson(model.hops);
    json["draft_frames"] = DraftFramesJson(model.hops);
    json["replans"] = model.hops.replans;
    json["planned"] = PlannedJson(model.hops);
    json["plan_reasons"] = model.hops.reasons;
    json["disk_cache"] = DiskJson(model.memory.disk);
    models.push_back(std::move(json));
  }
  SendJson(request, *stream, 200,
           {{"version", options_.version},
            {"now", {{"queued", queued}, {"running", running}, {"connections", connections_()}}},
            {"since_start", TotalsJson(totals)},
            {"models", std::move(models)},
            {"cluster", ClusterJson(options_)}});
}

void Service::ShowCluster(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  const std::string cluster = options_.cluster ? options_.cluster() : "{\"nodes\": []}\n";
  stream->Send(200, "application/json", cluster);
  requests_.Count(request.path, 200);
}

}  // namespace aster::serve
