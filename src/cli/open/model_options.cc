// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/open/model_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "base/files.h"
#include "base/units.h"
#include "cli/open/builtin_models.h"
#include "cli/open/model_identity.h"
#include "cli/terminal/progress.h"
#include "disk/disk_pages.h"

namespace aster::cli {
namespace {

// Ten million ids and the spaces between.
constexpr size_t kMaxIdsBytes = size_t{100} << 20;

}  // namespace

void ModelOptions::Declare(CLI::App& app) {
  DeclareModel(app);
  DeclareThreads(app);
  DeclareMemory(app);
}

void ModelOptions::DeclareModel(CLI::App& app) {
  app.add_option("model", paths,
                 "A GGUF file, any part of a split model, files that each hold some layers, or the "
                 "name of a built-in model (nova where not given)")
      ->type_name("MODEL");
}

Status ModelOptions::Find() {
  if (paths.empty()) paths.emplace_back(kDefaultModel);
  for (std::string& path : paths) path = TRY(FindModel(path));
  return Ok();
}

void ModelOptions::DeclareThreads(CLI::App& app) {
  app.add_option("--threads", threads, "Threads (all cores where not given)")
      ->check(CLI::Range(size_t{0}, ThreadPool::kMaxThreadCount))
      ->type_name("N");
}

void ModelOptions::DeclareMemory(CLI::App& app) {
  app.add_option("--kv-type", kv_type, "Numbers of remembered keys and values")
      ->check(CLI::IsMember({"f16", "bf16", "q8"}))
      ->type_name("TYPE");
  app.add_option("--kv-window", kv_window,
                 "A token sees only so many positions before it, itself included")
      ->type_name("N");
  app.add_option("--kv-sinks", kv_sinks, "With --kv-window: and the first so many")->type_name("N");
  app.add_flag("--kv-plain", kv_plain,
               "Rows in 16 bits where the model was trained with fewer (DeepSeek V4)");
  app.add_option("--kv-memory", kv_memory, "Memory for keys and values, such as 4GiB")
      ->type_name("SIZE");
  DeclareMemoryNow(app);
}

void ModelOptions::DeclareMemoryNow(CLI::App& app) {
  app.add_flag("--kv-now", kv_now,
               "Take that memory when the model is loaded, not bit by bit: for machines whose new "
               "memory comes slowly, as in some virtual ones");
}

Result<engine::LocalModelOptions> ModelOptions::ForEngine() const {
  engine::LocalModelOptions options;
  options.threads = threads;
  options.memory.type = kv_type == "f16"    ? kernels::KvType::kF16
                        : kv_type == "bf16" ? kernels::KvType::kBf16
                                            : kernels::KvType::kQ8;
  if (kv_sinks > 0 && kv_window == 0) {
    return InvalidArgument("--kv-sinks says what is seen beside a window: give --kv-window too");
  }
  options.memory.window = kv_window;
  options.memory.sinks = kv_sinks;
  options.memory.plain_rows = kv_plain;
  options.memory_bytes = TRY(ParseBytes(kv_memory).In("--kv-memory"));
  options.memory_now = kv_now;
  return options;
}

Result<std::unique_ptr<engine::LocalModel>> LoadModel(const gguf::ModelFiles& files,
                                                      const ModelOptions& options, Console& console,
                                                      const LoadFor& load_for) {
  engine::LocalModelOptions engine = TRY(options.ForEngine());
  engine.page_store = load_for.store;
  if (engine.page_store == nullptr) engine.page_store = TRY(options.kv_cache.Open());
  if (engine.page_store != nullptr || load_for.is_kept) {
    engine.name = TRY(FingerprintOf(files, console));
  }
  SystemClock clock;
  Progress progress(console, clock, "loading");
  return engine::LocalModel::Load(
      files, engine, [&](uint64_t done, uint64_t total) { progress.Update(done, total); });
}

Result<std::vector<int32_t>> ReadIds(const std::string& path) {
  const std::string text = TRY(ReadFile(path, kMaxIdsBytes));
  std::vector<int32_t> ids;
  constexpr std::string_view kBetween = " \t\r\n,";
  for (size_t begin = text.find_first_not_of(kBetween); begin != std::string::npos;) {
    const size_t end = std::min(text.find_first_of(kBetween, begin), text.size());
    int32_t id = 0;
    const auto [stop, error] = std::from_chars(text.data() + begin, text.data() + end, id);
    if (error != std::errc() || stop != text.data() + end || id < 0) {
      return InvalidArgument(
          fmt::format("{}: \"{}\" is not a token id", path, text.substr(begin, end - begin)));
    }
    ids.push_back(id);
    begin = text.find_first_not_of(kBetween, end);
  }
  if (ids.empty()) return InvalidArgument(path + ": no token ids");
  return ids;
}

}  // namespace aster::cli
