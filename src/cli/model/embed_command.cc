// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster embed: the vectors of texts, for users and scripts that compare texts.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/files.h"
#include "cli/commands.h"
#include "cli/options/cluster_options.h"
#include "cli/options/model_options.h"
#include "cli/terminal/console.h"
#include "engine/pooler.h"
#include "model/files/pooling.h"
#include "open/load_tokenizer.h"
#include "open/model_files.h"
#include "open/open_model.h"

namespace aster::cli {
namespace {

// From a file or from standard input.
constexpr uint64_t kMaxInputBytes = uint64_t{256} << 20;

struct EmbedFlags {
  std::string model;
  open::ModelOptions options;
  open::ClusterOptions cluster;
  std::vector<std::string> texts;
  std::string path;
  size_t dimensions = 0;
  bool json = false;
};

// Each line that is not empty.
std::vector<std::string> LinesOf(std::string_view input) {
  std::vector<std::string> lines;
  while (!input.empty()) {
    std::string_view line = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(line.size() + 1, input.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) lines.emplace_back(line);
  }
  return lines;
}

Result<std::vector<std::string>> TextsOf(const EmbedFlags& flags) {
  if (!flags.texts.empty()) return flags.texts;
  const bool is_file = !flags.path.empty() && flags.path != "-";
  const std::string input = TRY(is_file ? ReadFile(flags.path, kMaxInputBytes)
                                        : ReadStream(stdin, "standard input", kMaxInputBytes));
  std::vector<std::string> texts = LinesOf(input);
  if (texts.empty()) {
    return InvalidArgument(
        fmt::format("{}: no text; give texts behind the model, or one on each line",
                    is_file ? flags.path : "standard input"));
  }
  return texts;
}

void PrintEmbeddings(const EmbedFlags& flags, model::Pooling pooling,
                     const std::vector<std::vector<int32_t>>& tokens,
                     const std::vector<std::vector<float>>& vectors, const std::string& inexact,
                     Console& console) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (size_t i = 0; i < vectors.size(); ++i)
    list.push_back({{"token_count", tokens[i].size()}, {"embedding", vectors[i]}});
  nlohmann::ordered_json document = {{"model", flags.options.paths.front()},
                                     {"pooling", model::PoolingName(pooling)},
                                     {"dimensions", vectors.front().size()},
                                     {"embeddings", std::move(list)}};
  if (!inexact.empty()) document["inexact"] = inexact;
  console.Print("{}\n", document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

Result<ExitStatus> EmbedTexts(const EmbedFlags& flags, Console& console) {
  const std::vector<std::string> texts = TRY(TextsOf(flags));
  const gguf::ModelFiles files = TRY(open::OpenModelFiles(flags.options.paths, flags.cluster));
  const model::Pooling pooling = TRY(model::ReadPooling(files.metadata()));
  if (pooling == model::Pooling::kRank) {
    return Unimplemented(
        fmt::format("{} ranks documents and makes no embeddings; give an embedding "
                    "model",
                    flags.options.paths.front()));
  }
  const auto tokenizer = TRY(open::LoadTokenizer(files, flags.options.paths.front(), console));
  std::vector<std::vector<int32_t>> tokens;
  for (const std::string& text : texts)
    tokens.push_back(TRY(tokenizer->Encode(text, {.add_special = true, .parse_special = true})));
  const SystemClock clock;
  const auto opened =
      TRY(open::OpenModel(files, tokenizer.get(), clock,
                          {.model = &flags.options, .cluster = &flags.cluster}, console));
  const uint32_t width = opened->generator().shape().embedding;
  if (flags.dimensions > width) {
    return InvalidArgument(
        fmt::format("--dimensions {}: the model has {}; give fewer, or leave it "
                    "out",
                    flags.dimensions, width));
  }
  std::vector<std::vector<float>> vectors =
      TRY(engine::Embed(opened->generator(), tokens, pooling));
  for (auto& vector : vectors) vector = TRY(engine::Normalised(vector, flags.dimensions));
  TRY(opened->Save());
  if (flags.json) {
    PrintEmbeddings(flags, pooling, tokens, vectors, opened->inexact(), console);
  } else {
    for (const auto& vector : vectors) console.Print("{}\n", fmt::join(vector, " "));
  }
  return kExitOk;
}

}  // namespace

Run DeclareEmbed(CLI::App& app) {
  auto flags = std::make_shared<EmbedFlags>();
  app.add_option("model", flags->model,
                 "GGUF file, or the name of a built-in or pulled model (default: nova)")
      ->type_name("MODEL");
  app.add_option("texts", flags->texts, "Texts, each with an embedding of its own")
      ->type_name("TEXT");
  DeclareThreads(app, flags->options);
  DeclareGpuLayers(app, flags->options);
  DeclareMemory(app, flags->options);
  DeclareClusterOptions(app, flags->cluster);
  app.add_option("--file", flags->path,
                 "File with a text on each line (default: standard input, also -)")
      ->type_name("FILE");
  app.add_option("--dimensions", flags->dimensions,
                 "First numbers of each embedding to keep (default: all)")
      ->check(CLI::Range(size_t{1}, size_t{1} << 24))
      ->type_name("N");
  app.add_flag("--json", flags->json, "Print one JSON document");
  app.footer(
      "An embedding has the length 1; the model's file says how it is pooled (last, mean, cls).\n"
      "  aster embed qwen3-embedding.gguf \"a text\" \"another\"\n"
      "  aster embed qwen3-embedding.gguf --json < texts");
  return [flags](Console& console) -> Result<ExitStatus> {
    if (!flags->model.empty()) flags->options.paths = {flags->model};
    if (!flags->texts.empty() && !flags->path.empty())
      return InvalidArgument("--file: not together with texts on the command line");
    TRY(flags->options.Find());
    return EmbedTexts(*flags, console);
  };
}

}  // namespace aster::cli
