// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The user's options for a model: which one, what computes it, and the memory of its KV cache. Must
// not know the command line, nor what the model is used for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/local_model.h"
#include "open/kv_cache.h"

namespace aster::open {

struct ModelOptions {
  std::vector<std::string> paths;  // as given; after Find, of files

  // What computes it.
  size_t threads = 0;            // 0: all cores
  std::string gpu_layers = "0";  // or auto

  // Its KV cache.
  std::string kv_type = "f16";
  uint32_t kv_window = 0;
  uint32_t kv_sinks = 0;
  bool kv_plain = false;
  std::string kv_memory = "1GiB";
  bool kv_now = false;
  KvCacheOptions kv_cache;  // declared by commands that can use one

  // Replaces names of built-in models by their files; without a model, uses the default.
  Status Find();
  Result<engine::LocalModelOptions> ForEngine() const;
};

}  // namespace aster::open
