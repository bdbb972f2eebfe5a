// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The JSON of cluster_status_view.h, for scripts: plain numbers, unchanged names.

#include <nlohmann/json.hpp>

#include "cli/cluster/cluster_rates.h"
#include "cli/cluster/node_roles.h"

namespace aster::cli {
namespace {

using nlohmann::ordered_json;

ordered_json OrNull(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}
// Null for zero, which means not measured.
ordered_json Measured(double value) {
  return value > 0 ? ordered_json(value) : ordered_json(nullptr);
}

ordered_json SliceJson(const ClusterSample& sample, const ClusterSample* earlier,
                       const node::NodeView& node, const cluster::SliceStatus& slice) {
  const SliceRates rates = RatesOf(sample, earlier, node, slice);
  // Routes have 64 bits, which some JSON readers lose.
  return {{"route", std::to_string(slice.route)},
          {"model", slice.model},
          {"fingerprint", slice.fingerprint.ToHex()},
          {"layer_begin", slice.layers.begin},
          {"layer_end", slice.layers.end},
          {"embedding", slice.embedding},
          {"head", slice.head},
          {"ready", slice.is_ready},
          {"done_bytes", slice.done_bytes},
          {"total_bytes", slice.total_bytes},
          {"weight_bytes", slice.weight_bytes},
          {"kv_held_bytes", slice.kv_held_bytes},
          {"kv_budget_bytes", slice.kv_budget_bytes},
          {"sequences", slice.sequences},
          {"queued_frames", slice.queued_frames},
          {"frames", slice.frames},
          {"tokens", slice.tokens},
          {"queue_ns", slice.queue_ns},
          {"compute_ns", slice.compute_ns},
          {"bytes_out", slice.bytes_out},
          {"gpu_layers", slice.gpu_layers},
          {"tokens_per_s", OrNull(rates.tokens_per_s)},
          {"busy", OrNull(rates.busy)}};
}

ordered_json LinkJson(const ClusterSample& sample, const ClusterSample* earlier,
                      const node::NodeView& node, const cluster::LinkStatus& link) {
  return {{"peer", link.peer.value.ToHex()},
          {"up", link.is_up},
          {"round_trip_ns",
           link.round_trip_ns == 0 ? ordered_json(nullptr) : ordered_json(link.round_trip_ns)},
          {"bytes_per_s", Measured(link.bytes_per_s)},
          {"sent_bytes", link.sent_bytes},
          {"received_bytes", link.received_bytes},
          {"sent_bytes_per_s", OrNull(SentBytesPerSecond(sample, earlier, node, link))}};
}

// What plans can use the node for, with the rates that count: of any model, and of those that it
// has computed lately.
ordered_json RolesJson(const node::NodeView& node) {
  const cluster::Description& description = *node.description;
  const NodeRoles can = RolesOf(node);
  ordered_json roles = ordered_json::array();
  const auto add = [&](const char* role, const char* rate, double value) {
    roles.push_back({{"role", role}, {rate, Measured(value)}});
  };
  if (can.computes) {
    add("prefill", "multiply_flops_per_s", description.multiply_flops_per_s);
    add("decode", "memory_bytes_per_s", description.memory_bytes_per_s);
    // A group's layers are computed by processors.
    add("group", "memory_bytes_per_s", description.memory_bytes_per_s);
  }
  const auto add_work = [&](const char* role, const cluster::WorkRate& rate,
                            const cluster::WorkRate::Times& times) {
    if (times.ns == 0) return;
    roles.push_back({{"role", role},
                     {"model", rate.model},
                     {"fingerprint", rate.fingerprint.ToHex()},
                     {"layer_begin", rate.layers.begin},
                     {"layer_end", rate.layers.end},
                     {"head", rate.head},
                     {"part", rate.part},
                     {"tokens_per_s", times.tokens_per_s()},
                     {"rows", times.rows},
                     {"context", times.context}});
  };
  const bool has_rates = can.computes && node.status;
  for (const cluster::WorkRate& rate :
       has_rates ? node.status->rates : std::vector<cluster::WorkRate>()) {
    add_work("prefill", rate, rate.prefill);
    add_work("decode", rate, rate.decode);
  }
  for (const cluster::HeldModel& model : description.models) {
    const bool fits = model.tensor_bytes <= description.memory_bytes;
    if (can.answers && model.is_whole() && fits)
      roles.push_back({{"role", "ensemble_member"}, {"model", model.name}});
  }
  for (const cluster::DrafterDescription& drafter : description.drafters) {
    if (!can.drafts) break;
    roles.push_back({{"role", "drafter"},
                     {"model", drafter.model},
                     {"tokens_per_s", Measured(drafter.tokens_per_s)}});
  }
  if (can.has_kv_rows) {
    roles.push_back({{"role", "kv_cache"}, {"bytes_limit", node.status->disk_cache->bytes_limit}});
  }
  return roles;
}

ordered_json DescriptionJson(const node::NodeView& node) {
  const cluster::Description& description = *node.description;
  ordered_json models = ordered_json::array();
  for (const cluster::HeldModel& model : description.models) {
    ordered_json layers = ordered_json::array();
    for (const cluster::LayerRange& range : model.layers)
      layers.push_back({range.begin, range.end});
    models.push_back({{"fingerprint", model.fingerprint.ToHex()},
                      {"name", model.name},
                      {"architecture", model.architecture},
                      {"layer_count", model.layer_count},
                      {"layers", layers},
                      {"embedding", model.embedding},
                      {"head", model.head},
                      {"tensor_bytes", model.tensor_bytes}});
  }
  ordered_json devices = ordered_json::array();
  for (const cluster::DeviceDescription& device : description.devices) {
    devices.push_back({{"name", device.name},
                       {"memory_bytes", device.memory_bytes},
                       {"multiply_flops_per_s", Measured(device.multiply_flops_per_s)},
                       {"memory_bytes_per_s", Measured(device.memory_bytes_per_s)},
                       {"bus_round_trip_ns", device.bus_round_trip_ns == 0
                                                 ? ordered_json(nullptr)
                                                 : ordered_json(device.bus_round_trip_ns)},
                       {"bus_bytes_per_s", Measured(device.bus_bytes_per_s)},
                       {"shares_memory", device.shares_memory}});
  }
  ordered_json drafters = ordered_json::array();
  for (const cluster::DrafterDescription& drafter : description.drafters) {
    drafters.push_back({{"model", drafter.model},
                        {"drafter", drafter.drafter},
                        {"vocabulary", drafter.vocabulary.ToHex()},
                        {"tokens_per_s", Measured(drafter.tokens_per_s)}});
  }
  return {{"version", description.version},
          {"protocol",
           description.protocol == 0 ? ordered_json(nullptr) : ordered_json(description.protocol)},
          {"arithmetic", description.arithmetic},
          {"cores", description.core_count},
          {"instruction_set", description.instruction_set},
          {"memory_bytes", description.memory_bytes},
          {"memory_total_bytes", description.memory_total_bytes},
          {"multiply_flops_per_s", Measured(description.multiply_flops_per_s)},
          {"memory_bytes_per_s", Measured(description.memory_bytes_per_s)},
          {"roles", RolesJson(node)},
          {"models", models},
          {"devices", devices},
          {"drafters", drafters}};
}

// Null if the machine has none.
ordered_json BatteryJson(const std::optional<cluster::Battery>& battery) {
  if (!battery) return nullptr;
  return {{"charge", battery->charge}, {"discharges", battery->discharges}};
}

// Null if the node has none.
ordered_json DiskCacheJson(const std::optional<cluster::DiskCacheStatus>& cache) {
  if (!cache) return nullptr;
  return {{"bytes", cache->bytes},
          {"bytes_limit", cache->bytes_limit},
          {"files", cache->files},
          {"loaded_tokens", cache->loaded_tokens},
          {"loaded_bytes", cache->loaded_bytes},
          {"looked_for_pages", cache->looked_for_pages},
          {"found_pages", cache->found_pages}};
}

ordered_json NodeJson(const ClusterSample& sample, const ClusterSample* earlier,
                      const node::NodeView& node) {
  ordered_json json = {{"node", node.member.node.value.ToHex()},
                       {"name", node.description ? node.description->name : node.member.name},
                       {"state", cluster::MemberStateName(node.member.state)},
                       {"answered", node.status.has_value()}};
  if (!node.why.empty()) json["why"] = node.why;
  json["addresses"] = node.member.control_addresses;
  if (node.description) json.update(DescriptionJson(node));
  if (!node.status) return json;
  json["uptime_ms"] = node.status->uptime_ms;
  json["memory_used_bytes"] = node.status->memory_used_bytes;
  json["drained"] = node.status->is_drained;
  json["leaving"] = node.status->leaving;
  json["load"] = node.status->load;
  json["battery"] = BatteryJson(node.status->battery);
  json["slices"] = ordered_json::array();
  for (const cluster::SliceStatus& slice : node.status->slices) {
    json["slices"].push_back(SliceJson(sample, earlier, node, slice));
  }
  json["links"] = ordered_json::array();
  for (const cluster::LinkStatus& link : node.status->links) {
    json["links"].push_back(LinkJson(sample, earlier, node, link));
  }
  json["disk_cache"] = DiskCacheJson(node.status->disk_cache);
  return json;
}

}  // namespace

std::string ClusterStatusJson(const ClusterSample& sample, const ClusterSample* earlier) {
  ordered_json nodes = ordered_json::array();
  for (const node::NodeView& node : sample.nodes) nodes.push_back(NodeJson(sample, earlier, node));
  const ordered_json json = {{"nodes", nodes}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace aster::cli
