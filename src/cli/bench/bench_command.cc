// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster bench: how fast a model runs here, compared with the machine's limits.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/machine.h"
#include "cli/bench/bench_drafts.h"
#include "cli/bench/bench_ensemble.h"
#include "cli/bench/bench_report.h"
#include "cli/commands.h"
#include "cli/options/cluster_options.h"
#include "cli/options/draft_options.h"
#include "cli/options/ensemble_options.h"
#include "cli/options/model_options.h"
#include "cli/terminal/progress.h"
#include "disk/disk_pages.h"
#include "engine/measure_generator.h"
#include "engine/oracle_proposers.h"
#include "kernels/activations.h"
#include "kernels/isa_choice.h"
#include "kernels/pack.h"
#include "model/files/support.h"
#include "model/memory/memory.h"
#include "open/load_model.h"
#include "open/load_tokenizer.h"
#include "open/model_files.h"
#include "open/node_session.h"
#include "open/open_model.h"

namespace aster::cli {
namespace {

// Larger values are typing mistakes.
constexpr uint32_t kMostTokens = 1 << 24;
constexpr uint32_t kMostSequences = 4096;

struct BenchFlags {
  open::ModelOptions model;
  open::ClusterOptions cluster;
  engine::MeasurePlan plan = {.prompts = {512}};
  std::vector<std::string> compare;  // two files
  std::string against;               // a file to compare this run with
  open::DraftOptions draft;
  std::optional<uint32_t>
      draft_accepted_percent;  // accepted tokens per 100 draft tokens, without a drafter
  std::vector<uint32_t> draft_frames = {engine::kMostDrafts};
  EnsembleFlags ensemble;
  bool json = false;
};

std::string NameOf(const gguf::Metadata& metadata) {
  const auto name = metadata.Get<std::string_view>("general.name");
  return name.ok() ? std::string(*name) : "";
}

Result<ExitStatus> Compare(const BenchFlags& options, const std::vector<BenchRate>& first,
                           const std::vector<BenchRate>& second, Console& console) {
  const auto ratios = TRY(CompareRates(first, second));
  if (options.json) {
    console.Print("{}\n", RatiosToJson(ratios).dump(2));
  } else {
    PrintRatios(ratios, console);
  }
  return kExitOk;
}

Result<engine::MeasureReport> MeasureWithProgress(const engine::LocalModel& model,
                                                  const engine::LocalModelOptions& options,
                                                  const engine::MeasurePlan& plan,
                                                  Console& console) {
  const SystemClock clock;
  Progress steps(console, clock, "", Progress::Unit::kSteps);
  Progress fill(console, clock, "KV cache before the measured tokens", Progress::Unit::kTokens);
  return engine::Measure(
      model, options, plan, clock,
      {.on_step =
           [&](const std::string& what, uint64_t done, uint64_t total) {
             steps.SetLabel(what);
             steps.Update(done, total);
           },
       .on_fill = [&](uint64_t done, uint64_t total) { fill.Update(done, total); }});
}

// In a report with several runs, "--prompt 0" leaves prompts out as "--gen 0" does answers.
engine::MeasurePlan PlanOf(const BenchFlags& options) {
  engine::MeasurePlan plan = options.plan;
  std::erase(plan.prompts, 0u);
  return plan;
}

std::string NameOfActivations(kernels::ActivationFormat format) {
  switch (format) {
    case kernels::ActivationFormat::kF32:
      return "float32";
    case kernels::ActivationFormat::kBF16:
      return "bfloat16";
    case kernels::ActivationFormat::kInt8Per32:
      return "8 bits, a scale per 32";
    case kernels::ActivationFormat::kInt8Per256:
      return "8 bits, a scale per 256";
  }
  return "";
}

// By type, the largest part of the files first. Without vectors, such as norms.
std::vector<BenchWeights> WeightsOf(const gguf::ModelFiles& files) {
  std::map<gguf::TensorType, uint64_t> bytes;
  for (const gguf::File& file : files.files()) {
    for (const gguf::Tensor& tensor : file.tensors()) {
      if (tensor.dim_count > 1) bytes[tensor.type] += tensor.data.size();
    }
  }
  std::vector<BenchWeights> weights;
  for (const auto& [type, count] : bytes) {
    const auto packed = kernels::WeightTypeOf(type);
    if (!packed) continue;
    weights.push_back({.type = gguf::TensorTypeName(type),
                       .file_bytes = count,
                       .kernel = kernels::WeightTypeName(*packed),
                       .activations = NameOfActivations(kernels::ActivationFormatFor(*packed))});
  }
  std::ranges::sort(weights, std::greater(), &BenchWeights::file_bytes);
  return weights;
}

Result<BenchReport> MeasureModel(const BenchFlags& options, Console& console) {
  const engine::MeasurePlan plan = PlanOf(options);
  const gguf::ModelFiles files = TRY(gguf::ModelFiles::Open(options.model.paths));
  open::ModelOptions load = options.model;
  load.threads = *std::max_element(plan.threads.begin(), plan.threads.end());
  const SystemClock clock;
  const int64_t start_ns = clock.NowNs();
  const auto kv_cache = TRY(load.kv_cache.Open());
  const auto model = TRY(open::LoadModel(files, load, console, {.store = kv_cache}));

  BenchReport report{.model = options.model.paths.front(),
                     .model_name = NameOf(files.metadata()),
                     .architecture = std::string(model::ArchName(model->shape().arch)),
                     .isa = std::string(kernels::IsaName(model->isa())),
                     .weights = WeightsOf(files),
                     .kv_type = options.model.kv_type,
                     .packed_bytes = model->packed_bytes(),
                     .load_threads = load.threads,
                     .load_ns = clock.NowNs() - start_ns,
                     .load_peak_bytes = PeakMemoryBytes(),
                     .repetitions = plan.repetitions,
                     .chunk = plan.chunk,
                     .measured = {}};
  for (const gguf::File& file : files.files()) report.file_bytes += file.size_bytes();
  engine::LocalModelOptions measured = TRY(load.ForEngine());
  measured.page_store = kv_cache;
  measured.memory_bytes = engine::MemoryFor(plan, model->layout(), model->layout().all_layers());
  report.measured = TRY(MeasureWithProgress(*model, measured, plan, console));
  report.peak_bytes = PeakMemoryBytes();
  return report;
}

// The longest of the measured ones.
open::ExpectedRequest RequestOf(const engine::MeasurePlan& plan) {
  uint32_t prompt = 1;
  for (const uint32_t tokens : plan.prompts) prompt = std::max(prompt, tokens);
  return {.prompt_tokens = prompt, .answer_tokens = std::max(plan.answer, 1u)};
}

// On nodes, whose hardware and limits are unknown here.
Result<BenchReport> MeasureNodes(const BenchFlags& options, Console& console) {
  const engine::MeasurePlan plan = PlanOf(options);
  const gguf::ModelFiles files = TRY(open::OpenModelFiles(options.model.paths, options.cluster));
  const model::Shape shape = TRY(model::ShapeOf(files));
  open::ModelOptions load = options.model;
  load.threads = plan.threads.front();
  const SystemClock clock;
  const int64_t start_ns = clock.NowNs();
  const uint32_t widest = *std::max_element(plan.batches.begin(), plan.batches.end());
  open::ClusterOptions cluster = options.cluster;
  // One sequence at a time; for several, the plan is the one that several share best.
  if (widest == 1) cluster.only_request = RequestOf(plan);
  const auto nodes = TRY(open::NodeSession::Start(files, load, cluster, console));
  const auto conductor = TRY(nodes->Open(TRY(nodes->Plan()), /*tokenizer=*/nullptr, widest,
                                         /*longest_frame_ns=*/0, console));
  BenchReport report{.model = options.model.paths.front(),
                     .model_name = NameOf(files.metadata()),
                     .architecture = std::string(model::ArchName(shape.arch)),
                     .isa = "",
                     .kv_type = options.model.kv_type,
                     .load_threads = load.threads,
                     .load_ns = clock.NowNs() - start_ns,
                     .repetitions = plan.repetitions,
                     .chunk = plan.chunk,
                     .split = plan::SplitText(conductor->plan()),
                     .inexact = nodes->Inexact(),
                     .reasons = nodes->reasons(),
                     .left_out = nodes->LeftOut(),
                     .measured = {}};
  for (const gguf::File& file : files.files()) report.file_bytes += file.size_bytes();
  Progress steps(console, clock, "", Progress::Unit::kSteps);
  report.measured.results = TRY(
      engine::MeasureGenerator(*conductor, plan, load.threads,
                               {.on_step =
                                    [&](const std::string& what, uint64_t done, uint64_t total) {
                                      steps.SetLabel(what);
                                      steps.Update(done, total);
                                    },
                                .on_fill = nullptr}));
  TRY(nodes->SaveTrace());
  return report;
}

// Measures only decode, with speculative decoding and without.
Result<ExitStatus> BenchDrafts(const BenchFlags& options, Console& console) {
  const gguf::ModelFiles files = TRY(open::OpenModelFiles(options.model.paths, options.cluster));
  const auto tokenizer = TRY(open::LoadTokenizer(files, options.model.paths.front(), console));
  const chat::ChatPrompt prompt = TRY(chat::ChatPrompt::Make(files.metadata(), *tokenizer));
  const SystemClock clock;
  open::ModelOptions load = options.model;
  load.threads = options.plan.threads.front();
  engine::OracleProposers known(options.draft_accepted_percent.value_or(0));
  engine::OracleProposers* const source = options.draft_accepted_percent ? &known : nullptr;
  engine::DraftOptions draft = options.draft.ForEngine();
  if (source != nullptr) draft.kind = engine::DraftKind::kModel;
  std::vector<engine::DraftOptions> ways;
  for (const uint32_t frames : options.draft_frames) {
    draft.frames = frames;
    ways.push_back(draft);
  }
  const auto opened = TRY(open::OpenModel(files, tokenizer.get(), clock,
                                          {.model = &load,
                                           .cluster = &options.cluster,
                                           .draft = &options.draft,
                                           .proposers = source,
                                           .max_running = 1},
                                          console));
  Progress steps(console, clock, "", Progress::Unit::kSteps);
  const auto on_step = [&](const std::string& what, uint64_t done, uint64_t total) {
    steps.SetLabel(what);
    steps.Update(done, total);
  };
  const auto rates = TRY(MeasureDrafts(opened->generator(), TRY(DraftPrompts(prompt)),
                                       tokenizer->vocab().end_of_generation, ways,
                                       options.plan.answer, options.plan.repetitions,
                                       {.on_step = on_step, .on_fill = nullptr}, source));
  if (!options.json) {
    for (size_t i = 0; i < rates.size(); ++i) {
      if (rates.size() > 1) console.Print("frames in flight: {} at most\n", ways[i].frames);
      PrintDraftRates(rates[i], console);
    }
    return kExitOk;
  }
  nlohmann::ordered_json json = DraftRatesToJson(rates.front());
  json["model"] = options.model.paths.front();
  json["guesses"] = options.draft.draft;  // tidy: allow(words) a key that scripts read
  json["most"] = options.draft.most;
  json["threads"] = load.threads;
  if (source != nullptr) json["right"] = known.AcceptanceRate();
  for (size_t i = 0; i < rates.size(); ++i) {
    json["ways"].push_back(DraftRatesToJson(rates[i]));
    json["ways"].back()["frames"] = ways[i].frames;
  }
  console.Print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  return kExitOk;
}

// Measures only answers, with every policy and with every member alone.
Result<ExitStatus> BenchTogether(const BenchFlags& options, Console& console) {
  open::ModelOptions load = options.model;
  load.threads = options.plan.threads.front();
  return BenchEnsemble({.model = &load,
                        .cluster = &options.cluster,
                        .members = options.ensemble.names,
                        .most_tokens = options.plan.answer,
                        .repetitions = options.plan.repetitions,
                        .json = options.json},
                       console);
}

Result<ExitStatus> Bench(const BenchFlags& options, Console& console) {
  if (!options.compare.empty()) {
    return Compare(options, TRY(ReadRates(options.compare[0])), TRY(ReadRates(options.compare[1])),
                   console);
  }
  if (options.ensemble.is_wanted()) return BenchTogether(options, console);
  if (options.draft.wanted() || options.draft_accepted_percent)
    return BenchDrafts(options, console);
  // Read before the measurements, which take minutes.
  std::vector<BenchRate> earlier;
  if (!options.against.empty()) earlier = TRY(ReadRates(options.against));
  const BenchReport report = TRY(options.cluster.wants_nodes() ? MeasureNodes(options, console)
                                                               : MeasureModel(options, console));
  if (options.json) {
    console.Print(
        "{}\n", BenchToJson(report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    PrintBench(report, console);
  }
  if (options.against.empty()) return kExitOk;
  const auto ratios = TRY(CompareRates(earlier, RatesOf(report)));
  console.Write(options.json ? "" : "\n");
  if (!options.json) PrintRatios(ratios, console);
  return kExitOk;
}

template <typename T>
CLI::Option* AddList(CLI::App& app, const char* flag, std::vector<T>& values, const char* text,
                     uint32_t least, uint32_t most) {
  return app.add_option(flag, values, text)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->take_all()
      ->check(CLI::Range(least, most))
      ->type_name("N,…");
}

}  // namespace

Run DeclareBench(CLI::App& app) {
  auto options = std::make_shared<BenchFlags>();
  options->plan.threads = {UsableCpuCount()};
  DeclareModel(app, options->model);
  DeclareGpuLayers(app, options->model);
  DeclareMemory(app, options->model);
  DeclareKvCacheOptions(app, options->model.kv_cache);
  DeclareClusterOptions(app, options->cluster);
  DeclareDraftOptions(app, options->draft);
  app.add_option("--draft-right", options->draft_accepted_percent,
                 "Instead of a drafter: draft tokens of the answer itself, of which N of 100 are "
                 "right")
      ->excludes("--draft")
      ->check(CLI::Range(0u, 100u))
      ->type_name("N");
  AddList(
      app, "--draft-frames", options->draft_frames,
      "Frames of draft tokens in flight on a route, at most; 1: each is checked before the next "
      "is sent. Several: each in turn",
      1, engine::kMostDrafts);
  app.remove_option(app.get_option("--kv-memory"));  // as much as the plan needs
  engine::MeasurePlan& plan = options->plan;
  AddList(app, "--prompt", plan.prompts, "Prompt lengths in tokens; 0 for none", 0, kMostTokens);
  app.add_option("--gen", plan.answer, "Length of each answer in tokens; 0 for none")
      ->check(CLI::Range(0u, kMostTokens))
      ->type_name("N");
  AddList(app, "--depth", plan.depths, "Tokens that are in the KV cache before each measurement", 0,
          kMostTokens);
  AddList(app, "--threads", plan.threads, "Threads (default: all cores)", 1,
          ThreadPool::kMaxThreadCount);
  AddList(app, "--batch", plan.batches, "Sequences decoded at once", 1, kMostSequences);
  app.add_option("--reps", plan.repetitions, "Repetitions; the median counts")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  app.add_option("--chunk", plan.chunk, "Tokens of a prompt computed together")
      ->check(CLI::Range(1, 1 << 16))
      ->type_name("N");
  CLI::Option* json = app.add_flag("--json", options->json, "Print one JSON document");
  CLI::Option* compare =
      app.add_option("--compare", options->compare, "Ratios of two reports, without measuring")
          ->expected(2)
          ->type_name("FIRST SECOND");
  app.add_option("--against", options->against, "Ratios to an earlier report, after measuring")
      ->excludes(compare)
      ->excludes(json)
      ->type_name("FILE");
  app.get_option("model")->excludes(compare);
  CLI::Option* members = DeclareEnsembleMembers(app, options->ensemble);
  for (const char* other : {"model", "--compare", "--against", "--draft", "--prompt", "--batch"})
    members->excludes(app.get_option(other));
  app.footer(
      "The roofline is measured with the same threads: integer multiply-adds for prefill, memory "
      "bandwidth (bytes of\n"
      "weights and KV rows) for decode. Sequences of a batch share the tokens before.\n"
      "  aster bench m.gguf --prompt 512,2048 --gen 128 --depth 0,4096 --threads 1,2 --json > "
      "a.json\n"
      "  aster bench m.gguf --gen 64 --prompt 0 --batch 1,8,32\n"
      "  aster bench quasar --draft mtp     the same answers with and without draft tokens, in "
      "turns\n"
      "  aster bench --ensemble nova,pulsar    seconds of answers by every policy, beside each "
      "member's\n"
      "  aster bench --compare a.json b.json");
  return [options](Console& console) -> Result<ExitStatus> {
    if (options->compare.empty() && !options->ensemble.is_wanted()) TRY(options->model.Find());
    return Bench(*options, console);
  };
}

}  // namespace aster::cli
