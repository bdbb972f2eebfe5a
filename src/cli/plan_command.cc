// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster plan: what a model would take, before anybody has it: weights by slice, what a context
// remembers, and what goes over the wire.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/builtin_models.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/table.h"
#include "gguf/model_files.h"
#include "model/memory.h"
#include "model/presets.h"
#include "model/support.h"
#include "model/weight_sizes.h"

namespace aster::cli {
namespace {

using Json = nlohmann::ordered_json;

struct PlanFlags {
  std::string model;
  std::string preset;
  uint32_t slices = 2;
  std::vector<uint32_t> contexts = {8192, 32768, 131072, 1048576};
  bool memory = false;
  bool json = false;
};

// Weights in one mix of types.
struct Variant {
  std::string name;
  model::WeightSizes sizes;
};

struct Plan {
  model::Shape shape;
  std::vector<Variant> variants;
  std::vector<model::Slice> slices;
};

gguf::TensorType TypeInFile(const gguf::ModelFiles& files, const model::TensorSpec& spec) {
  const gguf::Tensor* tensor = model::FindTensor(files, spec);
  return tensor == nullptr ? gguf::TensorType::kF32 : tensor->type;
}

// Layers cut so that the largest slice is as small as a cut in order allows for the first variant.
std::vector<model::Slice> CutEvenly(const model::Shape& shape, const model::WeightSizes& sizes,
                                    uint32_t count) {
  uint64_t total = sizes.Of(model::Slice::Whole(shape));
  std::vector<model::Slice> slices;
  uint32_t begin = 0;
  for (uint32_t i = 0; i < count; ++i) {
    model::Slice slice{
        .layer_begin = begin, .layer_end = begin, .embedding = i == 0, .head = i + 1 == count};
    const uint64_t share = total / (count - i);
    const uint32_t last = shape.layer_count - (count - i - 1);
    do {
      ++slice.layer_end;
    } while (slice.layer_end < last && (slice.head || sizes.Of(slice) < share));
    total -= std::min(total, sizes.Of(slice));
    begin = slice.layer_end;
    slices.push_back(slice);
  }
  return slices;
}

Result<Plan> PlanOf(const PlanFlags& options) {
  Plan plan;
  if (!options.preset.empty()) {
    plan.shape = TRY(model::ShapeOfPreset(options.preset));
    for (const model::PublishedMix& mix : model::PublishedMixes()) {
      const auto type_of = [&](const model::TensorSpec& spec) { return TypeIn(mix, spec); };
      plan.variants.push_back({std::string(mix.name), TRY(model::SizesOf(plan.shape, type_of))});
    }
  } else {
    const std::string path = TRY(FindModel(options.model));
    const gguf::ModelFiles files = TRY(gguf::ModelFiles::Open(path));
    const model::Support support = model::CheckSupport(files);
    if (!support.ok()) {
      return Unimplemented(
          fmt::format("{} cannot be planned for: {}", path, fmt::join(support.obstacles, "; ")));
    }
    plan.shape = *support.shape;
    const auto type_of = [&](const model::TensorSpec& spec) { return TypeInFile(files, spec); };
    plan.variants.push_back({"this file", TRY(model::SizesOf(plan.shape, type_of))});
  }
  if (options.slices == 0 || options.slices > plan.shape.layer_count) {
    return InvalidArgument(fmt::format("{} slices of {} layers: give --slices 1 to {}",
                                       options.slices, plan.shape.layer_count,
                                       plan.shape.layer_count));
  }
  plan.slices = CutEvenly(plan.shape, plan.variants.front().sizes, options.slices);
  return plan;
}

Result<std::vector<uint64_t>> RememberedBytes(const Plan& plan, const PlanFlags& options,
                                              const model::Slice& slice) {
  const kv::Layout layout =
      TRY(model::MakeMemoryLayout(plan.shape, model::Narrowed({}, plan.shape), Hash128{}));
  std::vector<uint64_t> bytes;
  constexpr uint32_t kChunk = 512;
  for (const uint32_t context : options.contexts)
    bytes.push_back(layout.BytesFor({slice.layer_begin, slice.layer_end}, context, kChunk));
  return bytes;
}

std::string SliceName(const model::Slice& slice) {
  return fmt::format("layers {}-{}{}{}", slice.layer_begin, slice.layer_end - 1,
                     slice.embedding ? ", embedding" : "", slice.head ? ", head" : "");
}

Status PrintTables(const Plan& plan, const PlanFlags& options, Console& console) {
  using Align = Table::Align;
  std::vector<Align> columns(1 + plan.variants.size() + options.contexts.size(), Align::kRight);
  columns.front() = Align::kLeft;
  Table table(columns);
  std::vector<std::string> head = {"slice"};
  for (const Variant& variant : plan.variants) head.push_back(variant.name);
  for (const uint32_t context : options.contexts) head.push_back(fmt::format("{} tokens", context));
  table.AddRow(head);
  std::vector<model::Slice> rows = plan.slices;
  if (rows.size() > 1) rows.push_back(model::Slice::Whole(plan.shape));
  for (const model::Slice& slice : rows) {
    std::vector<std::string> cells = {slice == model::Slice::Whole(plan.shape) ? "all"
                                                                               : SliceName(slice)};
    for (const Variant& variant : plan.variants)
      cells.push_back(FormatBytes(variant.sizes.Of(slice)));
    for (const uint64_t bytes : TRY(RememberedBytes(plan, options, slice)))
      cells.push_back(FormatBytes(bytes));
    table.AddRow(cells);
  }
  console.Print("Weights, and what sequences of some length remember:\n{}\n", table.Render(2));
  console.Print("Between slices every token takes {} on the wire ({} numbers of 32 bits).\n",
                FormatBytes(uint64_t{plan.shape.hidden_width()} * sizeof(float)),
                plan.shape.hidden_width());
  return Ok();
}

Status PrintJson(const Plan& plan, const PlanFlags& options, Console& console) {
  Json slices = Json::array();
  for (const model::Slice& slice : plan.slices) {
    Json weights, remembered;
    for (const Variant& variant : plan.variants) weights[variant.name] = variant.sizes.Of(slice);
    const auto bytes = TRY(RememberedBytes(plan, options, slice));
    for (size_t i = 0; i < bytes.size(); ++i)
      remembered[fmt::format("{}", options.contexts[i])] = bytes[i];
    slices.push_back({{"layer_begin", slice.layer_begin},
                      {"layer_end", slice.layer_end},
                      {"embedding", slice.embedding},
                      {"head", slice.head},
                      {"weight_bytes", weights},
                      {"remembered_bytes", remembered}});
  }
  const Json json = {{"wire_bytes_per_token", uint64_t{plan.shape.hidden_width()} * sizeof(float)},
                     {"slices", slices}};
  console.Print("{}\n", json.dump(2));
  return Ok();
}

Result<ExitStatus> ShowPlan(const PlanFlags& options, Console& console) {
  if (options.model.empty() == options.preset.empty())
    return InvalidArgument("give a model, or --preset for a shape that nobody needs to have");
  const Plan plan = TRY(PlanOf(options));
  TRY(options.json ? PrintJson(plan, options, console) : PrintTables(plan, options, console));
  return kExitOk;
}

}  // namespace

Run DeclarePlan(CLI::App& app) {
  auto options = std::make_shared<PlanFlags>();
  app.add_option("model", options->model, "A GGUF file, or the name of a built-in model")
      ->type_name("MODEL");
  app.add_option("--preset", options->preset,
                 "A shape instead, in the types that it is published in: flash-full, pro-full")
      ->type_name("NAME");
  app.add_flag("--memory", options->memory, "What it takes in memory (the only plan there is)");
  app.add_option("--slices", options->slices, "On so many machines")->type_name("N");
  app.add_option("--context", options->contexts, "Tokens that a sequence remembers")
      ->type_name("N")
      ->delimiter(',');
  app.add_flag("--json", options->json, "Print one JSON document");
  app.footer(
      "Nothing is loaded.\n"
      "  aster plan --memory --preset flash-full --slices 2\n"
      "  aster plan --memory m.gguf --context 32768,1048576");
  return [options](Console& console) { return ShowPlan(*options, console); };
}

}  // namespace aster::cli
