// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "base/checked.h"
#include "base/units.h"
#include "engine/gpu_layers.h"
#include "plan/alternatives.h"
#include "plan/group_search.h"
#include "plan/kind_search.h"
#include "plan/known_rates.h"
#include "plan/seen_gathers.h"
#include "plan/split_search.h"

namespace aster::plan {
namespace {

// The logits after the layers, and the tokens' rows before them.
constexpr uint32_t kGathersOfHead = 2;

std::string Seconds(double seconds) {
  return FormatDuration(static_cast<int64_t>(std::min(seconds, 1e9) * 1e9));
}

// A sum that no node's memory can hold stays so: it saturates.
uint64_t SaturatedAdd(uint64_t a, uint64_t b) {
  constexpr uint64_t kMost = uint64_t{1} << 62;
  return std::min(CheckedAdd(a, b).value_or(kMost), kMost);
}

class Planning {
 public:
  Planning(std::span<const NodeAbility> nodes, std::span<const LinkAbility> links,
           const ModelLoad& load, const PlannerOptions& options)
      : nodes_(nodes), links_(links), load_(load), options_(options) {
    problem_.all_nodes = options.all_nodes;
    DescribeModel();
    DescribeNodes();
    DescribeLinks();
  }

  Result<SplitPlan> Run() {
    // The search knows nodes and layers by index only.
    const std::optional<SplitAnswer> fast_prefill = SearchSplit(problem_);
    if (!fast_prefill) return WhyNot();
    DescribeRequest();
    DescribeGroups();
    taken_ = PipelineAnswer(kinds_, *fast_prefill);
    // Kinds are compared only with measured rates.
    std::vector<KindAnswer> answers;
    const bool is_wanted = options_.may_choose || options_.compares;
    if (knows_flops_ && knows_reads_ && is_wanted) answers = SearchKinds(kinds_, *fast_prefill);
    if (options_.all_nodes) {
      std::erase_if(answers, [&](const KindAnswer& of) { return !TakesAll(of, nodes_.size()); });
    }
    if (const auto chosen = ChooseKind(answers); options_.may_choose && chosen)
      taken_ = answers[*chosen];
    SplitPlan split;
    Predict(split);
    Explain(split);
    if (answers.empty()) return split;
    split.alternatives = CompareKinds(kinds_, options_, answers, taken_,
                                      [this](const KindAnswer& answer) { return PlanOf(answer); });
    for (std::string& line : DescribeChoice(split.alternatives, options_))
      split.lines.push_back(std::move(line));
    return split;
  }

  // The predicted times of an existing plan.
  std::optional<SplitPlan> Predict(const Plan& plan) {
    if (!knows_flops_ || !knows_reads_) return std::nullopt;
    DescribeRequest();
    DescribeGroups();
    const auto parts = PartsOf(plan.stages);
    const auto decode = PartsOf(plan.decode);
    if (!parts || !decode) return std::nullopt;
    const std::optional<KindAnswer> answer = AnswerOfPlan(kinds_, *parts, *decode);
    if (!answer) return std::nullopt;
    taken_ = *answer;
    SplitPlan split;
    Predict(split);
    return split;
  }

 private:
  uint32_t layer_count() const { return problem_.layer_count(); }

  void DescribeModel() {
    // Sums over layers, so that a slice's bytes and reads are the difference of two.
    problem_.bytes_before.push_back(0);
    problem_.may_begin = load_.may_begin;
    problem_.reads_before.push_back(0);
    for (const ModelLoad::Layer& layer : load_.layers) {
      const uint64_t bytes = SaturatedAdd(layer.bytes, load_.kv_bytes_per_layer);
      problem_.bytes_before.push_back(SaturatedAdd(problem_.bytes_before.back(), bytes));
      problem_.reads_before.push_back(problem_.reads_before.back() + layer.read_bytes +
                                      load_.kv_read_bytes);
    }
    problem_.embedding_bytes = load_.embedding_bytes;
    // An MTP block reads the embedding, too.
    const bool has_own = load_.mtp_bytes > 0 && !load_.tied_head;
    problem_.head_bytes =
        SaturatedAdd(load_.head_bytes, has_own ? load_.embedding_bytes : uint64_t{0});
    problem_.shared_bytes = load_.tied_head ? std::min(load_.embedding_bytes, load_.head_bytes)
                            : has_own       ? load_.embedding_bytes
                                            : 0;
    problem_.head_reads = static_cast<double>(load_.head_bytes - load_.mtp_bytes);
  }

  void DescribeNodes() {
    // Prefill is bound by arithmetic, decode by memory bandwidth: each node has a rate for both.
    std::vector<double> flops;
    std::vector<double> reads;
    for (const NodeAbility& node : nodes_) {
      flops.push_back(node.multiply_flops_per_s);
      reads.push_back(node.memory_bytes_per_s);
    }
    knows_flops_ = FillUnknown(flops).has_value();
    knows_reads_ = FillUnknown(reads).has_value();
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const double chunk = options_.chunk_tokens;
      problem_.nodes.push_back(
          {.memory_bytes = nodes_[i].memory_bytes,
           .kv_bytes = SaturatedAdd(options_.reserved_bytes, 0),
           .layer_s = chunk * std::max(load_.flops_per_layer, 1.0) / flops[i],
           .head_s = options_.all_logits ? chunk * load_.head_flops / flops[i] : 0,
           .byte_s = 1 / reads[i]});
      DescribeDevices(nodes_[i], problem_.nodes.back());
      group_nodes_.push_back(problem_.nodes.back().InGroup(layer_count()));
      const auto correct = [&](ComputedBy by, SplitProblem::Node& node) {
        return CorrectBy(nodes_[i].measured, load_, options_.chunk_tokens, problem_, by, node);
      };
      kinds_.group_frames.push_back(correct(ComputedBy::kGroup, group_nodes_.back()));
      kinds_.alone_frames.push_back(correct(ComputedBy::kNodeAlone, problem_.nodes.back()));
    }
  }

  // Describes all devices of a node as one: layers go through them one after the other, divided by
  // their memory.
  void DescribeDevices(const NodeAbility& able, SplitProblem::Node& node) {
    const std::vector<uint64_t>& rooms = rooms_.emplace_back(RoomsOf(able));
    double layers = 0, layer_s = 0, byte_s = 0;
    for (size_t i = 0; i < rooms.size(); ++i) {
      if (rooms[i] == 0) continue;
      const DeviceAbility& device = able.devices[i];
      const auto room = static_cast<double>(rooms[i]);
      layers += room;
      const double chunk = options_.chunk_tokens;
      layer_s += room * chunk * std::max(load_.flops_per_layer, 1.0) / device.multiply_flops_per_s;
      byte_s += room / device.memory_bytes_per_s;
      // The bus counts as a link: rows go there and come back.
      const double row_s = device.bus_bytes_per_s > 0
                               ? static_cast<double>(load_.row_bytes) / device.bus_bytes_per_s
                               : 0;
      node.bus_chunk_s += device.bus_round_trip_s + 2 * chunk * row_s;
      node.bus_token_s += device.bus_round_trip_s + 2 * row_s;
      node.device_shares_memory |= device.shares_memory;
    }
    if (layers == 0) return;
    const double most = able.gpu_layers > 0 ? able.gpu_layers : layer_count();
    node.device_layers = static_cast<uint32_t>(std::min(layers, most));
    node.device_layer_s = layer_s / layers;
    node.device_byte_s = byte_s / layers;
  }

  // The number of layers that each device of a node has memory for, besides its reserve, scratch,
  // the head on the last one, and the whole KV cache: if the node's slice is longer, part of the KV
  // cache is in its main memory.
  std::vector<uint64_t> RoomsOf(const NodeAbility& able) const {
    uint64_t layer_bytes = 1;
    for (const ModelLoad::Layer& layer : load_.layers)
      layer_bytes = std::max(layer_bytes, SaturatedAdd(layer.bytes, load_.kv_bytes_per_layer));
    std::vector<uint64_t> free_bytes;
    double sum = 0;
    for (const DeviceAbility& device : able.devices) {
      const bool is_usable = device.multiply_flops_per_s > 0 && device.memory_bytes_per_s > 0;
      const bool is_last = &device == &able.devices.back();
      const uint64_t taken = SaturatedAdd(
          SaturatedAdd(engine::GpuReserveBytes(device.memory_bytes), load_.gpu_scratch_bytes),
          is_last ? load_.head_bytes : 0);
      const uint64_t memory = is_usable ? device.memory_bytes : 0;
      free_bytes.push_back(memory - std::min(memory, taken));
      sum += static_cast<double>(free_bytes.back());
    }
    for (uint64_t& bytes : free_bytes) {
      const double share = sum > 0 ? static_cast<double>(bytes) / sum : 0;
      const double kv = share * static_cast<double>(options_.reserved_bytes);
      bytes -= static_cast<uint64_t>(std::min(kv, static_cast<double>(bytes)));
      bytes /= layer_bytes;
    }
    return free_bytes;
  }

  void DescribeLinks() {
    // Links that were not measured count as free.
    problem_.links.resize(nodes_.size() * nodes_.size());
    for (const LinkAbility& link : links_) {
      if (link.from >= nodes_.size() || link.to >= nodes_.size()) continue;
      const auto row_bytes = static_cast<double>(load_.row_bytes);
      const double row_s = link.bytes_per_s > 0 ? row_bytes / link.bytes_per_s : 0;
      problem_.links[link.from * nodes_.size() + link.to] = {
          .chunk_s = row_s * options_.chunk_tokens,
          .token_s = std::max(link.round_trip_s, 0.0) / 2 + row_s};
    }
  }

  void DescribeRequest();
  void DescribeGroups();

  model::Slice SliceOf(uint32_t begin, uint32_t end) const {
    return {.layer_begin = begin,
            .layer_end = end,
            .embedding = begin == 0,
            .head = end == layer_count()};
  }
  // Nullopt if a node is unknown.
  std::optional<std::vector<KindAnswer::Part>> PartsOf(std::span<const PlanStage> stages) const;
  std::vector<PlanStage> StagesOf(std::span<const KindAnswer::Part> parts) const;
  Plan PlanOf(const KindAnswer& answer) const;

  // Rates are predicted only from measured ones.
  void Predict(SplitPlan& split) const {
    split.plan = PlanOf(taken_);
    for (const auto* const parts : {&taken_.parts, &taken_.decode}) {
      for (const KindAnswer::Part& part : *parts)
        split.stage_times.push_back({part.chunk_s, part.token_s, part.exchange_s});
    }
    if (knows_flops_) split.prefill_tokens_per_s = options_.chunk_tokens / taken_.chunk_s;
    if (knows_reads_) split.decode_tokens_per_s = 1 / taken_.token_s;
    if (knows_flops_) split.first_chunk_s = taken_.first_chunk_s;
    if (!knows_flops_ || !knows_reads_) return;
    split.first_token_s = taken_.first_token_s;
    split.request_s = taken_.request_s;
    split.held_tokens = taken_.held_tokens;
    split.fetch_s = taken_.fetch_s;
  }

  void Explain(SplitPlan& split) const;
  std::string ExplainPart(std::span<const KindAnswer::Part> parts, size_t index) const;
  std::string ExplainDevices(const KindAnswer::Part& part) const;
  std::string ExplainOwners(const KindAnswer::Part& part) const;
  std::string WhyLeftOut(size_t node) const;
  std::string RoomOf(size_t node) const;
  std::string Advice(uint64_t missing) const;
  std::optional<uint64_t> ReserveThatFits() const;
  Error WhyNot() const;

  const std::span<const NodeAbility> nodes_;
  const std::span<const LinkAbility> links_;
  const ModelLoad& load_;
  const PlannerOptions options_;
  SplitProblem problem_;
  std::vector<SplitProblem::Node> group_nodes_;  // by their times in groups
  KindProblem kinds_;
  std::vector<std::vector<uint64_t>> rooms_;  // [nodes][devices]: layers that fit
  KindAnswer taken_;
  bool knows_flops_ = false;
  bool knows_reads_ = false;
};

// A pipeline can be planned without measured links; a group cannot.
void Planning::DescribeGroups() {
  const ModelLoad::Together& together = load_.together;
  // The leader also has the MTP block with a whole head; any node may lead.
  const uint64_t mtp_bytes = load_.mtp_bytes > 0 ? load_.head_bytes : 0;
  const auto problem_of = [&](uint32_t layers, bool has_head) {
    const double part = static_cast<double>(layers) / layer_count();
    const auto bytes_of = [&](uint64_t all) {
      return static_cast<uint64_t>(part * static_cast<double>(all));
    };
    const auto gathers_of = [&](double each) {
      return static_cast<uint32_t>(std::lround(each * layers)) + (has_head ? kGathersOfHead : 0);
    };
    GroupProblem problem{
        .heads = options_.exact_transfers ? together.heads : 0,
        .whole = together.whole,
        .by_heads = together.by_heads,
        .bytes = SaturatedAdd(bytes_of(problem_.bytes_before.back() - together.whole_bytes),
                              has_head ? load_.head_bytes - load_.mtp_bytes : 0),
        .whole_bytes = SaturatedAdd(
            bytes_of(together.whole_bytes),
            has_head ? SaturatedAdd(SaturatedAdd(load_.embedding_bytes, options_.reserved_bytes),
                                    mtp_bytes)
                     : 0),
        .layer_reads = part * problem_.reads_before.back(),
        .head_reads = has_head ? problem_.head_reads : 0,
        .gathers = gathers_of(together.gathers),
        .gathered_bytes = together.gathered_bytes * layers + (has_head ? together.logit_bytes : 0),
        .chunk_tokens = options_.chunk_tokens,
        .memory = together.memory.is_known() && has_head ? &together.memory : nullptr,
        .reserved_bytes = has_head ? options_.reserved_bytes : 0};
    const ModelLoad::Together::Experts& experts = together.experts;
    problem.experts = {
        .count = experts.count,
        .used = experts.used,
        .has_shared = experts.has_shared,
        .reads = experts.reads,
        .bytes = bytes_of(experts.bytes),
        .shared_bytes = bytes_of(experts.shared_bytes),
        .gathers = gathers_of(experts.gathers),
        .gathered_bytes = experts.gathered_bytes * layers + (has_head ? together.logit_bytes : 0),
        .sum_bytes = experts.sum_bytes * layers};
    for (size_t i = 0; i < group_nodes_.size(); ++i) {
      const SplitProblem::Node& node = group_nodes_[i];
      problem.nodes.push_back({.memory_bytes = node.memory_bytes,
                               .token_byte_s = node.byte_s,
                               .chunk_s = node.layer_s * layers + (has_head ? node.head_s : 0),
                               .may_own_experts = nodes_[i].may_own_experts,
                               .may_divide = nodes_[i].may_divide_new || !together.is_new});
    }
    // Links that were not measured may be slow.
    problem.links.resize(problem_.links.size());
    for (const LinkAbility& link : links_) {
      if (link.from >= nodes_.size() || link.to >= nodes_.size() || link.bytes_per_s <= 0) continue;
      // Columns are copied from and to the devices.
      problem.links[link.from * nodes_.size() + link.to] = {
          .message_s = link.round_trip_s / 2 + group_nodes_[link.from].bus_token_s,
          .byte_s = 1 / link.bytes_per_s};
    }
    return problem;
  };
  kinds_.group = problem_of(layer_count(), /*has_head=*/true);
  if (const auto seen = FindGathers(nodes_, layer_count())) CorrectGathers(*seen, kinds_.group);
  kinds_.layer = problem_of(1, /*has_head=*/false);
  kinds_.layer.seen_links = kinds_.group.seen_links;
  kinds_.logits_bytes = static_cast<double>(together.logit_bytes);
}

void Planning::DescribeRequest() {
  kinds_.split = problem_;
  kinds_.longest_frame_s = options_.longest_frame_s;
  kinds_.prompt_tokens = options_.prompt_tokens;
  kinds_.answer_tokens = options_.answer_tokens;
  kinds_.kv_row_bytes = options_.exact_transfers ? load_.kv_row_bytes : 0;
  for (const HeldRows& held : options_.held) {
    const auto parts = PartsOf(std::span(&held.stage, 1));
    if (parts && kinds_.kv_row_bytes > 0)
      kinds_.held.push_back({.by = parts->front(), .tokens = held.tokens});
  }
}

std::optional<std::vector<KindAnswer::Part>> Planning::PartsOf(
    std::span<const PlanStage> stages) const {
  std::vector<KindAnswer::Part> parts;
  const auto add = [&](const PlanNode& of, KindAnswer::Part& part) {
    const auto found =
        std::ranges::find(nodes_, of.id, [](const NodeAbility& able) { return able.node.id; });
    if (found != nodes_.end()) part.nodes.push_back(static_cast<size_t>(found - nodes_.begin()));
    return found != nodes_.end();
  };
  for (const PlanStage& stage : stages) {
    KindAnswer::Part& part = parts.emplace_back();
    part.shares = stage.shares;
    part.form = {.owns_experts = stage.owns_experts, .replicas = stage.replicas};
    part.begin = stage.slice.layer_begin;
    part.end = stage.slice.layer_end;
    if (!add(stage.node, part)) return std::nullopt;
    for (const PlanNode& member : stage.members) {
      if (!add(member, part)) return std::nullopt;
    }
  }
  return parts;
}

std::vector<PlanStage> Planning::StagesOf(std::span<const KindAnswer::Part> parts) const {
  std::vector<PlanStage> stages;
  for (const KindAnswer::Part& part : parts) {
    PlanStage& stage = stages.emplace_back(PlanStage{.node = nodes_[part.nodes.front()].node,
                                                     .slice = SliceOf(part.begin, part.end),
                                                     .shares = part.shares,
                                                     .owns_experts = part.form.owns_experts,
                                                     .replicas = part.form.replicas});
    for (const size_t node : std::span(part.nodes).subspan(1))
      stage.members.push_back(nodes_[node].node);
  }
  return stages;
}

Plan Planning::PlanOf(const KindAnswer& answer) const {
  return {.stages = StagesOf(answer.parts), .decode = StagesOf(answer.decode)};
}

std::string Planning::ExplainPart(std::span<const KindAnswer::Part> parts, size_t index) const {
  const KindAnswer::Part& part = parts[index];
  const PlanStage stage = StagesOf(parts.subspan(index, 1)).front();
  std::string line = fmt::format("{}: {}{}", NameOf(stage), DescribeSlice(stage.slice),
                                 stage.is_group() ? " together" : "");
  const bool has_devices = problem_.nodes[part.nodes.front()].OnDevice(part.end - part.begin) > 0;
  if (has_devices && !stage.is_group()) line += ExplainDevices(part);
  if (knows_flops_)
    line += fmt::format(", {} a chunk of {} tokens", Seconds(part.chunk_s), options_.chunk_tokens);
  if (knows_reads_) line += fmt::format(", {} a token", Seconds(part.token_s));
  if (stage.is_group())
    line += fmt::format(", of which {} are what they send each other", Seconds(part.exchange_s));
  if (stage.owns_experts) line += ExplainOwners(part);
  if (index + 1 < parts.size()) {
    const size_t next = parts[index + 1].nodes.front();
    const SplitProblem::Link& link = problem_.link(part.nodes.front(), next);
    if (link.token_s > 0) {
      line += fmt::format("; to {}: {} a chunk, {} a token", nodes_[next].node.name,
                          Seconds(link.chunk_s), Seconds(link.token_s));
    }
  }
  return line;
}

// Which of its layers are on which device, and why no more are.
std::string Planning::ExplainDevices(const KindAnswer::Part& part) const {
  const size_t node = part.nodes.front();
  const NodeAbility& able = nodes_[node];
  const uint32_t count = part.end - part.begin;
  const uint32_t there = problem_.nodes[node].OnDevice(count);
  const std::vector<uint32_t> shares = engine::ShareOut(there, rooms_[node]);
  std::vector<std::string> places;
  uint32_t begin = part.end - there;
  for (size_t i = 0; i < shares.size(); ++i) {
    if (shares[i] == 0) continue;
    const uint32_t end = begin + shares[i];
    const model::Slice own{
        .layer_begin = begin, .layer_end = end, .embedding = false, .head = end == layer_count()};
    places.push_back(fmt::format("{} on {}", DescribeSlice(own), able.devices[i].name));
    begin = end;
  }
  const std::string why = there == count             ? "all of them fit there"
                          : there == able.gpu_layers ? "as many as --gpu-layers allows"
                                                     : "as many as fit there";
  return fmt::format(" ({}: {})", fmt::join(places, ", "), why);
}

// Why each node has experts of its own, and not rows of all.
std::string Planning::ExplainOwners(const KindAnswer::Part& part) const {
  std::string text = "; each has experts of its own";
  if (part.form.replicas > 0)
    text += fmt::format(" and {} of each layer that all have", part.form.replicas);
  const auto rows = GroupWith(kinds_.group, part.nodes, part.shares);
  const bool is_whole = part.begin == 0 && part.end == layer_count();
  if (!rows || !is_whole) return text;
  return fmt::format("{}: with rows of every expert on each it would be {} and {}", text,
                     Seconds(rows->chunk_s), Seconds(rows->token_s));
}

std::string Planning::WhyLeftOut(size_t node) const {
  const std::string& name = nodes_[node].node.name;
  uint64_t least = std::numeric_limits<uint64_t>::max();
  for (uint32_t i = 0; i < layer_count(); ++i) {
    least = std::min(least, problem_.bytes_before[i + 1] - problem_.bytes_before[i]);
  }
  const SplitProblem::Node& able = problem_.nodes[node];
  const uint64_t left = able.memory_bytes - std::min(able.memory_bytes, able.kv_bytes);
  if (able.device_layers == 0 && left < least) {
    return fmt::format("{} is left out: a layer takes {} with its KV cache, and {} are free", name,
                       FormatBytes(least), RoomOf(node));
  }
  if (taken_.parts.size() == layer_count()) {
    return fmt::format("{} is left out: there are only {} layers", name, layer_count());
  }
  return fmt::format("{} is left out: with it nothing would be {}", name,
                     options_.may_choose ? "answered much sooner" : "faster");
}

void Planning::Explain(SplitPlan& split) const {
  // Each stage with its times, then each node without layers and why.
  for (size_t i = 0; i < taken_.parts.size(); ++i)
    split.lines.push_back(ExplainPart(taken_.parts, i));
  for (size_t i = 0; i < taken_.decode.size(); ++i)
    split.lines.push_back("then " + ExplainPart(taken_.decode, i));
  std::vector<std::string> unknown;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const auto has = [&](const KindAnswer::Part& part) {
      return std::ranges::count(part.nodes, i) > 0;
    };
    const bool takes_part =
        std::ranges::any_of(taken_.parts, has) || std::ranges::any_of(taken_.decode, has);
    if (!takes_part) split.lines.push_back(WhyLeftOut(i));
    const NodeAbility& node = nodes_[i];
    const bool is_known = node.multiply_flops_per_s > 0 && node.memory_bytes_per_s > 0;
    if (takes_part && !is_known) unknown.push_back(node.node.name);
  }
  if (!unknown.empty()) {
    split.lines.push_back(
        fmt::format("the speed of {} is unknown and assumed to be {}", fmt::join(unknown, ", "),
                    knows_flops_ || knows_reads_ ? "the others' median" : "equal"));
  }
  // With a large vocabulary the head weighs more than a layer, which an even split ignores.
  const double layer_reads = problem_.reads_before.back() / layer_count();
  if (layer_reads > 0) {
    split.lines.push_back(fmt::format(
        "for a new token the head costs as much as {:.1f} layers{}",
        problem_.head_reads / layer_reads,
        options_.all_logits ? "" : "; of a prompt only the last token goes through it"));
  }
  if (!knows_flops_ && !knows_reads_) return;
  std::vector<std::string> rates;
  if (knows_flops_) {
    rates.push_back("prefill " + FormatRate(split.prefill_tokens_per_s, "tokens"));
  }
  if (knows_reads_) rates.push_back("decode " + FormatRate(split.decode_tokens_per_s, "tokens"));
  split.lines.push_back(
      fmt::format("predicted at {} tokens: {}", load_.context, fmt::join(rates, ", ")));
}

std::string Planning::RoomOf(size_t node) const {
  std::string bytes = FormatBytes(nodes_[node].memory_bytes);
  for (const DeviceAbility& device : nodes_[node].devices) {
    if (device.shares_memory) continue;
    bytes += fmt::format(" and {} on {}", FormatBytes(device.memory_bytes), device.name);
  }
  if (options_.reserved_bytes == 0) return bytes;
  return fmt::format("{}, of which {} are for the KV cache", bytes,
                     FormatBytes(options_.reserved_bytes));
}

// A power of two of MiB with which the model fits; nullopt if the weights alone are too large.
std::optional<uint64_t> Planning::ReserveThatFits() const {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  PlannerOptions less = options_;
  for (uint64_t bytes = std::bit_floor(options_.reserved_bytes); bytes >= kMiB; bytes /= 2) {
    if (bytes == options_.reserved_bytes) continue;
    less.reserved_bytes = bytes;
    if (SearchSplit(Planning(nodes_, {}, load_, less).problem_)) return bytes;
  }
  return std::nullopt;
}

std::string Planning::Advice(uint64_t missing) const {
  if (const std::optional<uint64_t> bytes = ReserveThatFits()) {
    return fmt::format("--kv-memory {}MiB would do", *bytes >> 20);
  }
  if (missing == 0) return "some memory more on any of them would do";
  return fmt::format("another {} would do: add a node, or allow a shorter context",
                     FormatBytes(SaturatedAdd(missing, load_.head_bytes)));
}

Error Planning::WhyNot() const {
  std::vector<std::string> rooms;
  // The layers that each node could hold, one node after the other, until all are held.
  uint32_t covered = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    // Assumes that the nodes before hold the earlier layers.
    const uint32_t fit = LayersThatFit(problem_, i, std::min(covered, layer_count() - 1));
    covered = std::min(covered + fit, layer_count());
    rooms.push_back(fmt::format("{} has {} ({} layers)", nodes_[i].node.name, RoomOf(i), fit));
  }
  const uint64_t total =
      SaturatedAdd(problem_.bytes_before.back(), load_.embedding_bytes + load_.head_bytes);
  std::string whole = fmt::format("the model takes {}, {} a layer", FormatBytes(total),
                                  FormatBytes(problem_.bytes_before.back() / layer_count()));
  if (load_.kv_bytes_per_layer > 0) {
    whole += fmt::format(" with {} of KV cache", FormatBytes(load_.kv_bytes_per_layer));
  }
  if (options_.all_nodes && nodes_.size() > layer_count()) {
    return InvalidArgument(fmt::format("{} nodes cannot share {} layers: give fewer nodes",
                                       nodes_.size(), layer_count()));
  }
  // Names a node that cannot hold one layer.
  if (options_.all_nodes) {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const uint32_t middle = layer_count() > 1 ? 1 : 0;
      if (LayersThatFit(problem_, i, middle) > 0 || layer_count() == 1) continue;
      return ResourceExhausted(
          fmt::format("not one layer fits into the memory of {} ({}): leave it out, or give it "
                      "more memory",
                      nodes_[i].node.name, RoomOf(i)));
    }
  }
  const uint64_t missing = problem_.bytes_before.back() - problem_.bytes_before[covered];
  return ResourceExhausted(fmt::format("{}, and that does not fit: {}; {}", whole,
                                       fmt::join(rooms, ", "), Advice(missing)));
}

}  // namespace

Result<SplitPlan> PlanSplit(std::span<const NodeAbility> nodes, std::span<const LinkAbility> links,
                            const ModelLoad& load, const PlannerOptions& options) {
  if (nodes.empty()) return InvalidArgument("there is no node to plan for: start one");
  if (load.layers.empty()) return InvalidArgument("a model without layers cannot be split");
  if (options.chunk_tokens == 0) return InvalidArgument("chunks of no tokens cannot be planned");
  return Planning(nodes, links, load, options).Run();
}

std::optional<SplitPlan> PredictPlan(std::span<const NodeAbility> nodes,
                                     std::span<const LinkAbility> links, const ModelLoad& load,
                                     const PlannerOptions& options, const Plan& plan) {
  const auto layer_count = static_cast<uint32_t>(load.layers.size());
  if (nodes.empty() || !CheckPlan(plan, layer_count).ok() || options.chunk_tokens == 0)
    return std::nullopt;
  return Planning(nodes, links, load, options).Predict(plan);
}

}  // namespace aster::plan
