// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A slice of a model, loaded on this machine: weights, threads, and memory for the KV cache. GPUs
// may compute its last layers; if one is lost, the processor takes them over. Must not know text,
// sampling or other machines.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "compute/context.h"
#include "compute/cpu/backend.h"
#include "engine/gpu_layers.h"
#include "gguf/model_files.h"
#include "kv/page_store.h"
#include "kv/page_table.h"
#include "kv/pool.h"
#include "model/forward/forward.h"
#include "model/memory/memory.h"
#include "model/weights/block_weights.h"
#include "model/weights/weights.h"
#include "vulkan/gpu.h"

namespace aster::engine {

using Gpus = std::vector<std::unique_ptr<vulkan::Gpu>>;
// Opens the GPUs of this machine, in the order of their layers, for a model's kernels; the error
// says why there is none.
using OpenGpus = std::function<Result<Gpus>(const vulkan::KernelUse& use, compute::Context& host)>;

struct LocalModelOptions {
  size_t threads = 0;                 // 0: as many as this machine runs at full speed
  std::optional<kernels::Isa> isa;    // else by ASTER_ISA, else the fastest
  std::optional<model::Slice> slice;  // else the whole model
  model::MemoryOptions memory;
  uint64_t memory_bytes = uint64_t{1} << 30;  // of the KV cache
  // Includes layers with pages on GPUs, which get their share of memory_bytes.
  GpuLayers gpu_layers;
  OpenGpus open_gpus = {};  // called if GPU layers are wanted
  // Limit of weights and pages in main memory; 0: none.
  uint64_t main_memory_bytes = 0;
  bool memory_now = false;  // taken from the system at once, not when it is needed
  // Tier for full pages beside memory, or nothing. Needs `name`, as other processes and machines
  // find its pages by it.
  std::shared_ptr<kv::PageStore> page_store = {};
  // A drafter of blocks, or nothing: loaded beside the head, if the layers that it reads are here.
  std::shared_ptr<const gguf::ModelFiles> drafter = {};
  // Names the model's content if several machines must agree on it; else the files' identity does.
  std::optional<Hash128> name;
};

// Belongs to one thread, which computes; does not move.
class LocalModel {
 public:
  // The files outlive the model, which reads embeddings from them (see Keep).
  static Result<std::unique_ptr<LocalModel>> Load(const gguf::ModelFiles& files,
                                                  const LocalModelOptions& options,
                                                  const model::LoadProgress& progress = nullptr);
  // Shares ownership of the files, if no other object holds them long enough.
  void Keep(std::shared_ptr<const gguf::ModelFiles> files) { files_ = std::move(files); }
  // A model with the same weights, but other threads, instruction set or memory: for measuring and
  // comparing. Layers on GPUs stay there, and `other` outlives the new model.
  static Result<std::unique_ptr<LocalModel>> ShareWeights(const LocalModel& other,
                                                          const LocalModelOptions& options);

  const model::Shape& shape() const { return weights().shape; }
  const model::Slice& slice() const { return forward_->slice(); }
  kernels::Isa isa() const { return context_.isa; }
  size_t thread_count() const { return pool_.thread_count(); }
  // For computations beside the head, with its weights.
  compute::Backend& backend() { return BackendOf(parts_.back()); }
  uint32_t gpu_layers() const;
  size_t gpu_count() const;  // those with layers
  // The GPUs with layers, for people: "A", or "A (12) and B (20)" with their layers.
  std::string gpu_names() const;
  // Why fewer layers than possible are on a GPU; empty if there is no reason to give.
  const std::string& gpu_note() const { return gpu_note_; }
  const model::MemoryOptions& memory_options() const { return memory_options_; }
  const Hash128& name() const { return name_; }
  // Whether a GPU was lost while loading, so that fewer layers than wanted are on one.
  bool lost_gpu_while_loading() const { return lost_gpu_while_loading_; }
  // The bytes of weights in main memory.
  uint64_t packed_bytes() const;
  // Weights and the budget of pages: in main memory, and on GPUs.
  uint64_t main_memory_bytes() const;
  uint64_t gpu_memory_bytes() const;
  // The weights of the last layers, with the head; of all layers if no GPU computes.
  const model::Weights& weights() const { return *parts_.back().weights; }
  // The model's drafter of blocks; the error says why there is none.
  Result<const model::BlockWeights*> drafter() const;
  bool has_drafter() const { return drafter_ != nullptr; }
  const kv::Layout& layout() const { return *layout_; }
  kv::LayerRange layers() const { return {slice().layer_begin, slice().layer_end}; }
  // Usage of the memory that sequences share.
  kv::Pool::Usage memory() const;

  // The empty KV cache of a new sequence. The model outlives it.
  kv::PageTable NewTable();

  // Counts from now on the experts chosen in layers on the processor. No job may be in flight.
  void CountExperts(std::shared_ptr<model::ExpertUse> use);

  // Sets the layers after which rows may be wanted (model/forward/forward.h), for a drafter that
  // follows them.
  void Tap(std::vector<uint32_t> layers);
  const std::vector<uint32_t>& taps() const { return taps_; }

  // Whether a GPU with layers is lost: then every batch fails, and its pages are lost.
  bool has_lost_gpu() const;
  // Moves the layers of lost GPUs to the processor, from the files. No job may be in flight. Older
  // tables become invalid: their owners make new ones and compute their texts again. On failure
  // nothing has changed.
  Status ReplaceLostGpus();
  // How often layers were moved.
  uint64_t replacements() const { return replacements_; }

  // A batch as a job, and a job from begin to end (model/forward/forward.h).
  Result<model::ForwardJob> Begin(std::span<const model::Segment> segments) {
    return forward_->Begin(segments);
  }
  Result<model::Output> Run(std::span<const model::Segment> segments) {
    return forward_->Run(segments);
  }
  // Only a part of the slice.
  Result<model::ForwardJob> Begin(std::span<const model::Segment> segments,
                                  const model::Slice& part, model::Exchange* exchange = nullptr) {
    return forward_->Begin(segments, part, exchange);
  }

 private:
  LocalModel(const LocalModelOptions& options, kernels::Isa isa);
  static Result<std::unique_ptr<LocalModel>> Start(const LocalModelOptions& options);
  // Layers that one back end computes, with their pages.
  struct Part {
    std::shared_ptr<vulkan::Gpu> gpu;  // null: the processor
    std::shared_ptr<const model::Weights> weights;
    std::unique_ptr<kv::Pool> pool;

    // Whether it is in main memory.
    bool is_here() const { return gpu == nullptr || gpu->shares_memory(); }
    uint64_t bytes() const { return weights->PackedBytes() + pool->usage().budget_bytes; }
  };
  // A GPU that may compute, and its room: in layers if their number is chosen here, else in bytes.
  struct FoundGpu {
    std::shared_ptr<vulkan::Gpu> gpu;
    uint64_t room;
  };

  Result<std::vector<FoundGpu>> FindGpus(const gguf::ModelFiles& files,
                                         const LocalModelOptions& options,
                                         const model::Slice& slice);
  Status LoadDrafter(const LocalModelOptions& options, const model::Slice& slice);
  Status PackDrafter(const model::BlockShape& shape);
  Status CheckMainMemory(const gguf::ModelFiles& files, const LocalModelOptions& options,
                         const model::Slice& slice, std::span<const uint32_t> shares,
                         std::span<const FoundGpu> gpus) const;
  std::vector<uint32_t> SharesOf(const model::Shape& shape, const model::Slice& slice,
                                 uint32_t layers, std::span<const FoundGpu> gpus);
  Status LoadWeights(const gguf::ModelFiles& files, const LocalModelOptions& options,
                     const model::Slice& slice, const model::LoadProgress& progress);
  Status LoadParts(const gguf::ModelFiles& files, const model::Slice& slice,
                   std::span<const uint32_t> shares, std::span<const FoundGpu> gpus,
                   const model::LoadProgress& progress);
  void MakePools(uint64_t budget_bytes);
  void JoinParts();
  compute::Backend& BackendOf(const Part& part) {
    return part.gpu == nullptr ? cpu_ : part.gpu->backend();
  }
  Status Finish(const LocalModelOptions& options, const Hash128& name);

  ThreadPool pool_;
  compute::Context context_;
  compute::CpuBackend cpu_{context_};
  std::string gpu_note_;
  bool lost_gpu_while_loading_ = false;
  const std::shared_ptr<kv::PageStore> page_store_;  // or nothing
  std::shared_ptr<model::ExpertUse> expert_use_;     // or nothing
  std::shared_ptr<const gguf::ModelFiles> files_;    // or nothing
  const gguf::ModelFiles* source_ = nullptr;         // that weights were loaded from
  std::vector<Part> lost_;  // parts of lost GPUs: tables and drafters may still refer to them
  std::vector<Part> parts_;
  std::vector<kv::Pool*> pool_of_layer_;  // [layers of the slice]
  uint64_t replacements_ = 0;
  // Constant once made.
  Hash128 name_;  // of the model's content, as far as this machine needs to tell models apart
  model::MemoryOptions memory_options_;
  std::optional<kv::Layout> layout_;
  std::optional<model::Forward> forward_;
  std::vector<uint32_t> taps_;
  std::shared_ptr<const gguf::ModelFiles> drafter_files_;                  // or nothing
  std::shared_ptr<const model::BlockWeights> drafter_;                     // or nothing
  std::vector<std::shared_ptr<const model::BlockWeights>> lost_drafters_;  // with their GPUs
  std::optional<Error> drafter_problem_;  // why there is none, if one was given
};

}  // namespace aster::engine
