// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/options/model_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/thread_pool.h"

namespace aster::cli {

void DeclareModelOptions(CLI::App& app, open::ModelOptions& options) {
  DeclareModel(app, options);
  DeclareThreads(app, options);
  DeclareGpuLayers(app, options);
  DeclareMemory(app, options);
}

void DeclareModel(CLI::App& app, open::ModelOptions& options, std::string_view without) {
  app.add_option("model", options.paths,
                 fmt::format("GGUF file, any part of a split model, files that each hold some "
                             "layers, or the name of a built-in or pulled model ({})",
                             without))
      ->type_name("MODEL");
}

void DeclareThreads(CLI::App& app, open::ModelOptions& options) {
  app.add_option("--threads", options.threads, "Threads (default: all cores)")
      ->check(CLI::Range(size_t{0}, ThreadPool::kMaxThreadCount))
      ->type_name("N");
}

void DeclareGpuLayers(CLI::App& app, open::ModelOptions& options) {
  app.add_option("--gpu-layers", options.gpu_layers,
                 "Layers on the GPU, the last ones of the model: a number, or auto for as many as "
                 "fit into its memory (default: 0)")
      ->type_name("N|auto");
}

void DeclareMemory(CLI::App& app, open::ModelOptions& options) {
  app.add_option("--kv-type", options.kv_type,
                 "Number format of the KV cache: f16, bf16, q8 (8 bits), or q8i (8 bits, attention "
                 "in integers)")
      ->check(CLI::IsMember({"f16", "bf16", "q8", "q8i"}))
      ->type_name("TYPE");
  app.add_option("--kv-window", options.kv_window,
                 "Sliding window of attention in tokens, the current one included")
      ->type_name("N");
  app.add_option("--kv-sinks", options.kv_sinks,
                 "With --kv-window: attention sinks, tokens at the beginning that stay visible")
      ->type_name("N");
  app.add_flag("--kv-plain", options.kv_plain,
               "KV rows in 16 bits even if the model was trained with fewer (DeepSeek V4)");
  app.add_option("--kv-memory", options.kv_memory, "Memory for the KV cache, such as 4GiB")
      ->type_name("SIZE");
  DeclareMemoryNow(app, options);
}

void DeclareMemoryNow(CLI::App& app, open::ModelOptions& options) {
  app.add_flag("--kv-now", options.kv_now,
               "Allocate the whole KV cache when the model is loaded: for machines with slow page "
               "faults, such as some virtual ones");
}

void DeclareKvCacheOptions(CLI::App& app, open::KvCacheOptions& options) {
  CLI::Option* where =
      app.add_option(
             "--kv-cache", options.folder,
             "Folder of the KV cache on disk, for prompts with the same beginning, now and later")
          ->type_name("DIR");
  app.add_option("--kv-cache-size", options.size, "Size limit of that folder (default: 8GiB)")
      ->needs(where)
      ->type_name("SIZE");
}

}  // namespace aster::cli
