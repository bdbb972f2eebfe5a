// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/file_slice_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <numeric>
#include <string>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/machine.h"
#include "base/units.h"
#include "model/files/support.h"
#include "model/memory/weight_sizes.h"
#include "model/shape/tensors.h"
#include "plan/plan.h"

namespace aster::stage {
namespace {

// A KV cache without a given size gets half of the free memory, within these limits.
constexpr uint64_t kMostKvBytes = uint64_t{4} << 30;
constexpr uint64_t kLeastKvBytes = uint64_t{16} << 20;

void LogGpu(const engine::LocalModel& model) {
  if (!model.gpu_note().empty())
    log::Info("fewer layers on GPUs than there could be", {{"why", model.gpu_note()}});
  if (model.gpu_layers() == 0) return;
  log::Info("layers on a GPU",
            {{"layers", std::to_string(model.gpu_layers())}, {"gpu", model.gpu_names()}});
}

class FileLoading final : public SliceLoading {
 public:
  FileLoading(std::shared_ptr<const gguf::ModelFiles> files, engine::LocalModelOptions options,
              const SliceRoom& room)
      : reserved_bytes_(room.main_bytes), reserved_gpu_bytes_(room.gpu_bytes) {
    total_bytes_ = room.weight_bytes;
    thread_ = std::thread(
        [this, files = std::move(files), options = std::move(options)] { Load(files, options); });
  }
  ~FileLoading() override { thread_.join(); }

  Progress progress() const override {
    return {.done_bytes = done_bytes_.load(), .total_bytes = total_bytes_.load()};
  }
  uint64_t reserved_bytes() const override { return reserved_bytes_; }
  uint64_t reserved_gpu_bytes() const override { return reserved_gpu_bytes_; }

  std::optional<Result<std::unique_ptr<engine::LocalModel>>> Take() override {
    if (!is_done_.load(std::memory_order_acquire)) return std::nullopt;
    return std::move(loaded_);
  }

 private:
  void Load(const std::shared_ptr<const gguf::ModelFiles>& files,
            const engine::LocalModelOptions& options) {
    auto loaded = engine::LocalModel::Load(*files, options, [this](uint64_t done, uint64_t total) {
      done_bytes_.store(done);
      total_bytes_.store(total);
    });
    if (loaded.ok()) {
      (*loaded)->Keep(files);
      LogGpu(**loaded);
    }
    ReturnFreedMemory();  // also of messages in which weights came from another node
    loaded_.emplace(std::move(loaded));
    is_done_.store(true, std::memory_order_release);
  }

  const uint64_t reserved_bytes_;
  const uint64_t reserved_gpu_bytes_;
  std::atomic<uint64_t> done_bytes_ = 0;
  std::atomic<uint64_t> total_bytes_ = 0;
  std::atomic<bool> is_done_ = false;
  // Written by the thread before is_done_, read by the owner after it.
  std::optional<Result<std::unique_ptr<engine::LocalModel>>> loaded_;
  std::thread thread_;
};

// The bytes of a slice's weights in main memory.
uint64_t MainBytes(const gguf::ModelFiles& files, const model::Shape& shape,
                   const model::Slice& slice, uint32_t gpu_layers) {
  const uint32_t there = std::min(gpu_layers, slice.layer_end - slice.layer_begin);
  return SliceBytes(files, shape, engine::WithoutLast(slice, there));
}

// The slice, shortened at its end or beginning until it fits. The head goes with the last layer,
// the embedding with the first.
model::Slice Shortened(const gguf::ModelFiles& files, const model::Shape& shape, model::Slice slice,
                       uint32_t gpu_layers, uint64_t free_bytes, bool from_end) {
  while (slice.layer_begin < slice.layer_end &&
         MainBytes(files, shape, slice, gpu_layers) > free_bytes) {
    if (from_end) {
      --slice.layer_end;
      slice.head = false;
    } else {
      ++slice.layer_begin;
      slice.embedding = false;
    }
  }
  return slice;
}

// For an error message: which part of the slice would fit. Some node has to hold the embedding and
// the head, so a slice with one of them keeps it.
std::string WhatFits(const gguf::ModelFiles& files, const model::Shape& shape,
                     const model::Slice& slice, uint32_t gpu_layers, uint64_t free_bytes) {
  const bool may_end_earlier = slice.embedding || !slice.head;
  const bool may_begin_later = slice.head || !slice.embedding;
  model::Slice most = slice;
  most.layer_end = most.layer_begin;
  for (const bool from_end : {true, false}) {
    if (!(from_end ? may_end_earlier : may_begin_later)) continue;
    const model::Slice left = Shortened(files, shape, slice, gpu_layers, free_bytes, from_end);
    if (left.layer_end - left.layer_begin > most.layer_end - most.layer_begin) most = left;
  }
  const uint32_t asked = slice.layer_end - slice.layer_begin;
  const uint32_t fitting = most.layer_end - most.layer_begin;
  if (fitting == 0) return fmt::format("none of these {} layers would fit", asked);
  return fmt::format("{} of these {} layers would fit: {}", fitting, asked,
                     plan::DescribeSlice(most));
}

// Free bytes of each GPU with memory of its own. Other slices are assumed to have filled all GPUs
// in proportion to their memory.
std::vector<uint64_t> FreeOnGpus(const std::vector<uint64_t>& gpu_bytes, uint64_t used_bytes) {
  const double sum = std::accumulate(gpu_bytes.begin(), gpu_bytes.end(), 0.0);
  const double share = sum > 0 ? std::min(1.0, static_cast<double>(used_bytes) / sum) : 0;
  std::vector<uint64_t> free_bytes;
  for (const uint64_t bytes : gpu_bytes) {
    const double used = share * static_cast<double>(bytes);
    free_bytes.push_back(bytes - std::min(bytes, static_cast<uint64_t>(used)));
  }
  return free_bytes;
}

// Layers of the slice that will lie in memory of GPUs.
Result<uint32_t> LayersOnGpus(const gguf::ModelFiles& files, const model::Shape& shape,
                              const SliceRequest& request, uint64_t kv_bytes,
                              const FileSliceOptions& options) {
  const model::Slice& slice = request.slice;
  if (!request.may_use_gpu || !options.gpu_layers.wanted() || !options.open_gpus) return 0;
  uint64_t room = slice.layer_end - slice.layer_begin;
  room = std::min<uint64_t>(room, options.gpu_layers.count.value_or(UINT32_MAX));
  if (!options.gpu_bytes) return static_cast<uint32_t>(room);
  const std::vector<uint64_t> rooms =
      engine::GpuRooms(TRY(engine::SizesInFiles(files, shape, slice.part)), shape, slice, kv_bytes,
                       FreeOnGpus(*options.gpu_bytes, request.used_gpu_bytes));
  return static_cast<uint32_t>(
      std::min(room, std::accumulate(rooms.begin(), rooms.end(), uint64_t{0})));
}

}  // namespace

uint64_t SliceBytes(const gguf::ModelFiles& files, const model::Shape& shape,
                    const model::Slice& slice) {
  uint64_t bytes = 0;
  for (const model::TensorSpec& spec : model::TensorsOf(shape)) {
    if (!slice.Needs(shape, spec)) continue;
    const gguf::Tensor* const tensor = model::FindTensor(files, spec);
    if (tensor == nullptr) continue;
    const bool is_head = slice.head && shape.tied_head && spec.name == "token_embd.weight";
    const Result<uint64_t> size =
        model::TensorBytesIn(model::Place::kMemory, spec, tensor->type, is_head);
    if (size.ok()) bytes += model::BytesOfPart(slice.part, shape, spec, *size);
  }
  return bytes;
}

Result<SliceRoom> FindRoom(const gguf::ModelFiles& files, const SliceRequest& request,
                           const FileSliceOptions& options) {
  const model::Slice& slice = request.slice;
  const model::Support support = model::CheckSupport(files, slice);
  if (!support.ok()) {
    return FailedPrecondition(fmt::format("the file does not have what {} need: {}",
                                          plan::DescribeSlice(slice),
                                          fmt::join(support.obstacles, "; ")));
  }
  const model::Shape& shape = *support.shape;
  if (slice.layer_end > shape.layer_count) {
    return InvalidArgument(
        fmt::format("{} of a model of {} layers", plan::DescribeSlice(slice), shape.layer_count));
  }
  TRY(model::CheckGroup(slice.part, shape));
  // Main memory beside other slices has to hold the weights and the smallest useful KV cache,
  // except those parts of both that are on GPUs.
  const uint64_t limit =
      options.memory_bytes > 0
          ? options.memory_bytes
          : static_cast<uint64_t>(static_cast<double>(DetectMemory().total_bytes) *
                                  kDefaultMemoryShare);
  SliceRoom room{.weight_bytes = SliceBytes(files, shape, slice)};
  room.free_bytes = limit - std::min(limit, request.used_bytes);
  const uint64_t beside_weights = room.free_bytes - std::min(room.free_bytes, room.weight_bytes);
  room.kv_bytes = request.kv_bytes > 0
                      ? request.kv_bytes
                      : std::clamp(beside_weights / 2, kLeastKvBytes, kMostKvBytes);
  const uint32_t layers = std::max(1u, slice.layer_end - slice.layer_begin);
  const uint32_t on_gpus = TRY(LayersOnGpus(files, shape, request, room.kv_bytes, options));
  // Main memory and GPUs get their layers' share of the KV cache.
  const uint64_t main_weights = MainBytes(files, shape, slice, on_gpus);
  const uint64_t gpu_kv = room.kv_bytes / layers * on_gpus;
  const uint64_t main_kv = room.kv_bytes - gpu_kv;
  if (main_kv > room.free_bytes || main_weights > room.free_bytes - main_kv) {
    const uint64_t for_weights = room.free_bytes - std::min(room.free_bytes, main_kv);
    const std::string gpus =
        on_gpus > 0 ? fmt::format(", beside {} layers in GPU memory", on_gpus) : "";
    return ResourceExhausted(fmt::format(
        "{} of weights and {} of KV cache do not fit into {} of memory, of which {} are taken{}; "
        "{}{}",
        FormatBytes(main_weights), FormatBytes(main_kv), FormatBytes(limit),
        FormatBytes(request.used_bytes), gpus, WhatFits(files, shape, slice, on_gpus, for_weights),
        main_weights < room.free_bytes ? "; or ask for less with --kv-memory" : ""));
  }
  room.main_bytes = main_weights + main_kv;
  room.gpu_bytes = room.weight_bytes - main_weights + gpu_kv;
  return room;
}

FileSliceSource::FileSliceSource(FileSliceOptions options) : options_(std::move(options)) {}

void FileSliceSource::Add(const Hash128& fingerprint,
                          std::shared_ptr<const gguf::ModelFiles> files) {
  MutexLock lock(mu_);
  held_.push_back({fingerprint, std::move(files)});
}

std::string FileSliceSource::Models() const {
  std::vector<std::string> models;
  const MutexLock lock(mu_);
  for (const Held& held : held_) {
    const std::filesystem::path path = held.files->files().front().path();
    models.push_back(
        fmt::format("{} ({})", path.stem().string(), held.fingerprint.ToHex().substr(0, 8)));
  }
  return models.empty() ? "none" : fmt::format("{}", fmt::join(models, ", "));
}

Result<std::unique_ptr<SliceLoading>> FileSliceSource::Start(const SliceRequest& request) {
  std::shared_ptr<const gguf::ModelFiles> files;
  {
    MutexLock lock(mu_);
    for (const Held& held : held_) {
      if (held.fingerprint == request.fingerprint) files = held.files;
    }
  }
  if (files == nullptr) {
    return NotFound(fmt::format(
        "no file here is the model {}; there are: {}; start the node with --model and the same "
        "file",
        request.fingerprint.ToHex().substr(0, 8), Models()));
  }
  const SliceRoom room = TRY(FindRoom(*files, request, options_));
  engine::LocalModelOptions options;
  options.threads = options_.threads;
  options.isa = options_.isa;
  if (request.may_use_gpu) options.gpu_layers = options_.gpu_layers;
  options.open_gpus = options_.open_gpus;
  options.slice = request.slice;
  options.memory = request.memory;
  options.name = request.memory_name;
  options.memory_bytes = room.kv_bytes;
  options.main_memory_bytes = room.free_bytes;
  options.drafter = files->drafter();
  options.memory_now = options_.kv_now;
  // A KV cache with another name than the model's has rows from compressed KV transfers. Requests
  // for exact rows cannot use them, so they are not worth a place on disk.
  if (request.memory_name == request.fingerprint) options.page_store = options_.page_store;
  return std::make_unique<FileLoading>(std::move(files), std::move(options), room);
}

}  // namespace aster::stage
