// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/kind_search.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <set>
#include <utility>

#include "base/function_ref.h"
#include "model/parts/group_part.h"
#include "plan/kind_memory.h"
#include "plan/row_transfer.h"

namespace aster::plan {
namespace {

using Part = KindAnswer::Part;

constexpr double kAlmostBest = 0.9;
// Up to this number of nodes all divisions into groups are tried; with more, those of the fastest.
constexpr size_t kMixedNodes = 5;
// The number of decode paths of each kind that are tried with the prefill pipeline.
constexpr size_t kDecodePaths = 3;
// How much slower than the best one a pipeline's slowest stage may be, for a faster token.
constexpr double kSlacks[] = {1, 1.25, 1.5, 2, 3};

// A node, or a group that is a stage of a pipeline like a node.
struct Unit {
  std::vector<size_t> nodes;
  std::vector<uint32_t> shares = {};
  GroupForm form = {};
  double layer_exchange_s = 0;  // per token
  double other_exchange_s = 0;
  double layer_chunk_exchange_s = 0;

  bool is_group() const { return nodes.size() > 1; }
};

// Stages that are units. The parts here are those of units.
struct Staged {
  std::vector<Unit> units;
  SplitProblem problem;  // with a node for each unit
};

// Cuts prompts as conduct/frame_schedule.h does: frames of a chunk, or shorter if a stage would
// take too long; at the end of a prompt with several stages, frames of half a chunk.
class PromptFrames {
 public:
  PromptFrames(const KindProblem& problem, const KindAnswer& path, uint32_t tokens)
      : left_(tokens),
        full_(problem.group.chunk_tokens),
        last_(std::max(full_ / 2, 1u)),
        stages_(path.parts.size()) {
    if (problem.longest_frame_s <= 0) return;
    const double row_s = path.chunk_s / full_;
    while (full_ > kFewestRows && full_ * row_s > problem.longest_frame_s) full_ /= 2;
  }

  // Rows of the next frame; 0: none is left.
  uint32_t Next() {
    const bool is_last = stages_ > 1 && left_ <= stages_ * full_;
    const uint32_t rows =
        static_cast<uint32_t>(std::min<uint64_t>(left_, is_last ? std::min(last_, full_) : full_));
    left_ -= rows;
    return rows;
  }

 private:
  static constexpr uint32_t kFewestRows = 16;

  uint64_t left_;
  uint32_t full_;
  const uint32_t last_;
  const size_t stages_;
};

// The time of a prompt's frame at a stage: the weights are read once. In a group the slowest node
// counts, and the bytes that nodes send grow with the rows.
double FrameTime(const KindProblem& problem, const Part& part, double rows) {
  const double chunk_tokens = problem.group.chunk_tokens;
  const double sent = FrameShape().At(rows, chunk_tokens);
  double computed = sent;
  const auto& shapes = part.nodes.size() > 1 ? problem.group_frames : problem.alone_frames;
  if (!shapes.empty()) {
    computed = 0;
    for (const size_t node : part.nodes)
      computed = std::max(computed, shapes[node].At(rows, chunk_tokens));
  }
  const double one_s = part.token_s - part.head_s - part.exchange_s;
  const double chunk_s = part.chunk_s - part.chunk_exchange_s;
  return one_s + std::max(chunk_s - one_s, 0.0) * computed + part.exchange_s +
         std::max(part.chunk_exchange_s - part.exchange_s, 0.0) * sent;
}

// The time from the start of a prompt until its last token leaves the last stage. The first frame
// goes through all stages, one after the other; those after it come at the rate of the slowest
// stage, or of the link on which each row takes `row_s`.
double PrefillTime(const KindProblem& problem, const KindAnswer& path, double row_s,
                   uint32_t tokens) {
  const uint32_t chunk_tokens = problem.group.chunk_tokens;
  PromptFrames frames(problem, path, tokens);
  const auto slowest = [&](uint32_t rows) {
    double slowest_s = row_s * rows;
    for (const Part& part : path.parts)
      slowest_s = std::max(slowest_s, FrameTime(problem, part, rows));
    return slowest_s;
  };
  const uint32_t first = frames.Next();
  if (first == 0) return 0;
  double sum_s = path.parts.back().head_s;
  double compute_s = 0;
  for (const Part& part : path.parts) {
    sum_s += FrameTime(problem, part, first);
    compute_s += part.chunk_s;
  }
  // The links between stages.
  sum_s += std::max(path.first_chunk_s - compute_s, 0.0) * first / chunk_tokens;
  for (uint32_t rows = frames.Next(); rows > 0; rows = frames.Next()) sum_s += slowest(rows);
  return sum_s;
}

void AddRequest(const KindProblem& problem, KindAnswer& answer) {
  answer.request_s =
      answer.first_token_s + answer.token_s * (std::max(problem.answer_tokens, 1u) - 1);
}

// Fetches KV rows that nodes have, or computes them: whichever gives the first token sooner.
// `first_s` is the time of the first token if `tokens` are to be computed.
void TimeFirstToken(const KindProblem& problem, std::span<const Part> parts,
                    FunctionRef<double(uint32_t)> first_s, KindAnswer& answer) {
  answer.first_token_s = first_s(problem.prompt_tokens);
  std::set<uint32_t> lengths;
  for (const KindProblem::Held& held : problem.held)
    // The last token is computed in any case.
    lengths.insert(std::min(held.tokens, std::max(problem.prompt_tokens, 1u) - 1));
  for (const uint32_t tokens : lengths) {
    const std::optional<double> fetch_s = FetchTime(problem, parts, tokens);
    if (tokens == 0 || !fetch_s) continue;
    const double sum_s = *fetch_s + first_s(problem.prompt_tokens - tokens);
    if (sum_s >= answer.first_token_s) continue;
    answer.first_token_s = sum_s;
    answer.held_tokens = tokens;
    answer.fetch_s = *fetch_s;
  }
}

// One path prefills and decodes.
void TimeRequest(const KindProblem& problem, KindAnswer& answer) {
  TimeFirstToken(
      problem, answer.parts,
      [&](uint32_t tokens) { return PrefillTime(problem, answer, /*row_s=*/0, tokens); }, answer);
  AddRequest(problem, answer);
}

KindAnswer StagedAnswer(const KindProblem& problem, const Staged& staged,
                        const SplitAnswer& split) {
  KindAnswer answer{.kind = PlanKind::kPipeline, .chunk_s = split.chunk_s};
  const SplitProblem& stages = staged.problem;
  for (size_t i = 0; i < split.parts.size(); ++i) {
    const auto& [unit, begin, end] = split.parts[i];
    const Unit& of = staged.units[unit];
    Part part{.nodes = of.nodes, .shares = of.shares, .form = of.form, .begin = begin, .end = end};
    part.chunk_s = PartChunkTime(stages.nodes[unit], end - begin, end == stages.layer_count());
    part.token_s = PartTokenTime(stages, stages.nodes[unit], begin, end);
    part.exchange_s = of.layer_exchange_s * (end - begin) + of.other_exchange_s;
    part.chunk_exchange_s = of.layer_chunk_exchange_s * (end - begin);
    if (end == stages.layer_count()) {
      const SplitProblem::Node& node = stages.nodes[unit];
      part.head_s =
          stages.head_reads * (node.OnDevice(end - begin) > 0 ? node.device_byte_s : node.byte_s);
    }
    answer.first_chunk_s += part.chunk_s;
    answer.exchange_s += part.exchange_s;
    if (i > 0) {
      const SplitProblem::Link& link = stages.link(split.parts[i - 1].node, unit);
      answer.first_chunk_s += link.chunk_s;
      answer.exchange_s += link.token_s;
    }
    if (of.is_group()) answer.kind = PlanKind::kMixed;
    answer.parts.push_back(std::move(part));
  }
  // From the head to the first stage, for the next token.
  const double back_s = stages.link(split.parts.back().node, split.parts.front().node).token_s;
  answer.exchange_s += back_s;
  answer.token_s = split.token_s + back_s;
  if (answer.parts.size() == 1) {
    answer.kind = answer.parts[0].nodes.size() > 1 ? PlanKind::kGroup : PlanKind::kOneNode;
  }
  TimeRequest(problem, answer);
  return answer;
}

Staged NodesAlone(const KindProblem& problem) {
  Staged staged{.units = {}, .problem = problem.split};
  for (size_t i = 0; i < problem.split.nodes.size(); ++i) staged.units.push_back({.nodes = {i}});
  return staged;
}

KindAnswer WholeGroupAnswer(const KindProblem& problem, const GroupAnswer& group) {
  const uint32_t layers = problem.split.layer_count();
  KindAnswer answer{.kind = PlanKind::kGroup,
                    .chunk_s = group.chunk_s,
                    .first_chunk_s = group.chunk_s,
                    .token_s = group.token_s,
                    .exchange_s = group.exchange_s};
  const GroupProblem& together = problem.group;
  const double reads = together.head_reads + together.layer_reads;
  const double head_part = reads > 0 ? together.head_reads / reads : 0;
  answer.parts.push_back({.nodes = group.nodes,
                          .shares = group.shares,
                          .form = group.form,
                          .begin = 0,
                          .end = layers,
                          .chunk_s = group.chunk_s,
                          .token_s = group.token_s,
                          .exchange_s = group.exchange_s,
                          .chunk_exchange_s = group.chunk_exchange_s,
                          .head_s = head_part * (group.token_s - group.exchange_s)});
  TimeRequest(problem, answer);
  return answer;
}

class KindSearch {
 public:
  KindSearch(const KindProblem& problem, const SplitAnswer& fast_prefill)
      : problem_(problem),
        alone_(NodesAlone(problem)),
        by_speed_(BySpeed(problem.group)),
        fast_prefill_(fast_prefill) {}

  // An existing plan is only timed; nothing is searched.
  explicit KindSearch(const KindProblem& problem) : KindSearch(problem, {}) {}

  std::vector<KindAnswer> Run() {
    FindOneNode();
    FindPipeline();
    FindGroup();
    FindMixed();
    FindDisaggregated();
    std::vector<KindAnswer> answers;
    for (std::optional<KindAnswer>& best : best_) {
      if (best) answers.push_back(*std::move(best));
    }
    return answers;
  }

  // Only times it.
  std::optional<KindAnswer> Of(std::span<const Part> parts, std::span<const Part> decode) const {
    const std::optional<KindAnswer> prefill = PathOf(parts);
    if (!prefill || decode.empty()) return prefill;
    const std::optional<KindAnswer> answers = PathOf(decode);
    return answers ? Disaggregated(*prefill, *answers) : std::nullopt;
  }

 private:
  void Keep(KindAnswer answer) {
    std::optional<KindAnswer>& best = best_[static_cast<size_t>(answer.kind)];
    if (!best || answer.request_s < best->request_s) best = std::move(answer);
  }

  void FindOneNode() {
    for (size_t node = 0; node < problem_.split.nodes.size(); ++node) {
      const auto split = SplitInOrder(problem_.split, std::span(&node, 1));
      if (!split) continue;
      KindAnswer answer = StagedAnswer(problem_, alone_, *split);
      decoders_.push_back(answer);
      Keep(std::move(answer));
    }
  }

  // The pipelines with the best prompt rate and with the fastest token, and some between them in
  // the order of the first one's nodes.
  void FindPipeline() {
    std::vector<size_t> order;
    for (const SplitAnswer::Part& part : fast_prefill_.parts) order.push_back(part.node);
    KeepStaged(alone_, fast_prefill_);
    for (const double slack : kSlacks)
      KeepStaged(alone_, SplitInOrder(problem_.split, order, slack));
    Staged fastest{.units = {}, .problem = problem_.split};
    fastest.problem.nodes.clear();
    for (size_t i = 0; i < std::min(by_speed_.size(), kExactNodes); ++i)
      AddUnit({by_speed_[i]}, fastest);
    Connect(fastest);
    KeepStaged(fastest, SearchSplit(FastestToken(fastest.problem)));
  }

  // The leader of a group sends and receives its rows.
  void Connect(Staged& staged) const {
    staged.problem.links.clear();
    for (const Unit& from : staged.units) {
      for (const Unit& to : staged.units)
        staged.problem.links.push_back(problem_.split.link(from.nodes.front(), to.nodes.front()));
    }
  }

  // A problem in which times of chunks are zero, so that the fastest token decides.
  static SplitProblem FastestToken(SplitProblem problem) {
    for (SplitProblem::Node& node : problem.nodes)
      node.layer_s = node.head_s = node.device_layer_s = node.bus_chunk_s = 0;
    for (SplitProblem::Link& link : problem.links) link.chunk_s = 0;
    return problem;
  }

  void KeepStaged(const Staged& staged, std::optional<SplitAnswer> split) {
    if (!split) return;
    TimeChunks(staged, *split);
    KindAnswer answer = StagedAnswer(problem_, staged, *split);
    if (GroupsFit(problem_, answer)) Keep(std::move(answer));
  }

  // Sets the times of chunks, which may have been left out of a search.
  static void TimeChunks(const Staged& staged, SplitAnswer& split) {
    const SplitProblem& problem = staged.problem;
    split.chunk_s = split.token_s = 0;
    for (size_t i = 0; i < split.parts.size(); ++i) {
      const auto& [unit, begin, end] = split.parts[i];
      const SplitProblem::Node& node = problem.nodes[unit];
      const SplitProblem::Link link =
          i == 0 ? SplitProblem::Link{} : problem.link(split.parts[i - 1].node, unit);
      const double part_s = PartChunkTime(node, end - begin, end == problem.layer_count());
      split.chunk_s = std::max({split.chunk_s, part_s, link.chunk_s});
      split.token_s += PartTokenTime(problem, node, begin, end) + link.token_s;
    }
  }

  // Subsets of the first nodes by speed.
  void ForSubsets(size_t count, const std::function<void(std::span<const size_t>)>& visit) const {
    for (uint32_t chosen = 1; chosen < uint32_t{1} << count; ++chosen) {
      std::vector<size_t> nodes;
      for (size_t i = 0; i < count; ++i) {
        if ((chosen >> i & 1) != 0) nodes.push_back(by_speed_[i]);
      }
      visit(nodes);
    }
  }

  bool MayBeGroup(size_t count) const {
    return count >= 2 && count <= model::GroupPart::kMostParts && count <= problem_.group.heads;
  }

  void FindGroup() {
    if (!MayBeGroup(2)) return;
    const auto keep = [&](const GroupAnswer& group) {
      KindAnswer answer = WholeGroupAnswer(problem_, group);
      groups_.push_back(answer);
      Keep(std::move(answer));
    };
    const auto add = [&](const std::optional<GroupAnswer>& group) {
      if (!group) return;
      keep(*group);
      const auto owners = SearchOwners(problem_.group, group->nodes, group->shares);
      if (owners) keep(*owners);
    };
    add(SearchGroup(problem_.group));
    ForSubsets(std::min(by_speed_.size(), kMixedNodes), [&](std::span<const size_t> nodes) {
      if (MayBeGroup(nodes.size())) add(SearchShares(problem_.group, nodes));
    });
  }

  // Tries all divisions of nodes into groups and single nodes, with at least one group and another
  // stage.
  void FindMixed() {
    if (!MayBeGroup(2) || problem_.split.nodes.size() < 3) return;
    std::vector<std::vector<size_t>> parts;
    Partition(0, std::min(by_speed_.size(), kMixedNodes), parts);
  }

  void Partition(size_t next, size_t count, std::vector<std::vector<size_t>>& parts) {
    if (next == count) {
      const bool has_group = std::ranges::any_of(parts, [](const auto& p) { return p.size() > 1; });
      if (has_group && parts.size() > 1) TryUnits(parts);
      return;
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i].push_back(by_speed_[next]);
      Partition(next + 1, count, parts);
      parts[i].pop_back();
    }
    parts.push_back({by_speed_[next]});
    Partition(next + 1, count, parts);
    parts.pop_back();
  }

  void TryUnits(const std::vector<std::vector<size_t>>& parts) {
    Staged staged{.units = {}, .problem = problem_.split};
    staged.problem.nodes.clear();
    for (const std::vector<size_t>& nodes : parts) {
      if (!AddUnit(nodes, staged)) return;
    }
    Connect(staged);
    KeepStaged(staged, SearchSplit(staged.problem));
    KeepStaged(staged, SearchSplit(FastestToken(staged.problem)));
  }

  bool AddUnit(const std::vector<size_t>& nodes, Staged& staged) const {
    if (nodes.size() == 1) {
      staged.units.push_back({.nodes = nodes});
      staged.problem.nodes.push_back(problem_.split.nodes[nodes.front()]);
      return true;
    }
    if (!MayBeGroup(nodes.size())) return false;
    const std::optional<GroupAnswer> layer = SearchShares(problem_.layer, nodes);
    if (layer) AddGroup(*layer, staged);
    return layer.has_value();
  }

  void AddGroup(const GroupAnswer& group, Staged& staged) const {
    const GroupAnswer* const layer = &group;
    // A group has one more gather before the layers, and one after them.
    double message_s = 0, byte_s = 0, head_rate = 0;
    for (size_t i = 0; i < layer->nodes.size(); ++i) {
      const size_t node = layer->nodes[i];
      const SplitProblem::Node& able = problem_.split.nodes[node];
      head_rate += able.head_s > 0 ? 1 / able.head_s : 0;
      for (const size_t to : layer->nodes) {
        if (to == node) continue;
        const GroupProblem::Link& link = problem_.group.gather_link(node, to);
        message_s = std::max(message_s, link.message_s + kGatherOverheadS);
        byte_s = std::max(byte_s, link.byte_s);
      }
    }
    const double others = 1 - 1.0 / static_cast<double>(layer->nodes.size());
    const double extra_s = 2 * message_s + others * problem_.logits_bytes * byte_s;
    staged.units.push_back({.nodes = layer->nodes,
                            .shares = layer->shares,
                            .form = layer->form,
                            .layer_exchange_s = layer->exchange_s,
                            .other_exchange_s = extra_s,
                            .layer_chunk_exchange_s = layer->chunk_exchange_s});
    staged.problem.nodes.push_back(
        {.memory_bytes = MemoryAsStage(problem_, *layer),
         .kv_bytes = 0,
         .layer_s = layer->chunk_s,
         .head_s = head_rate > 0 ? 1 / head_rate : 0,
         .byte_s = (layer->token_s - layer->exchange_s) / problem_.layer.layer_reads,
         .extra_s = extra_s,
         .layer_extra_s = layer->exchange_s});
  }

  // The path of an existing plan.
  std::optional<KindAnswer> PathOf(std::span<const Part> parts) const {
    if (parts.size() == 1 && parts[0].nodes.size() > 1) {
      const auto group = GroupWith(problem_.group, parts[0].nodes, parts[0].shares, parts[0].form);
      return group ? std::optional(WholeGroupAnswer(problem_, *group)) : std::nullopt;
    }
    Staged staged{.units = {}, .problem = problem_.split};
    staged.problem.nodes.clear();
    SplitAnswer split;
    for (const Part& part : parts) {
      split.parts.push_back({.node = staged.units.size(), .begin = part.begin, .end = part.end});
      if (part.nodes.size() == 1) {
        AddUnit(part.nodes, staged);
        continue;
      }
      const auto layer = GroupWith(problem_.layer, part.nodes, part.shares, part.form);
      if (!layer) return std::nullopt;
      AddGroup(*layer, staged);
    }
    Connect(staged);
    TimeChunks(staged, split);
    return StagedAnswer(problem_, staged, split);
  }

  // --- Prefill nodes and decode nodes differ.

  void FindDisaggregated() {
    if (problem_.kv_row_bytes <= 0 || problem_.prompt_tokens < 2) return;
    const KindAnswer prefill = StagedAnswer(problem_, alone_, fast_prefill_);
    for (std::vector<KindAnswer>* const decoders : {&decoders_, &groups_}) {
      std::ranges::stable_sort(*decoders, {}, &KindAnswer::token_s);
      const size_t count = std::min(decoders->size(), kDecodePaths);
      for (const KindAnswer& decode : std::span(*decoders).first(count))
        TryDisaggregated(prefill, decode);
    }
  }

  void TryDisaggregated(const KindAnswer& prefill, const KindAnswer& decode) {
    const bool is_same =
        prefill.parts.size() == 1 && prefill.parts[0].nodes == decode.parts[0].nodes;
    if (is_same || !FitsDisaggregated(problem_, prefill, decode)) return;
    if (std::optional<KindAnswer> answer = Disaggregated(prefill, decode)) Keep(*std::move(answer));
  }

  std::optional<KindAnswer> Disaggregated(const KindAnswer& prefill,
                                          const KindAnswer& decode) const {
    const std::optional<double> row_s = TransferTime(prefill, decode);
    if (!row_s) return std::nullopt;
    KindAnswer answer{.kind = PlanKind::kDisaggregated,
                      .parts = prefill.parts,
                      .decode = decode.parts,
                      .first_chunk_s = prefill.first_chunk_s,
                      .token_s = decode.token_s,
                      .exchange_s = decode.exchange_s};
    // KV rows are sent while the next frame is computed; only the last frame's transfer takes extra
    // time.
    const double chunk_tokens = problem_.group.chunk_tokens;
    answer.chunk_s = std::max(prefill.chunk_s, *row_s * chunk_tokens);
    const auto transfer_s = [&](uint32_t prompt) { return *row_s * LastFrame(prompt, prefill); };
    // The decode path computes the last token.
    const auto first_s = [&](uint32_t tokens) {
      const uint32_t prompt = std::max(tokens, 1u) - 1;
      return PrefillTime(problem_, prefill, *row_s, prompt) + transfer_s(prompt) + decode.token_s;
    };
    std::vector<Part> parts = prefill.parts;
    parts.insert(parts.end(), decode.parts.begin(), decode.parts.end());
    TimeFirstToken(problem_, parts, first_s, answer);
    const uint32_t computed = problem_.prompt_tokens - answer.held_tokens;
    answer.transfer_s = transfer_s(std::max(computed, 1u) - 1);
    AddRequest(problem_, answer);
    return answer;
  }

  uint32_t LastFrame(uint32_t tokens, const KindAnswer& prefill) const {
    PromptFrames frames(problem_, prefill, tokens);
    uint32_t last = 0;
    for (uint32_t rows = frames.Next(); rows > 0; rows = frames.Next()) last = rows;
    return last;
  }

  // The time to transfer a token's KV rows from the prefill nodes to the decode nodes: all send at
  // once, each its own rows. Nullopt if a link is unknown.
  std::optional<double> TransferTime(const KindAnswer& prefill, const KindAnswer& decode) const {
    std::vector<double> sending_s(problem_.split.nodes.size());
    for (const Part& source : prefill.parts) {
      for (const Part& target : decode.parts) {
        const uint32_t begin = std::max(source.begin, target.begin);
        const uint32_t end = std::min(source.end, target.end);
        if (begin < end && !SendRows(problem_, source, target, end - begin, sending_s))
          return std::nullopt;
      }
    }
    return *std::ranges::max_element(sending_s);
  }

  const KindProblem& problem_;
  const Staged alone_;
  const std::vector<size_t> by_speed_;
  const SplitAnswer fast_prefill_;
  std::vector<KindAnswer> decoders_;  // that have all layers
  std::vector<KindAnswer> groups_;    // likewise
  std::optional<KindAnswer> best_[static_cast<size_t>(PlanKind::kDisaggregated) + 1];
};

}  // namespace

std::vector<KindAnswer> SearchKinds(const KindProblem& problem, const SplitAnswer& fast_prefill) {
  return KindSearch(problem, fast_prefill).Run();
}

KindAnswer PipelineAnswer(const KindProblem& problem, const SplitAnswer& split) {
  return StagedAnswer(problem, NodesAlone(problem), split);
}

std::optional<KindAnswer> AnswerOfPlan(const KindProblem& problem, std::span<const Part> parts,
                                       std::span<const Part> decode) {
  return KindSearch(problem).Of(parts, decode);
}

bool TakesAll(const KindAnswer& answer, size_t nodes) {
  std::vector<bool> takes_part(nodes);
  for (const auto* path : {&answer.parts, &answer.decode}) {
    for (const KindAnswer::Part& part : *path) {
      for (const size_t node : part.nodes) takes_part[node] = true;
    }
  }
  return std::ranges::count(takes_part, false) == 0;
}

std::optional<size_t> ChooseKind(std::span<const KindAnswer> answers) {
  if (answers.empty()) return std::nullopt;
  const auto best = std::ranges::min_element(answers, {}, &KindAnswer::request_s);
  for (size_t i = 0; i < answers.size(); ++i) {
    if (kAlmostBest * answers[i].request_s <= best->request_s) return i;
  }
  return std::nullopt;
}

}  // namespace aster::plan
