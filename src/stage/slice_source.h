// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Where a node gets slices of models from: its own files, another node's, or a test. Must not know
// routes or messages.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/hash.h"
#include "base/result.h"
#include "engine/local_model.h"
#include "kv/page_chunks.h"
#include "model/memory/memory.h"
#include "model/parts/slice.h"

namespace aster::stage {

struct SliceRequest {
  Hash128 fingerprint;  // of the model
  Hash128 memory_name;  // names its KV cache: only caches of equal name share rows
  model::Slice slice;
  model::MemoryOptions memory = {};
  uint64_t kv_bytes = 0;        // of the KV cache; 0: the source chooses
  uint64_t used_bytes = 0;      // by other slices on this node, of main memory
  uint64_t used_gpu_bytes = 0;  // and of its GPUs'
  bool may_use_gpu = true;      // else the processor computes all layers
};

// A slice that is loading. Used by one thread; destroying it cancels the loading.
class SliceLoading {
 public:
  virtual ~SliceLoading() = default;

  struct Progress {
    uint64_t done_bytes = 0;
    uint64_t total_bytes = 0;
  };
  virtual Progress progress() const = 0;
  // Main memory that the slice takes, with its KV cache; zero while that is not known.
  virtual uint64_t reserved_bytes() const = 0;
  // The same for memory of GPUs.
  virtual uint64_t reserved_gpu_bytes() const { return 0; }
  // The slice, or the error, once loading has ended; nothing before. Never waits.
  virtual std::optional<Result<std::unique_ptr<engine::LocalModel>>> Take() = 0;
  // Whether destroying it now takes no time.
  virtual bool CanGiveUp() const { return false; }
};

class SliceSource {
 public:
  virtual ~SliceSource() = default;

  // Begins to load. An error if the source does not have the model, or the slice does not fit.
  // Never waits.
  virtual Result<std::unique_ptr<SliceLoading>> Start(const SliceRequest& request) = 0;

  // KV pages on disk, for other nodes; null: none. Lives as long as the source.
  virtual kv::PageChunks* page_chunks() { return nullptr; }
};

}  // namespace aster::stage
