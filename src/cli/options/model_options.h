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

// What is declared outlives the parsing of the command line. All of the model's options but those
// of the cache on the disk; or, for commands with other ideas of what a model or a thread is, parts
// of them.
void DeclareModelOptions(CLI::App& app, open::ModelOptions& options);
// `without` says what is done where none is given.
void DeclareModel(CLI::App& app, open::ModelOptions& options,
                  std::string_view without = "default: nova");
void DeclareThreads(CLI::App& app, open::ModelOptions& options);
void DeclareGpuLayers(CLI::App& app, open::ModelOptions& options);
void DeclareMemory(CLI::App& app, open::ModelOptions& options);
void DeclareMemoryNow(CLI::App& app, open::ModelOptions& options);
// For commands that can use a cache on the disk.
void DeclareKvCacheOptions(CLI::App& app, open::KvCacheOptions& options);

}  // namespace aster::cli
