// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Slices from model files of this machine, each loaded on a thread of its own while other slices
// compute. Refuses a slice that does not fit into memory, and says what would. Must not know
// routes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "gguf/model_files.h"
#include "stage/slice_source.h"

namespace aster::stage {

// Share of the machine's memory for slices; the rest is for the system and other programs.
inline constexpr double kDefaultMemoryShare = 0.9375;

struct FileSliceOptions {
  size_t threads = 0;         // of each slice; 0: as many as this machine runs at full speed
  uint64_t memory_bytes = 0;  // main, for all slices; 0: kDefaultMemoryShare of the machine's
  std::optional<kernels::Isa> isa = {};
  engine::GpuLayers gpu_layers = {};  // of each slice
  engine::OpenGpus open_gpus = {};
  // Bytes for layers on each GPU with memory of its own, when no slice is loaded; nothing: not
  // known before the first slice is loaded.
  std::optional<std::vector<uint64_t>> gpu_bytes = {};
  bool kv_now = false;                               // LocalModelOptions::memory_now
  std::shared_ptr<kv::PageStore> page_store = {};    // below every slice's KV cache, or null
  std::shared_ptr<kv::PageChunks> page_chunks = {};  // the same, for other nodes; or null
};

// About how much memory a slice's tensors take: packed weights are about as large as in the file.
uint64_t SliceBytes(const gguf::ModelFiles& files, const model::Shape& shape,
                    const model::Slice& slice);

// The memory that a slice may take.
struct SliceRoom {
  uint64_t weight_bytes = 0;  // of all layers
  uint64_t kv_bytes = 0;      // of the KV cache of all layers
  uint64_t main_bytes = 0;    // of both in main memory
  uint64_t gpu_bytes = 0;     // and in that of GPUs
  uint64_t free_bytes = 0;    // of main memory beside other slices
};

// The memory that the slice takes, with as many of its layers on GPUs as fit there. The files need
// not have their data yet. An error if they lack a tensor of the slice, or if it does not fit into
// main memory; then the error says which layers would. If the memory of GPUs is not known, all
// layers that may be on GPUs are counted there; LocalModel::Load finds out.
Result<SliceRoom> FindRoom(const gguf::ModelFiles& files, const SliceRequest& request,
                           const FileSliceOptions& options);

// Safe for concurrent use. Outlives what it loads.
class FileSliceSource final : public SliceSource {
 public:
  explicit FileSliceSource(FileSliceOptions options = {});

  // Files of a model, which may hold only part of it.
  void Add(const Hash128& fingerprint, std::shared_ptr<const gguf::ModelFiles> files) EXCLUDES(mu_);

  // Models of which there are files, for errors: "nova (1234abcd), tiny (89abcdef)", or "none".
  std::string Models() const EXCLUDES(mu_);

  Result<std::unique_ptr<SliceLoading>> Start(const SliceRequest& request) override EXCLUDES(mu_);
  kv::PageChunks* page_chunks() override { return options_.page_chunks.get(); }

 private:
  struct Held {
    Hash128 fingerprint;
    std::shared_ptr<const gguf::ModelFiles> files;
  };

  const FileSliceOptions options_;
  mutable Mutex mu_;
  std::vector<Held> held_ GUARDED_BY(mu_);
};

}  // namespace aster::stage
