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
#include "cli/console.h"
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

  // Everything below; or, for commands with other ideas of what a model or a thread is, in parts.
  void Declare(CLI::App& app);
  void DeclareModel(CLI::App& app);
  void DeclareThreads(CLI::App& app);
  void DeclareMemory(CLI::App& app);
  // Built-in models become their files, and no model at all the built-in default.
  Status Find();
  Result<engine::LocalModelOptions> ForEngine() const;
};

Result<std::unique_ptr<engine::LocalModel>> LoadModel(const gguf::ModelFiles& files,
                                                      const ModelOptions& options,
                                                      Console& console);

// The token ids in a file: whole numbers with white space or commas between.
Result<std::vector<int32_t>> ReadIds(const std::string& path);

}  // namespace aster::cli
