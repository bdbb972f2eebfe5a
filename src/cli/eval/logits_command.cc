// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster logits: the logits after every token of a text, for scripts that compare engines.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/options/cluster_options.h"
#include "cli/options/model_options.h"
#include "cli/options/token_ids.h"
#include "cli/terminal/console.h"
#include "engine/logits.h"
#include "open/model_files.h"
#include "open/open_model.h"

namespace aster::cli {
namespace {

struct LogitsFlags {
  open::ModelOptions model;
  open::ClusterOptions cluster;
  std::string ids_path;
  std::string out_path;
  size_t chunk = engine::kDefaultChunk;
};

Result<ExitStatus> Logits(const LogitsFlags& options, Console& console) {
  const std::vector<int32_t> ids = TRY(ReadIds(options.ids_path));
  const gguf::ModelFiles files = TRY(open::OpenModelFiles(options.model.paths, options.cluster));
  const SystemClock clock;
  const auto opened =
      TRY(open::OpenModel(files, /*tokenizer=*/nullptr, clock,
                          {.model = &options.model, .cluster = &options.cluster}, console));
  engine::Generator& generator = opened->generator();
  AtomicFile out = TRY(AtomicFile::Create(options.out_path));
  TRY(generator.LogitsOf(ids, options.chunk, [&](std::span<const float> row) {
    return out.Write({reinterpret_cast<const uint8_t*>(row.data()), row.size_bytes()});
  }));
  TRY(out.Commit());
  TRY(opened->Save());
  const std::string why = opened->inexact();
  console.Print("{}  {} x {} float32{}{}\n", options.out_path, ids.size(),
                generator.shape().vocab_size, why.empty() ? "" : ", not exact: ", why);
  return kExitOk;
}

}  // namespace

Run DeclareLogits(CLI::App& app) {
  auto options = std::make_shared<LogitsFlags>();
  DeclareModelOptions(app, options->model);
  DeclareClusterOptions(app, options->cluster);
  app.add_option("--ids", options->ids_path, "Token ids, separated by spaces or lines")
      ->required()
      ->type_name("FILE");
  app.add_option("--out", options->out_path,
                 "File to write: float32, one row of the vocabulary per position")
      ->required()
      ->type_name("FILE");
  app.add_option("--chunk", options->chunk, "Positions computed together; changes no bit")
      ->check(CLI::Range(1, 1 << 16))
      ->type_name("N");
  app.footer(
      "No token is added: give the ids exactly as they are to be computed.\n"
      "  aster tokenize m.gguf --ids < text > ids && aster logits m.gguf --ids ids --out "
      "logits.f32");
  return [options](Console& console) -> Result<ExitStatus> {
    TRY(options->model.Find());
    return Logits(*options, console);
  };
}

}  // namespace aster::cli
