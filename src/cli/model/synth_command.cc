// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster synth: a model with random weights, for tests and benchmarks.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/machine.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/terminal/console.h"
#include "cli/terminal/progress.h"
#include "gguf/model_files.h"
#include "model/files/description.h"
#include "model/files/support.h"
#include "model/shape/tensors.h"
#include "model/synth/presets.h"
#include "model/synth/synth.h"
#include "quant/recipe.h"

namespace aster::cli {
namespace {

struct SynthFlags {
  std::string path;
  std::string drafter_for;
  std::string preset;
  std::string type = "Q8_0";
  std::string name;
  uint64_t seed = 1;
  size_t threads = 0;
  bool json = false;

  // These replace the preset's values.
  std::optional<std::string> arch;
  std::vector<std::string> overrides;
  bool no_mtp = false;
  bool plain_rows = false;
  bool tied = false;
  bool untied = false;
  std::optional<uint32_t> layers, embedding, heads, kv_heads, head_dim, feed_forward, vocab,
      context;
  std::optional<uint32_t> experts, experts_used, expert_feed_forward;
  std::optional<uint32_t> window, streams, query_rank, output_rank, output_groups, index_heads,
      index_top, hash_layers;
  std::vector<uint32_t> ratios;
  std::optional<float> rope_base, expert_limit;
};

template <typename T>
void Replace(T& value, const std::optional<T>& replacement) {
  if (replacement) value = *replacement;
}

// Options of some architectures only.
Status ReplaceExperts(const SynthFlags& options, model::Shape& shape) {
  // Some Gemma 4 models have them, beside a dense network.
  const bool has_both = shape.is_gemma4() && shape.experts.count > 0;
  const bool has_experts = model::HasExperts(shape.arch) || has_both;
  if (!has_experts) shape.experts = {};
  if (has_experts && shape.experts.count == 0) {
    shape.experts = {.count = 8, .used = 2, .feed_forward = shape.feed_forward};
  }
  if (has_experts) {
    const bool has_dense = shape.experts.dense_layers > 0 || has_both;
    if (options.feed_forward && shape.arch != model::Arch::kQwen3Moe && !has_dense) {
      return InvalidArgument(
          "--ff: this architecture has experts in every layer; give --expert-ff");
    }
    Replace(shape.experts.count, options.experts);
    Replace(shape.experts.used, options.experts_used);
    Replace(shape.experts.feed_forward, options.expert_feed_forward);
  } else if (options.experts || options.experts_used || options.expert_feed_forward) {
    return InvalidArgument(
        fmt::format("architecture {} has no experts; use --arch qwen3moe", ArchName(shape.arch)));
  }
  return Ok();
}

// With V4.1 a preset sets which layers make and choose compressed rows and look n-grams up.
Status CheckDeepSeek41Flags(const SynthFlags& options) {
  const std::pair<const char*, bool> given[] = {{"--layers", options.layers.has_value()},
                                                {"--vocab", options.vocab.has_value()},
                                                {"--ratios", !options.ratios.empty()},
                                                {"--hash-layers", options.hash_layers.has_value()}};
  for (const auto& [flag, is_given] : given) {
    if (is_given) {
      return InvalidArgument(fmt::format(
          "{}: layers and tables of a deepseek41 are as its preset has them; leave it out", flag));
    }
  }
  return Ok();
}

// The numbers that only DeepSeek V4 has.
void ReplaceLatent(const SynthFlags& options, model::Shape& shape) {
  Replace(shape.sliding_window, options.window);
  Replace(shape.streams.count, options.streams);
  Replace(shape.latent.query_rank, options.query_rank);
  Replace(shape.latent.output_rank, options.output_rank);
  Replace(shape.latent.output_groups, options.output_groups);
  Replace(shape.latent.index_heads, options.index_heads);
  Replace(shape.latent.index_top, options.index_top);
  Replace(shape.experts.hash_layers, options.hash_layers);
  Replace(shape.experts.limit, options.expert_limit);
  shape.latent.rounded_rows = !options.plain_rows;
  if (shape.shares_compressed_rows()) return;
  if (!options.ratios.empty()) shape.latent.ratios = options.ratios;
  // Further layers repeat the last two listed ones.
  std::vector<uint32_t>& ratios = shape.latent.ratios;
  while (ratios.size() < shape.layer_count)
    ratios.push_back(ratios[ratios.size() - std::min<size_t>(2, ratios.size())]);
  ratios.resize(shape.layer_count);
  shape.experts.hash_layers = std::min(shape.experts.hash_layers, shape.layer_count);
}

constexpr std::string_view kAnyTiny = "tiny";

std::string_view TinyPresetOf(model::Arch arch) {
  switch (arch) {
    case model::Arch::kMistral3:
      return "mistral3-tiny";
    case model::Arch::kGemma2:
      return "gemma2-tiny";
    case model::Arch::kGemma3:
      return "gemma3-tiny";
    case model::Arch::kGemma4:
      return "gemma4-tiny";
    case model::Arch::kPhi3:
      return "phi4-mini-tiny";
    case model::Arch::kGptOss:
      return "gpt-oss-tiny";
    case model::Arch::kGlm4Moe:
      return "glm-tiny";
    case model::Arch::kMiniMaxM2:
      return "minimax-m2-tiny";
    case model::Arch::kQwen3Next:
      return "qwen3-next-tiny";
    case model::Arch::kQwen35:
      return "qwen3.5-tiny";
    case model::Arch::kQwen35Moe:
      return "qwen3.5-moe-tiny";
    case model::Arch::kDeepSeek2:
      return "deepseek2-tiny";
    case model::Arch::kDeepSeek32:
      return "deepseek32-tiny";
    case model::Arch::kMimo2:
      return "mimo2-tiny";
    case model::Arch::kGlmDsa:
      return "glm-5-tiny";
    case model::Arch::kDeepSeek4:
      return "flash-shape-tiny";
    case model::Arch::kDeepSeek41:
      return "flash41-shape-tiny";
    default:
      return kAnyTiny;
  }
}

// The given preset, or the example of the given architecture.
std::string PresetOf(const SynthFlags& options) {
  if (!options.preset.empty()) return options.preset;
  const auto arch = model::ParseArch(options.arch.value_or("llama"));
  return std::string(arch.ok() ? TinyPresetOf(*arch) : kAnyTiny);
}

Result<model::Shape> ShapeOf(const SynthFlags& options) {
  model::Shape shape = TRY(model::ShapeOfPreset(PresetOf(options)));
  if (options.arch) {
    const model::Arch arch = TRY(model::ParseArch(*options.arch));
    const auto stands_alone = [](model::Arch which) { return TinyPresetOf(which) != kAnyTiny; };
    if (shape.arch != arch && (stands_alone(shape.arch) || stands_alone(arch))) {
      return InvalidArgument(
          fmt::format("preset {} is of architecture {}, which has little in common with {}",
                      PresetOf(options), ArchName(shape.arch), *options.arch));
    }
    shape.arch = arch;
  }
  if (shape.shares_compressed_rows()) TRY(CheckDeepSeek41Flags(options));
  Replace(shape.layer_count, options.layers);
  Replace(shape.embedding, options.embedding);
  Replace(shape.head_count, options.heads);
  Replace(shape.kv_head_count, options.kv_heads);
  Replace(shape.head_dim, options.head_dim);
  Replace(shape.feed_forward, options.feed_forward);
  Replace(shape.vocab_size, options.vocab);
  Replace(shape.context_length, options.context);
  if (options.tied || options.untied) shape.tied_head = options.tied;
  Replace(shape.rope.base, options.rope_base);
  if (options.no_mtp) shape.mtp_layers = 0;
  TRY(ReplaceExperts(options, shape));
  if (shape.is_indexed()) shape.index.own.resize(shape.layer_count, 1);
  if (shape.is_latent()) {
    ReplaceLatent(options, shape);
  } else {
    Replace(shape.rope.dimensions, options.head_dim);
    if (shape.arch == model::Arch::kGemma3) shape.window_rope.dimensions = shape.head_dim;
    const bool has_window = shape.full_every > 0 || shape.arch == model::Arch::kPhi3;
    if (has_window) Replace(shape.sliding_window, options.window);
  }
  const bool may_have_factors =
      shape.arch == model::Arch::kLlama || shape.is_fused() || shape.is_gemma4();
  if (!may_have_factors) shape.rope_factors = false;
  // With fewer layers, fewer share KV rows.
  if (shape.is_gemma4() && shape.layer_count >= shape.full_every)
    shape.kinds.sharing = std::min(shape.kinds.sharing, shape.layer_count - shape.full_every);
  TRY(model::CheckShape(shape));
  return shape;
}

Result<const quant::Recipe*> RecipeNamed(const std::string& name) {
  const quant::Recipe* recipe = quant::FindRecipe(name);
  if (recipe != nullptr) return recipe;
  std::string names;
  for (const quant::Recipe& known : quant::AllRecipes()) {
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  return InvalidArgument(fmt::format("there is no type \"{}\"; there are {}", name, names));
}

quant::ModelTraits TraitsOf(const model::Shape& shape) {
  return {.architecture = std::string(model::ArchName(shape.arch)),
          .layer_count = shape.layer_count,
          .query_groups = shape.head_count / shape.kv_head_count,
          .expert_count = shape.experts.count,
          .tied_head = shape.tied_head};
}

// The type for the tensor, as if a file of floats were quantised.
gguf::TensorType TypeOf(const model::TensorSpec& spec, const quant::TypeRules& rules,
                        const quant::ModelTraits& traits) {
  gguf::Tensor tensor;
  tensor.name = spec.name;
  tensor.dim_count = static_cast<uint32_t>(spec.dims.size());
  tensor.element_count = 1;
  for (size_t i = 0; i < spec.dims.size(); ++i) {
    tensor.dims[i] = spec.dims[i];
    tensor.element_count *= spec.dims[i];
  }
  // As in published files: tensors that choose or mix have 16 bits.
  if (spec.is_fine) {
    return rules.recipe->name == "F32" ? gguf::TensorType::kF32 : gguf::TensorType::kF16;
  }
  if (!spec.is_matrix) return gguf::TensorType::kF32;
  return quant::ChooseType(rules, traits, tensor).type;
}

void PrintSummary(const SynthFlags& options, const gguf::ModelFiles& files, Console& console) {
  const model::Totals totals = model::Describe(files).whole.all;
  if (options.json) {
    const nlohmann::ordered_json json = {{"path", options.path},
                                         {"seed", options.seed},
                                         {"type", options.type},
                                         {"parameters", totals.parameter_count},
                                         {"bytes", files.files().front().size_bytes()}};
    console.Print("{}\n", json.dump(2));
    return;
  }
  console.Print("{}  {}, {} parameters, {}\n", options.path, options.type,
                FormatCount(totals.parameter_count),
                FormatBytes(files.files().front().size_bytes()));
}

// An override that matches nothing is a typing mistake.
Status CheckOverrides(const quant::TypeRules& rules, const model::SynthOptions& synth) {
  const std::vector<model::TensorSpec> specs = model::TensorsOf(synth);
  for (const quant::TypeOverride& entry : rules.overrides) {
    const bool is_used = std::ranges::any_of(specs, [&](const model::TensorSpec& spec) {
      return spec.is_matrix && entry.Matches(spec.name);
    });
    if (is_used) continue;
    return InvalidArgument(fmt::format(
        "--tensor-type: '{}' matches no matrix of this shape; it has to match whole parts of "
        "names between dots, as '*_exps' does",
        entry.pattern));
  }
  return Ok();
}

// A drafter for the model in a file, or nullopt.
Result<std::optional<model::BlockShape>> DrafterOf(const SynthFlags& options) {
  if (options.drafter_for.empty()) return std::optional<model::BlockShape>();
  const auto files = TRY(gguf::ModelFiles::Open(options.drafter_for).In("--drafter-for"));
  const std::string where = "--drafter-for " + options.drafter_for;
  const model::Shape shape = TRY(model::ShapeOf(files).In(where));
  TRY(model::CheckCanHaveDrafter(shape).In(where));
  return std::optional(model::PresetDrafterFor(shape));
}

Result<ExitStatus> Synth(const SynthFlags& options, Console& console) {
  const auto drafter = TRY(DrafterOf(options));
  const model::Shape shape = drafter ? drafter->layers : TRY(ShapeOf(options));
  quant::TypeRules rules;
  rules.recipe = TRY(RecipeNamed(options.type));
  for (const std::string& text : options.overrides)
    rules.overrides.push_back(TRY(quant::TypeOverride::Parse(text)));
  const quant::ModelTraits traits = TraitsOf(shape);
  const std::string what = drafter ? "drafter" : PresetOf(options);
  const model::SynthOptions synth{
      .shape = shape,
      .drafter = drafter,
      .name = options.name.empty() ? "synthetic " + what : options.name,
      .seed = options.seed,
      .choose_type = [&](const model::TensorSpec& spec) { return TypeOf(spec, rules, traits); },
      .file_type = rules.recipe->file_type};
  TRY(CheckOverrides(rules, synth));
  ThreadPool pool(options.threads == 0 ? UsableCpuCount() : options.threads);
  SystemClock clock;
  Progress progress(console, clock, "writing " + options.path);
  TRY(model::WriteSyntheticModel(synth, options.path, pool, [&](uint64_t done, uint64_t total) {
    progress.Update(done, total);
  }));
  PrintSummary(options, TRY(gguf::ModelFiles::Open(options.path)), console);
  return kExitOk;
}

void DeclareShape(CLI::App& app, SynthFlags& options) {
  constexpr const char* kGroup = "Shape (each replaces the preset's)";
  const auto add = [&](const char* flag, auto& value, const char* text) {
    app.add_option(flag, value, text)->group(kGroup)->type_name("N");
  };
  app.add_option("--arch", options.arch, "Architecture: " + model::KnownArchs())
      ->group(kGroup)
      ->type_name("ARCH");
  add("--layers", options.layers, "Layers");
  add("--embedding", options.embedding, "Width of the hidden states");
  add("--heads", options.heads, "Attention heads");
  add("--kv-heads", options.kv_heads, "Heads of keys and values");
  add("--head-dim", options.head_dim, "Head size");
  add("--ff", options.feed_forward, "Width of the feed-forward layers");
  add("--vocab", options.vocab, "Tokens in the vocabulary");
  add("--context", options.context, "Context length to write into the file");
  add("--experts", options.experts, "Experts in a layer");
  add("--experts-used", options.experts_used, "Experts used per token");
  add("--expert-ff", options.expert_feed_forward, "Width of an expert");
  add("--rope-base", options.rope_base, "Base of the frequencies of RoPE");
  add("--window", options.window,
      "Sliding window in tokens, the current one included; of gemma2, gemma3, gemma4, phi3, "
      "gpt-oss, deepseek4 and deepseek41");
  CLI::Option* tied =
      app.add_flag("--tied", options.tied, "The output head is the token embedding")->group(kGroup);
  app.add_flag("--untied", options.untied, "The output head has weights of its own")
      ->group(kGroup)
      ->excludes(tied);
  app.add_flag("--no-next", options.no_mtp, "Without an MTP block")->group(kGroup);
}

void DeclareLatentShape(CLI::App& app, SynthFlags& options) {
  constexpr const char* kGroup = "Shape of a deepseek4 or deepseek41 (each replaces the preset's)";
  const auto add = [&](const char* flag, auto& value, const char* text) {
    return app.add_option(flag, value, text)->group(kGroup)->type_name("N");
  };
  app.add_flag("--plain-rows", options.plain_rows,
               "KV rows as if trained in 16 bits, instead of 8 and 4")
      ->group(kGroup);
  add("--ratios", options.ratios,
      "Tokens per compressed KV row, by layer (0: no such rows); further layers repeat the last "
      "two")
      ->delimiter(',')
      ->check(CLI::IsMember({0u, model::kShortRatio, model::kLongRatio}))
      ->type_name("N,N,...");
  add("--index-heads", options.index_heads, "Heads of the index that ranks compressed rows");
  add("--index-top", options.index_top,
      "Compressed rows that the index selects where the ratio is 4");
  add("--streams", options.streams, "Residual streams");
  add("--query-rank", options.query_rank, "Rank of the query projection");
  add("--output-rank", options.output_rank, "Rank of the output projection of a group");
  add("--output-groups", options.output_groups,
      "Groups of heads with an output projection of their own");
  add("--hash-layers", options.hash_layers,
      "First layers whose experts come from a table by token");
  add("--expert-limit", options.expert_limit, "Clamp of an expert's gate and up projections");
}

}  // namespace

Run DeclareSynth(CLI::App& app) {
  auto options = std::make_shared<SynthFlags>();
  app.add_option("out", options->path, "File to write")->required()->type_name("OUT");
  std::string presets;
  for (const model::Preset& preset : model::Presets()) {
    presets += fmt::format("\n  {:<24}{}", preset.name, preset.summary);
  }
  CLI::Option* preset =
      app.add_option("--preset", options->preset, "Shape by name, see below")->type_name("NAME");
  app.add_option("--drafter-for", options->drafter_for,
                 "A drafter of blocks (dflash) for the model in that file, of its shape")
      ->type_name("MODEL")
      ->excludes(preset);
  app.add_option("--type", options->type, "Type of the matrices, or a mix such as Q4_K_M")
      ->type_name("TYPE");
  app.add_option("--tensor-type", options->overrides,
                 "PATTERN=TYPE for tensors of certain names, such as ffn_down=Q6_K; * and ? stand "
                 "for any characters. Repeatable; the first match counts")
      ->type_name("PATTERN=TYPE")
      ->allow_extra_args(false);
  app.add_option("--seed", options->seed, "Seed of the weights")->type_name("N");
  app.add_option("--name", options->name, "Model name in the file")->type_name("TEXT");
  app.add_option("--threads", options->threads, "Threads (default: all cores)")->type_name("N");
  app.add_flag("--json", options->json, "Print one JSON document");
  DeclareShape(app, *options);
  DeclareLatentShape(app, *options);
  app.footer(
      "Presets:" + presets +
      "\n"
      "\n"
      "The same options write the same bytes, on every machine. The model's texts make no sense.\n"
      "  aster synth m.gguf --preset llama-1b --type Q4_K\n"
      "  aster synth m.gguf --arch qwen3 --layers 2 --vocab 5000 --type F16");
  return [options](Console& console) { return Synth(*options, console); };
}

}  // namespace aster::cli
