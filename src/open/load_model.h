// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Loads a model into this process. Must not know what it is used for.
#pragma once

#include <memory>

#include "base/result.h"
#include "engine/local_model.h"
#include "gguf/model_files.h"
#include "kv/page_store.h"
#include "open/model_options.h"
#include "open/reporter.h"

namespace aster::open {

// With a KV cache on disk, or if its KV cache is to be saved, the model is identified by its
// fingerprint; finding it reads the files once more.
struct LoadFor {
  std::shared_ptr<kv::PageStore> store = {};
  bool is_kept = false;
  std::shared_ptr<const gguf::ModelFiles> drafter = {};  // of blocks, to be loaded with it
};
Result<std::unique_ptr<engine::LocalModel>> LoadModel(const gguf::ModelFiles& files,
                                                      const ModelOptions& options,
                                                      Reporter& reporter,
                                                      const LoadFor& load_for = {});

}  // namespace aster::open
