// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The models that one server is given: which files belong to one, what each is called, and how much
// KV cache it has. Must not know how they are served.
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

// A file that is a whole model (or a split whose parts are all there) is a model of its own. Files
// that hold some of a model's layers are joined with those that say the same of all that matters,
// and have the same name where they have one. An error says what is neither. Models stand in the
// order of their first files.
// On a cluster a name may be that of a model that only nodes have.
Result<std::vector<ModelGroup>> GroupModels(const std::vector<std::string>& paths,
                                            const open::ClusterOptions& cluster);

// What each is called: as given, in their order, or like its first file. Different for all of them.
Result<std::vector<std::string>> NameModels(const std::vector<ModelGroup>& groups,
                                            const std::vector<std::string>& names);

// Adds ALIAS to the first model's and ALIAS=NAME to those of the one of that name: [models].
Result<std::vector<std::vector<std::string>>> AliasModels(const std::vector<std::string>& names,
                                                          const std::vector<std::string>& aliases);

// The models with speculative decoding: [models]. A model that the drafter does not fit, or that is
// the drafter, answers without; an error where that is all of them.
Result<std::vector<bool>> ModelsWithDrafts(const std::vector<ModelGroup>& groups,
                                           const open::DraftOptions& draft);

// Memory for the KV cache of each, in bytes: all hold equally many tokens.
Result<std::vector<uint64_t>> ShareMemory(const std::vector<ModelGroup>& groups,
                                          const model::MemoryOptions& memory, uint64_t bytes);

}  // namespace aster::cli
