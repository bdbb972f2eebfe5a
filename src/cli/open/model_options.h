// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The options of every command that runs a model, and loading one with progress. Must not know what
// a command does with it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/open/kv_cache.h"
#include "cli/terminal/console.h"
#include "engine/local_model.h"

namespace CLI {
class App;
}

namespace aster::cli {

struct ModelOptions {
  std::vector<std::string> paths;  // as given; after Find, of files
  size_t threads = 0;
  std::string kv_type = "f16";
  uint32_t kv_window = 0;
  uint32_t kv_sinks = 0;
  bool kv_plain = false;
  std::string kv_memory = "1GiB";
  bool kv_now = false;
  KvCacheOptions kv_cache;  // declared by commands that can use one

  // Everything below; or, for commands with other ideas of what a model or a thread is, in parts.
  void Declare(CLI::App& app);
  void DeclareModel(CLI::App& app);
  void DeclareThreads(CLI::App& app);
  void DeclareMemory(CLI::App& app);
  void DeclareMemoryNow(CLI::App& app);
  // Built-in models become their files, and no model at all the built-in default.
  Status Find();
  Result<engine::LocalModelOptions> ForEngine() const;
};

// With a store below its memory, or where what it remembers is to be kept, the model goes by the
// name that it has on every machine; finding that reads its files once more.
struct LoadFor {
  std::shared_ptr<kv::PageStore> store = {};
  bool is_kept = false;
};
Result<std::unique_ptr<engine::LocalModel>> LoadModel(const gguf::ModelFiles& files,
                                                      const ModelOptions& options, Console& console,
                                                      const LoadFor& load_for = {});

// The token ids in a file: whole numbers with white space or commas between.
Result<std::vector<int32_t>> ReadIds(const std::string& path);

}  // namespace aster::cli
