// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/options/model_options.h"

#include <CLI/CLI.hpp>

#include "base/thread_pool.h"

namespace aster::cli {

void DeclareModelOptions(CLI::App& app, open::ModelOptions& options) {
  DeclareModel(app, options);
  DeclareThreads(app, options);
  DeclareMemory(app, options);
}

void DeclareModel(CLI::App& app, open::ModelOptions& options) {
  app.add_option("model", options.paths,
                 "A GGUF file, any part of a split model, files that each hold some layers, or the "
                 "name of a built-in model (nova where not given)")
      ->type_name("MODEL");
}

void DeclareThreads(CLI::App& app, open::ModelOptions& options) {
  app.add_option("--threads", options.threads, "Threads (all cores where not given)")
      ->check(CLI::Range(size_t{0}, ThreadPool::kMaxThreadCount))
      ->type_name("N");
}

void DeclareMemory(CLI::App& app, open::ModelOptions& options) {
  app.add_option("--kv-type", options.kv_type, "Numbers of remembered keys and values")
      ->check(CLI::IsMember({"f16", "bf16", "q8"}))
      ->type_name("TYPE");
  app.add_option("--kv-window", options.kv_window,
                 "A token sees only so many positions before it, itself included")
      ->type_name("N");
  app.add_option("--kv-sinks", options.kv_sinks, "With --kv-window: and the first so many")
      ->type_name("N");
  app.add_flag("--kv-plain", options.kv_plain,
               "Rows in 16 bits where the model was trained with fewer (DeepSeek V4)");
  app.add_option("--kv-memory", options.kv_memory, "Memory for keys and values, such as 4GiB")
      ->type_name("SIZE");
  DeclareMemoryNow(app, options);
}

void DeclareMemoryNow(CLI::App& app, open::ModelOptions& options) {
  app.add_flag("--kv-now", options.kv_now,
               "Take that memory when the model is loaded, not bit by bit: for machines whose new "
               "memory comes slowly, as in some virtual ones");
}

void DeclareKvCacheOptions(CLI::App& app, open::KvCacheOptions& options) {
  CLI::Option* where =
      app.add_option(
             "--kv-cache", options.folder,
             "Keep keys and values in this folder, and take what is there: for prompts that "
             "begin alike, now and later")
          ->type_name("DIR");
  app.add_option("--kv-cache-size", options.size, "The most that the folder may take (8GiB)")
      ->needs(where)
      ->type_name("SIZE");
}

}  // namespace aster::cli
