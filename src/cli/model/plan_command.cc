// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster plan: what a model needs, before it is downloaded: weights by slice, the KV cache of a
// context, bytes between machines, and whether given machines suffice; and on the nodes of a
// cluster, the predicted times of each kind of plan.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/model/plan_cluster.h"
#include "cli/terminal/console.h"
#include "cli/terminal/table.h"
#include "engine/gpu_layers.h"
#include "gguf/model_files.h"
#include "model/files/block_shape.h"
#include "model/files/support.h"
#include "model/memory/memory.h"
#include "model/memory/weight_sizes.h"
#include "model/synth/presets.h"
#include "open/builtin_models.h"
#include "plan/plan.h"
#include "stage/file_slice_source.h"

namespace aster::cli {
namespace {

using Json = nlohmann::ordered_json;

struct PlanFlags {
  std::vector<std::string> models;
  std::string preset;
  std::optional<uint32_t> slices;
  std::string split;
  std::vector<std::string> machines;  // the memory of each
  std::vector<uint32_t> contexts;
  bool memory = false;
  bool json = false;
  bool cluster = false;
  ClusterPlanFlags on_cluster;
};

// Weights with one mix of types.
struct Variant {
  std::string name;
  model::WeightSizes sizes;  // of whole layers
  std::function<Result<model::WeightSizes>(const model::GroupPart&)> sizes_of;

  Result<uint64_t> BytesOf(const model::Slice& slice) const {
    return slice.part.is_whole() ? sizes.Of(slice) : TRY(sizes_of(slice.part)).Of(slice);
  }
};

struct Machine {
  uint64_t main_bytes = 0;
  std::vector<uint64_t> gpu_bytes;  // of GPUs with memory of their own

  uint64_t total_bytes() const {
    return std::accumulate(gpu_bytes.begin(), gpu_bytes.end(), main_bytes);
  }
};

struct Plan {
  model::Shape shape;
  std::vector<Variant> variants;
  std::vector<model::Slice> slices;
  std::vector<Machine> machines;  // [slices], if machines were given
  std::vector<uint32_t> contexts;
  std::optional<uint64_t> mtp_bytes;      // in addition to the rest
  std::optional<uint64_t> drafter_bytes;  // with the variant's head, if a drafter was given
};

// Positions that are computed at once, for the scratch of each slice.
constexpr uint32_t kChunk = 512;

// Cuts the layers so that each slice has its share of the first variant's bytes, as nearly as
// possible.
std::vector<model::Slice> CutByShares(const model::Shape& shape, const model::WeightSizes& sizes,
                                      std::span<const double> shares) {
  const auto count = static_cast<uint32_t>(shares.size());
  auto bytes_left = static_cast<double>(sizes.Of(model::Slice::Whole(shape)));
  double shares_left = std::accumulate(shares.begin(), shares.end(), 0.0);
  std::vector<model::Slice> slices;
  uint32_t begin = 0;
  for (uint32_t i = 0; i < count; ++i) {
    model::Slice slice{
        .layer_begin = begin, .layer_end = begin, .embedding = i == 0, .head = i + 1 == count};
    const double wanted = bytes_left * shares[i] / shares_left;
    const uint32_t last = shape.layer_count - (count - i - 1);
    const auto bytes = [&] { return static_cast<double>(sizes.Of(slice)); };
    do {
      ++slice.layer_end;
    } while (slice.layer_end < last && (slice.head || bytes() < wanted));
    bytes_left -= bytes();
    shares_left -= shares[i];
    begin = slice.layer_end;
    slices.push_back(slice);
  }
  return slices;
}

// As --split of other commands, with any names: a slice for each node; for a group's node, its part
// of one.
Result<std::vector<model::Slice>> ParseSlices(const std::string& split, const model::Shape& shape) {
  std::vector<plan::PlanNode> nodes;
  const auto add = [&](const std::string& name) {
    nodes.push_back({.id = {{.low = nodes.size() + 1}},
                     .name = name.empty() ? fmt::format("{}", nodes.size() + 1) : name,
                     .addresses = {}});
  };
  for (const std::string& part : CLI::detail::split(split, ',')) {
    const size_t equals = part.find('=');
    if (equals == std::string::npos) {
      add("");
      continue;
    }
    // "2*a+b/experts"
    const std::string names = part.substr(0, std::min(equals, part.find(plan::kExpertsWord)));
    for (const std::string& name : CLI::detail::split(names, '+')) {
      const size_t star = name.find('*');
      add(CLI::detail::trim_copy(star == std::string::npos ? name : name.substr(star + 1)));
    }
  }
  const plan::Plan plan = TRY(plan::ParseSplit(split, shape.layer_count, nodes).In("--split"));
  std::vector<model::Slice> slices;
  for (const plan::PlanStage& stage : plan.stages) {
    for (const model::Slice& slice : stage.Slices()) slices.push_back(slice);
    TRY(model::CheckGroup(slices.back().part, shape).In("--split"));
  }
  return slices;
}

// "128GiB", or "64GiB+24GiB" with a GPU.
Result<Machine> ParseMachine(const std::string& text) {
  Machine machine;
  const size_t plus = text.find('+');
  machine.main_bytes = TRY(ParseBytes(text.substr(0, plus)));
  if (plus == std::string::npos) return machine;
  for (const std::string& gpu : CLI::detail::split(text.substr(plus + 1), '+'))
    machine.gpu_bytes.push_back(TRY(ParseBytes(gpu)));
  return machine;
}

Status ChooseSlices(const PlanFlags& options, Plan& plan) {
  const uint32_t layer_count = plan.shape.layer_count;
  std::vector<double> shares;
  for (const std::string& memory : options.machines) {
    plan.machines.push_back(TRY(ParseMachine(memory).In("--machines")));
    shares.push_back(static_cast<double>(plan.machines.back().total_bytes()));
  }
  if (shares.empty()) shares.assign(options.slices.value_or(std::min(2u, layer_count)), 1);
  if (shares.empty() || shares.size() > layer_count) {
    return InvalidArgument(fmt::format("{} slices of {} layers: give 1 to {}", shares.size(),
                                       layer_count, layer_count));
  }
  if (std::ranges::find(shares, 0.0) != shares.end())
    return InvalidArgument("--machines: a machine without memory can hold nothing");
  plan.slices = options.split.empty() ? CutByShares(plan.shape, plan.variants.front().sizes, shares)
                                      : TRY(ParseSlices(options.split, plan.shape));
  if (!plan.machines.empty() && plan.slices.size() != plan.machines.size()) {
    return InvalidArgument(fmt::format("{} slices for {} machines: give each of them one",
                                       plan.slices.size(), plan.machines.size()));
  }
  return Ok();
}

// Lengths of sequences, up to the model's training context.
Status ChooseContexts(const PlanFlags& options, Plan& plan) {
  plan.contexts = options.contexts;
  if (!plan.contexts.empty()) {
    for (const uint32_t context : plan.contexts) {
      if (context > 0 && context <= plan.shape.context_length) continue;
      return InvalidArgument(fmt::format("--context {}: the model was trained for 1 to {} tokens",
                                         context, plan.shape.context_length));
    }
    return Ok();
  }
  for (const uint32_t context : {8192u, 32768u, 131072u, 1048576u})
    if (context <= plan.shape.context_length) plan.contexts.push_back(context);
  if (plan.contexts.empty()) plan.contexts.push_back(plan.shape.context_length);
  return Ok();
}

Status ReadFiles(const PlanFlags& options, Plan& plan) {
  std::vector<std::string> paths;
  for (const std::string& model : options.models) paths.push_back(TRY(open::FindModel(model)));
  const auto files = std::make_shared<const gguf::ModelFiles>(TRY(gguf::ModelFiles::Open(paths)));
  const model::Support support = model::CheckSupport(*files);
  if (!support.ok()) {
    return Unimplemented(fmt::format("{} cannot be planned for: {}", fmt::join(paths, ", "),
                                     fmt::join(support.obstacles, "; ")));
  }
  plan.shape = *support.shape;
  if (files->drafter() != nullptr) {
    TRY(model::BlockShapeOf(*files->drafter(), files->metadata(), plan.shape).In("the drafter"));
    plan.drafter_bytes = engine::BytesInFiles(*files->drafter());
  }
  const auto sizes_of = [files, shape = plan.shape, drafter_bytes = plan.drafter_bytes](
                            const model::GroupPart& part) -> Result<model::WeightSizes> {
    model::WeightSizes sizes = TRY(engine::SizesInFiles(*files, shape, part));
    // With the head; nodes of a group have none.
    if (part.is_whole()) sizes.head += drafter_bytes.value_or(0);
    return sizes;
  };
  plan.variants.push_back(
      {paths.size() == 1 ? "this file" : "these files", TRY(sizes_of({})), sizes_of});
  return Ok();
}

Result<Plan> PlanOf(const PlanFlags& options) {
  Plan plan;
  if (options.preset.empty()) {
    TRY(ReadFiles(options, plan));
  } else {
    plan.shape = TRY(model::ShapeOfPreset(options.preset));
    for (const model::PublishedMix& mix : model::PublishedMixes(plan.shape)) {
      const auto sizes_of = [mix, shape = plan.shape](const model::GroupPart& part) {
        return model::SizesOf(model::Place::kMemory, mix, shape, part);
      };
      plan.variants.push_back({std::string(mix.name), TRY(sizes_of({})), sizes_of});
    }
    if (model::CanDraftWithMtp(plan.shape) && plan.shape.mtp_layers == 0)
      plan.mtp_bytes = TRY(model::MtpBytes(model::Place::kMemory, plan.shape));
  }
  TRY(ChooseSlices(options, plan));
  TRY(ChooseContexts(options, plan));
  return plan;
}

// The KV cache of a sequence of each length.
Result<std::vector<uint64_t>> KvBytes(const Plan& plan, const model::Slice& slice) {
  const kv::Layout layout = TRY(
      model::MakeMemoryLayout(plan.shape, model::Narrowed({}, plan.shape), Hash128{}, slice.part));
  std::vector<uint64_t> bytes;
  for (const uint32_t context : plan.contexts)
    bytes.push_back(layout.BytesFor({slice.layer_begin, slice.layer_end}, context, kChunk));
  return bytes;
}

std::string SliceName(const model::Slice& slice) {
  const std::string part =
      slice.part.is_whole()
          ? ""
          : fmt::format("part {} of {} of ", slice.part.index + 1, slice.part.count);
  return fmt::format("{}layers {}-{}{}{}", part, slice.layer_begin, slice.layer_end - 1,
                     slice.embedding ? ", embedding" : "", slice.head ? ", head" : "");
}

// Where a slice is stored on a machine: its last layers, with the head, in the memory of GPUs, as
// many as fit.
struct Placement {
  model::Slice main;                      // in main memory
  std::vector<model::Slice> on_gpu = {};  // [GPUs], empty if no layer fits
  uint64_t main_bytes = 0;                // with the KV cache of these layers
};

Result<Placement> PlacementOf(const Plan& plan, const Variant& variant, size_t index,
                              uint64_t kv_bytes) {
  const model::Slice& slice = plan.slices[index];
  const model::WeightSizes sizes =
      slice.part.is_whole() ? variant.sizes : TRY(variant.sizes_of(slice.part));
  const std::vector<uint64_t> rooms =
      engine::GpuRooms(sizes, plan.shape, slice, kv_bytes, plan.machines[index].gpu_bytes);
  const uint32_t layers = slice.layer_end - slice.layer_begin;
  const auto on_gpus = static_cast<uint32_t>(
      std::min<uint64_t>(layers, std::accumulate(rooms.begin(), rooms.end(), uint64_t{0})));
  Placement placement{.main = engine::WithoutLast(slice, on_gpus)};
  uint32_t begin = placement.main.layer_end;
  for (const uint32_t share : engine::ShareOut(on_gpus, rooms)) {
    const uint32_t end = begin + share;
    placement.on_gpu.push_back(
        {begin, end, false, slice.head && share > 0 && end == slice.layer_end, slice.part});
    begin = end;
  }
  placement.main_bytes =
      TRY(variant.BytesOf(placement.main)) + kv_bytes / layers * (layers - on_gpus);
  return placement;
}

uint64_t UsableBytes(const Machine& machine) {
  return static_cast<uint64_t>(static_cast<double>(machine.main_bytes) *
                               stage::kDefaultMemoryShare);
}

// Whether machines with this memory hold the model, and the longest sequence then.
struct Fit {
  uint32_t context = 0;               // the longest requested one; 0: not even the shortest fits
  std::vector<Placement> placements;  // [slices], with that context, or the shortest
  // If none fits: the slice that is too large for the shortest.
  size_t slice = 0;
};

Result<Fit> FitOf(const Plan& plan, const Variant& variant) {
  Fit fit;
  for (size_t c = 0; c < plan.contexts.size(); ++c) {
    std::vector<Placement> placements;
    std::optional<size_t> too_large;
    for (size_t i = 0; i < plan.slices.size(); ++i) {
      const uint64_t kv_bytes = TRY(KvBytes(plan, plan.slices[i]))[c];
      placements.push_back(TRY(PlacementOf(plan, variant, i, kv_bytes)));
      const bool fits = placements.back().main_bytes <= UsableBytes(plan.machines[i]);
      if (!fits && !too_large) too_large = i;
    }
    const bool is_longer = !too_large && plan.contexts[c] > fit.context;
    if (!is_longer && !fit.placements.empty()) continue;
    if (is_longer) fit.context = plan.contexts[c];
    fit.slice = too_large.value_or(0);
    fit.placements = std::move(placements);
  }
  return fit;
}

// Which layers of a slice are on which GPU, and why no more are.
void PrintPlacement(const Plan& plan, size_t index, const Placement& placement, Console& console) {
  const std::vector<uint64_t>& gpus = plan.machines[index].gpu_bytes;
  for (size_t i = 0; i < gpus.size(); ++i) {
    const model::Slice& slice = placement.on_gpu[i];
    const bool is_any = slice.layer_begin < slice.layer_end;
    console.Print("    {}: {} on its GPU of {}{}\n", SliceName(plan.slices[index]),
                  is_any ? SliceName(slice) : "no layer", FormatBytes(gpus[i]),
                  placement.main.layer_begin < placement.main.layer_end
                      ? fmt::format(": no more fit beside their KV cache, {} for activations and a "
                                    "reserve of {}",
                                    FormatBytes(engine::GpuScratchBytes(plan.shape, slice.part)),
                                    FormatBytes(engine::GpuReserveBytes(gpus[i])))
                      : "");
  }
}

Status PrintFits(const Plan& plan, Console& console) {
  std::vector<std::string> machines;
  for (const Machine& machine : plan.machines) {
    machines.push_back(FormatBytes(machine.main_bytes));
    for (const uint64_t bytes : machine.gpu_bytes)
      machines.back() += fmt::format(" with a GPU of {}", FormatBytes(bytes));
  }
  console.Print("\nOn machines of {}, of which 15/16 are used:\n", fmt::join(machines, ", "));
  for (const Variant& variant : plan.variants) {
    const Fit fit = TRY(FitOf(plan, variant));
    console.Print(
        "  {}: {}\n", variant.name,
        fit.context > 0
            ? fmt::format("fits, with {} tokens", fit.context)
            : fmt::format("does not fit: {} take {} of {}", SliceName(plan.slices[fit.slice]),
                          FormatBytes(fit.placements[fit.slice].main_bytes),
                          FormatBytes(UsableBytes(plan.machines[fit.slice]))));
    for (size_t i = 0; i < fit.placements.size(); ++i)
      PrintPlacement(plan, i, fit.placements[i], console);
  }
  return Ok();
}

Json PlacementsJson(const Fit& fit) {
  Json slices = Json::array();
  for (const Placement& placement : fit.placements) {
    Json gpus = Json::array();
    for (const model::Slice& slice : placement.on_gpu)
      gpus.push_back({{"layer_begin", slice.layer_begin}, {"layer_end", slice.layer_end}});
    slices.push_back({{"main_memory_bytes", placement.main_bytes}, {"gpus", gpus}});
  }
  return slices;
}

Status PrintTables(const Plan& plan, Console& console) {
  using Align = Table::Align;
  std::vector<Align> columns(1 + plan.variants.size() + plan.contexts.size(), Align::kRight);
  columns.front() = Align::kLeft;
  Table table(columns);
  std::vector<std::string> head = {"slice"};
  for (const Variant& variant : plan.variants) head.push_back(variant.name);
  for (const uint32_t context : plan.contexts) head.push_back(fmt::format("{} tokens", context));
  table.AddRow(head);
  std::vector<model::Slice> rows = plan.slices;
  if (rows.size() > 1) rows.push_back(model::Slice::Whole(plan.shape));
  for (const model::Slice& slice : rows) {
    std::vector<std::string> cells = {slice == model::Slice::Whole(plan.shape) ? "all"
                                                                               : SliceName(slice)};
    for (const Variant& variant : plan.variants)
      cells.push_back(FormatBytes(TRY(variant.BytesOf(slice))));
    for (const uint64_t bytes : TRY(KvBytes(plan, slice))) cells.push_back(FormatBytes(bytes));
    table.AddRow(cells);
  }
  console.Print(
      "Weights, and KV cache by context length:\n"
      "{}\n",
      table.Render(2));
  const bool has_groups = std::ranges::any_of(
      plan.slices, [](const model::Slice& slice) { return !slice.part.is_whole(); });
  if (has_groups) console.Print("Nodes of a group exchange rows within every layer. ");
  console.Print("Between slices every token takes {} on the wire ({} numbers of 32 bits).\n",
                FormatBytes(uint64_t{plan.shape.hidden_width()} * sizeof(float)),
                plan.shape.hidden_width());
  if (plan.mtp_bytes) {
    console.Print("The MTP block, where a file has it, takes {} more on the last machine.\n",
                  FormatBytes(*plan.mtp_bytes));
  }
  if (plan.drafter_bytes && plan.slices.back().part.is_whole()) {
    console.Print("The drafter takes {} of the weights of the last machine.\n",
                  FormatBytes(*plan.drafter_bytes));
  }
  return plan.machines.empty() ? Ok() : PrintFits(plan, console);
}

Status PrintJson(const Plan& plan, Console& console) {
  Json slices = Json::array();
  for (const model::Slice& slice : plan.slices) {
    Json weights, kv;
    for (const Variant& variant : plan.variants)
      weights[variant.name] = TRY(variant.BytesOf(slice));
    const auto bytes = TRY(KvBytes(plan, slice));
    for (size_t i = 0; i < bytes.size(); ++i) kv[fmt::format("{}", plan.contexts[i])] = bytes[i];
    slices.push_back({{"layer_begin", slice.layer_begin},
                      {"layer_end", slice.layer_end},
                      {"embedding", slice.embedding},
                      {"head", slice.head},
                      {"part", slice.part.index},
                      {"parts", slice.part.count},
                      {"weight_bytes", weights},
                      {"kv_bytes", kv}});
  }
  Json json = {{"wire_bytes_per_token", uint64_t{plan.shape.hidden_width()} * sizeof(float)},
               {"slices", slices}};
  if (plan.mtp_bytes) json["next_block_bytes"] = *plan.mtp_bytes;
  if (plan.drafter_bytes) json["drafter_bytes"] = *plan.drafter_bytes;
  for (const Variant& variant : plan.variants) {
    if (plan.machines.empty()) break;
    const Fit fit = TRY(FitOf(plan, variant));
    json["fits_with_tokens"][variant.name] = fit.context;
    json["placements"][variant.name] = PlacementsJson(fit);
  }
  console.Print("{}\n", json.dump(2));
  return Ok();
}

Result<ExitStatus> ShowPlan(const PlanFlags& options, Console& console) {
  if (options.cluster) {
    ClusterPlanFlags flags = options.on_cluster;
    flags.models = options.models;
    flags.json = options.json;
    return ShowClusterPlan(flags, console);
  }
  if (options.models.empty() == options.preset.empty())
    return InvalidArgument("give a model, or --preset for the shape of one");
  const Plan plan = TRY(PlanOf(options));
  TRY(options.json ? PrintJson(plan, console) : PrintTables(plan, console));
  return kExitOk;
}

void DeclareClusterPlan(CLI::App& app, PlanFlags& options) {
  CLI::Option* const cluster = app.add_flag(
      "--cluster", options.cluster,
      "Compare kinds of plan for a request on the nodes of this machine's cluster: one node, "
      "pipeline, group, and mixtures of them, with predicted times and the reason against each "
      "that is not taken");
  for (const char* other :
       {"--preset", "--memory", "--slices", "--machines", "--split", "--context"})
    cluster->excludes(app.get_option(other));
  ClusterPlanFlags& flags = options.on_cluster;
  app.add_option("--via", flags.via,
                 "With --cluster: address of a node that knows the others. Repeatable")
      ->needs(cluster)
      ->allow_extra_args(false)
      ->type_name("HOST:PORT");
  CLI::Option* const length =
      app.add_option("--prompt", flags.prompt_tokens, "With --cluster: prompt in tokens")
          ->needs(cluster)
          ->check(CLI::Range(1u, 1u << 20))
          ->type_name("N");
  app.add_option("--ids", flags.ids_path,
                 "With --cluster: file of the prompt's token ids; what nodes have of it in their "
                 "KV caches counts")
      ->needs(cluster)
      ->excludes(length)
      ->type_name("FILE");
  app.add_option("-n,--tokens", flags.answer_tokens, "With --cluster: answer in tokens")
      ->needs(cluster)
      ->check(CLI::Range(1u, 1u << 20))
      ->type_name("N");
  app.add_option("--kv-memory", flags.kv_memory,
                 "With --cluster: memory for the KV cache of each node")
      ->needs(cluster)
      ->type_name("SIZE");
}

}  // namespace

Run DeclarePlan(CLI::App& app) {
  auto options = std::make_shared<PlanFlags>();
  app.add_option(
         "model", options->models,
         "A GGUF file, several that make up a model, or the name of a built-in or pulled model")
      ->type_name("MODEL");
  app.add_option("--preset", options->preset,
                 "A shape instead of a model, in the types that it is published in: flash-full, "
                 "pro-full, or another one of aster synth")
      ->type_name("NAME");
  app.add_flag("--memory", options->memory, "Memory of each slice (the default without --cluster)");
  auto* const slices = app.add_option("--slices", options->slices, "Number of equal machines");
  slices->type_name("N");
  auto* const machines = app.add_option(
      "--machines", options->machines,
      "Memory of each machine, such as 128GiB,64GiB+24GiB, with a GPU's after a plus; "
      "prints whether the model fits, and which layers are on GPUs");
  machines->type_name("SIZE,...")->delimiter(',')->excludes(slices);
  app.add_option("--split", options->split,
                 "Layers of each machine, such as 0:20,21:out, or of groups, such as "
                 "a+b/experts=0:out")
      ->type_name("SPLIT")
      ->excludes(slices);
  app.add_option("--context", options->contexts, "Context lengths in tokens")
      ->type_name("N")
      ->delimiter(',');
  app.add_flag("--json", options->json, "Print one JSON document");
  DeclareClusterPlan(app, *options);
  app.footer(
      "No weights are loaded.\n"
      "  aster plan big.gguf --cluster --prompt 2000 --tokens 100\n"
      "  aster plan --memory --preset flash-full --machines 128GiB,128GiB\n"
      "  aster plan --memory m.gguf --machines 32GiB+24GiB,64GiB\n"
      "  aster plan --memory --preset pro-full --slices 4\n"
      "  aster plan --memory m.gguf --split 0:20,21:out --context 32768,1048576");
  return [options](Console& console) { return ShowPlan(*options, console); };
}

}  // namespace aster::cli
