// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The models of one server: their files, names, and memory for the KV cache. Must not know how they
// are served.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "gguf/model_files.h"
#include "model/memory/memory.h"
#include "open/cluster_options.h"
#include "open/drafts.h"

namespace aster::cli {

struct ModelGroup {
  std::vector<std::string> paths;
  gguf::ModelFiles files;
};

// A file with a whole model (or a split with all parts) is a model of its own. Files with some of a
// model's layers are joined with those that agree in all relevant metadata, and have the same name
// if they have one. An error names files that are neither. Models are in the order of their first
// files. On a cluster a name may be that of a model that only nodes have.
Result<std::vector<ModelGroup>> GroupModels(const std::vector<std::string>& paths,
                                            const open::ClusterOptions& cluster);

// The name of each: as given, in order, or like its first file. All different.
Result<std::vector<std::string>> NameModels(const std::vector<ModelGroup>& groups,
                                            const std::vector<std::string>& names);

// ALIAS is one of the first model, ALIAS=NAME one of the model with that name: [models].
Result<std::vector<std::vector<std::string>>> AliasModels(const std::vector<std::string>& names,
                                                          const std::vector<std::string>& aliases);

// The models with speculative decoding: [models]. A model that the drafter does not fit, or that is
// the drafter, answers without it; an error if that is true for all.
Result<std::vector<bool>> ModelsWithDrafts(const std::vector<ModelGroup>& groups,
                                           const open::DraftOptions& draft);

// Memory for the KV cache of each, in bytes: all hold the same number of tokens.
Result<std::vector<uint64_t>> ShareMemory(const std::vector<ModelGroup>& groups,
                                          const model::MemoryOptions& memory, uint64_t bytes);

}  // namespace aster::cli
