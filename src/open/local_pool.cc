// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/local_pool.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/thread_pool.h"
#include "engine/machine_speed.h"
#include "kernels/isa_choice.h"
#include "open/local_nodes.h"
#include "stage/file_slice_source.h"
#include "stage/layer_meter.h"

namespace aster::open {
namespace {

// The round trip of an encrypted message between processes.
constexpr double kLoopbackRoundTripS = 50e-6;
constexpr double kLoopbackBytesPerS = 1e9;

plan::MeasuredSlice ToMeasuredSlice(const stage::WorkRate& rate) {
  const auto times = [](const stage::WorkRate::Times& from) -> plan::MeasuredSlice::Times {
    return {.seconds = from.seconds,
            .rows = from.rows,
            .context = from.context,
            .waited_s = from.waited_s};
  };
  return {.begin = rate.slice.layer_begin,
          .end = rate.slice.layer_end,
          .head = rate.slice.head,
          .part = rate.slice.part.share(),
          .token = times(rate.token),
          .chunk = times(rate.chunk)};
}

bool IsWorthMeasuring(const ModelOptions& model, const ClusterOptions& cluster,
                      const WantedSlices& wanted) {
  // A single node needs no plan, and GPUs have other rates.
  if (cluster.local_nodes < 2 || model.gpu_layers != "0" || wanted.files == nullptr) return false;
  if (cluster.split != "auto") return false;
  uint64_t bytes = 0;
  for (const auto& entry : wanted.files->entries()) bytes += entry.tensor->data.size();
  return bytes >= stage::kLeastMeasuredBytes;
}

// The rates of a node with `threads` threads, without its name.
Result<plan::NodeAbility> MeasureNode(size_t threads, const WantedSlices& wanted) {
  const SystemClock clock;
  plan::NodeAbility able;
  {
    ThreadPool pool(threads);
    const engine::MachineSpeed speed =
        TRY(engine::MeasureSpeed(pool, TRY(kernels::IsaFromEnvironment()), clock));
    able.multiply_flops_per_s = speed.multiply_flops_per_s;
    able.memory_bytes_per_s = speed.memory_bytes_per_s;
  }
  const std::vector<stage::WorkRate> rates =
      TRY(stage::MeasureLayers(wanted.fingerprint, *wanted.files, threads, clock));
  for (const stage::WorkRate& rate : rates) able.measured.push_back(ToMeasuredSlice(rate));
  return able;
}

class LocalPool final : public NodePool {
 public:
  // All nodes have the rates of `able`.
  LocalPool(LocalNodes nodes, const plan::NodeAbility& able,
            const std::optional<net::LinkOptions>& link)
      : local_(std::move(nodes)), link_(link) {
    const uint64_t share = static_cast<uint64_t>(static_cast<double>(DetectMemory().total_bytes) *
                                                 stage::kDefaultMemoryShare) /
                           local_.nodes().size();
    for (const plan::PlanNode& node : local_.nodes()) {
      nodes_.push_back(able);
      nodes_.back().node = node;
      nodes_.back().memory_bytes = share;
    }
    links_ = LocalLinks(nodes_.size(), link_);
  }

  bool wants_all() const override { return true; }
  net::Credentials Credentials() const override { return local_.credentials(); }
  Status Kill(const wire::NodeId& node) override { return local_.Kill(node); }
  std::vector<std::string> KvCacheLines() override { return local_.KvCacheLines(); }
  Status Refresh(std::span<const wire::NodeId> lost, const Status& /*why*/) override {
    std::erase_if(nodes_, [&](const plan::NodeAbility& able) {
      return std::ranges::count(lost, able.node.id) > 0;
    });
    links_ = LocalLinks(nodes_.size(), link_);
    return Ok();
  }

 private:
  LocalNodes local_;
  const std::optional<net::LinkOptions> link_;
};

}  // namespace

std::vector<plan::LinkAbility> LocalLinks(size_t nodes,
                                          const std::optional<net::LinkOptions>& link) {
  plan::LinkAbility way{.round_trip_s = kLoopbackRoundTripS, .bytes_per_s = kLoopbackBytesPerS};
  if (link) {
    way.round_trip_s += 2 * static_cast<double>(link->delay_ns) / kNsPerSecond;
    if (link->rate_bytes_per_s > 0)
      way.bytes_per_s = std::min(way.bytes_per_s, static_cast<double>(link->rate_bytes_per_s));
  }
  std::vector<plan::LinkAbility> links;
  for (way.from = 0; way.from < nodes; ++way.from) {
    for (way.to = 0; way.to < nodes; ++way.to) {
      if (way.from != way.to) links.push_back(way);
    }
  }
  return links;
}

Result<std::unique_ptr<NodePool>> StartLocalPool(const ModelOptions& model,
                                                 const ClusterOptions& cluster,
                                                 const WantedSlices& wanted) {
  // All nodes together have as many threads as there are cores.
  const size_t threads = model.threads > 0
                             ? model.threads
                             : std::max<size_t>(1, UsableCpuCount() / cluster.local_nodes);
  LocalNodesOptions options{
      .count = cluster.local_nodes, .node_arguments = model.paths, .pinned = cluster.pinned};
  options.node_arguments.insert(options.node_arguments.end(),
                                {"--threads", std::to_string(threads)});
  if (model.kv_now) options.node_arguments.emplace_back("--kv-now");
  if (model.gpu_layers != "0")
    options.node_arguments.insert(options.node_arguments.end(), {"--gpu-layers", model.gpu_layers});
  const std::vector<std::string> kv_cache = model.kv_cache.Arguments();
  options.node_arguments.insert(options.node_arguments.end(), kv_cache.begin(), kv_cache.end());
  if (!cluster.link.empty()) options.link = TRY(ParseLink(cluster.link).In("--link"));
  plan::NodeAbility able;
  if (IsWorthMeasuring(model, cluster, wanted)) {
    auto measured = MeasureNode(threads, wanted);
    if (measured.ok()) {
      able = *std::move(measured);
    } else {
      log::Warn("the plan does not know how fast nodes are", {{"why", measured.error().message()}});
    }
  }
  LocalNodes nodes = TRY(LocalNodes::Start(options));
  return std::unique_ptr<NodePool>(
      std::make_unique<LocalPool>(std::move(nodes), able, options.link));
}

}  // namespace aster::open
