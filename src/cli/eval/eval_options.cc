// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/eval/eval_options.h"

#include <CLI/CLI.hpp>
#include "cli/options/cluster_options.h"
#include "cli/options/draft_options.h"
#include "cli/options/model_options.h"
#include "cli/options/ranges.h"

namespace aster::cli {
namespace {

constexpr uint32_t kMostAtOnce = 1024;

// The default: every run gives the same replies.
constexpr float kGreedy = 0;

}  // namespace

void EvalOptions::Declare(CLI::App& app) {
  sampling.options.temperature = kGreedy;
  CLI::Option* models = app.add_option("models", model.paths,
                                       "Models: GGUF files, first parts of split ones, or names of "
                                       "built-in or pulled models (default: nova)")
                            ->type_name("MODEL");
  app.add_option("--questions", questions_path,
                 "File of questions (default: those of the built-in models)")
      ->type_name("FILE");
  app.add_option("--categories", selection.categories, "Categories to ask (default: all)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->take_all()
      ->type_name("NAME,…");
  app.add_option("--limit", selection.limit, "Number of questions, evenly from all categories")
      ->check(NotNegative())
      ->type_name("N");
  app.add_option("--out", out_paths,
                 "File of results, a line for each question; questions with a result are not asked "
                 "again. With several models: one --out for each")
      ->allow_extra_args(false)
      ->type_name("FILE");
  app.add_option("--parallel", parallel, "Questions asked at once; changes no reply")
      ->check(CLI::Range(1u, kMostAtOnce))
      ->type_name("N");
  app.add_option("-n,--tokens", max_tokens, "Limit of a reply in tokens")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 24))
      ->type_name("N");
  app.add_option("--ctx", context,
                 "Context length in tokens, for question and reply (default: as trained)")
      ->type_name("N");
  DeclareThreads(app, model);
  DeclareGpuLayers(app, model);
  DeclareMemory(app, model);
  DeclareKvCacheOptions(app, model.kv_cache);
  DeclareClusterOptions(app, cluster);
  sampling.Declare(app);
  DeclareDraftOptions(app, draft);
  CLI::Option* members = DeclareEnsembleOptions(app, ensemble)->excludes(models);
  CLI::Option* comparison =
      app.add_option("--compare", compare, "Two files of --out to compare, without asking")
          ->expected(2)
          ->excludes(models)
          ->excludes(members)
          ->type_name("FIRST SECOND");
  app.add_flag("--verbose", verbose, "With --compare: show the replies that changed")
      ->needs(comparison);
  app.add_flag("--json", json, "Print one JSON document");
  app.footer(
      "Replies are greedy unless --temp and others are given, and compared exactly, but for case, "
      "white space and full\n"
      "stops at the end. Intervals are Wilson's, of 95 %. --compare counts the questions that only "
      "one file has right, and\n"
      "prints the probability that chance splits them at least as unevenly (McNemar's exact "
      "test).\n"
      "  aster eval\n"
      "  aster eval nova pulsar --limit 100\n"
      "  aster eval --ensemble nova,pulsar\n"
      "  aster eval m.gguf --questions my.jsonl --out m.jsonl --temp 0.7 --seed 1\n"
      "  aster eval --compare f16.jsonl q4.jsonl --verbose");
}

}  // namespace aster::cli
