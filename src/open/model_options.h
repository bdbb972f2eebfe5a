// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which model, with what it computes and how much memory its KV cache gets, as a person says it.
// Must not know the command line, nor what is done with the model.
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

  // What it computes with.
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

  // Built-in models become their files, and no model at all the built-in default.
  Status Find();
  Result<engine::LocalModelOptions> ForEngine() const;
};

}  // namespace aster::open
