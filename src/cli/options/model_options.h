// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The options of every command that runs a model. Must not know what a command does with it.
#pragma once

#include <string_view>

#include "open/model_options.h"

namespace CLI {
class App;
}

namespace aster::cli {

// Declares all of the model's options except those of the KV cache on disk; the other functions
// declare some of them, for commands with another meaning of model or threads. `options` must
// outlive the parsing of the command line.
void DeclareModelOptions(CLI::App& app, open::ModelOptions& options);
// `without`: what happens if no model is given.
void DeclareModel(CLI::App& app, open::ModelOptions& options,
                  std::string_view without = "default: nova");
void DeclareThreads(CLI::App& app, open::ModelOptions& options);
void DeclareGpuLayers(CLI::App& app, open::ModelOptions& options);
void DeclareMemory(CLI::App& app, open::ModelOptions& options);
void DeclareMemoryNow(CLI::App& app, open::ModelOptions& options);
// For commands that can use a KV cache on disk.
void DeclareKvCacheOptions(CLI::App& app, open::KvCacheOptions& options);

}  // namespace aster::cli
