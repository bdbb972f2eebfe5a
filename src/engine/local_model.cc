// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/local_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/machine.h"
#include "kernels/isa_choice.h"
#include "kv/page_codec.h"

namespace aster::engine {
namespace {

// Files that have not changed since are the same model.
Hash128 NameOf(const gguf::ModelFiles& files) {
  Hasher hasher;
  for (const gguf::File& file : files.files()) {
    const FileIdentity& identity = file.mapped().identity();
    hasher.AddValue(identity.device);
    hasher.AddValue(identity.inode);
    hasher.AddValue(identity.size_bytes);
    hasher.AddValue(identity.modified_ns);
  }
  return hasher.Digest();
}

// One for each stream of these layers.
std::vector<size_t> PageSizes(const kv::Layout& layout, kv::LayerRange layers) {
  std::vector<size_t> sizes;
  for (uint32_t layer = layers.begin; layer < layers.end; ++layer) {
    for (const kv::Stream& stream : layout.streams(layer)) {
      sizes.push_back(stream.codec->page_bytes());
    }
  }
  return sizes;
}

uint64_t BytesOfPages(const kv::Layout& layout, kv::LayerRange layers) {
  uint64_t bytes = 0;
  for (const size_t page : PageSizes(layout, layers)) bytes += kv::AlignedPageBytes(page);
  return bytes;
}

kv::LayerRange LayersOf(const model::Weights& weights) {
  return {weights.slice.layer_begin, weights.slice.layer_end};
}

}  // namespace

LocalModel::LocalModel(const LocalModelOptions& options, kernels::Isa isa)
    : pool_(options.threads == 0 ? UsableCpuCount() : options.threads),
      context_{pool_, isa},
      page_store_(options.page_store) {}

Result<std::unique_ptr<LocalModel>> LocalModel::Start(const LocalModelOptions& options) {
  const kernels::Isa isa = options.isa ? *options.isa : TRY(kernels::IsaFromEnvironment());
  return std::unique_ptr<LocalModel>(
      new LocalModel(options, isa));  // tidy: allow(ownership) the constructor is private
}

// A number is what the user insists on; automatic choice goes on without a GPU and says why.
Status LocalModel::ChooseGpuLayers(const gguf::ModelFiles& files, const LocalModelOptions& options,
                                   const model::Slice& slice) {
  // Without the option, or a way to open a GPU, everything is on the processor.
  if (!options.gpu_layers.wanted() || !options.open_gpu) return Ok();
  const bool is_automatic = !options.gpu_layers.count;
  const model::Shape shape = TRY(model::ReadShape(files.metadata()));
  // A GPU is opened only for a model that its shaders can compute.
  const auto open = [&]() -> Result<std::unique_ptr<vulkan::Gpu>> {
    TRY(CheckGpuCanCompute(shape));
    return options.open_gpu(context_);
  };
  Result<std::unique_ptr<vulkan::Gpu>> gpu = open();
  if (!gpu.ok() && is_automatic) {
    gpu_note_ = fmt::format("no GPU is used: {}", gpu.error().message());
    return Ok();
  }
  gpu_ = TRY(std::move(gpu).In("--gpu-layers"));
  const uint32_t most = slice.layer_end - slice.layer_begin;
  // As many layers as were asked for; automatically, as many as fit beside their KV cache.
  gpu_layers_ = std::min(most, options.gpu_layers.count.value_or(most));
  if (!is_automatic) return Ok();
  gpu_layers_ =
      TRY(GpuLayersThatFit(files, shape, slice, options.memory_bytes, gpu_->available_bytes()));
  if (gpu_layers_ == 0) gpu_note_ = fmt::format("{} has no memory for a layer", gpu_->name());
  return Ok();
}

// Where the choice is automatic and memory turns out to be short, fewer layers are tried.
Status LocalModel::LoadWeights(const gguf::ModelFiles& files, const LocalModelOptions& options,
                               const model::Slice& slice, const model::LoadProgress& progress) {
  while (true) {
    const Status status = LoadParts(files, slice, progress);
    const bool may_shrink = !options.gpu_layers.count && gpu_layers_ > 0;
    if (status.ok() || !may_shrink || status.error().code() != Code::kResourceExhausted)
      return status;
    // What was loaded is freed before the next try: both copies would not fit.
    weights_.clear();
    gpu_layers_ /= 2;
  }
}

// The GPU's layers are the last ones: rows leave the processor once.
Status LocalModel::LoadParts(const gguf::ModelFiles& files, const model::Slice& slice,
                             const model::LoadProgress& progress) {
  model::Slice host = slice;
  model::Slice gpu = slice;
  // The embedding stays with the first layers, the head goes with the last.
  host.layer_end = gpu.layer_begin = slice.layer_end - gpu_layers_;
  host.head = slice.head && gpu_layers_ == 0;
  gpu.embedding = slice.embedding && gpu.layer_begin == slice.layer_begin;
  const auto load = [&](const model::Slice& part, compute::Backend& backend) -> Status {
    if (part.layer_begin == part.layer_end && gpu_layers_ > 0) return Ok();
    weights_.push_back(
        std::make_shared<model::Weights>(TRY(model::LoadWeights(files, part, backend, progress))));
    return Ok();
  };
  // The processor's part is empty where all layers are on the GPU.
  TRY(load(host, cpu_));
  if (gpu_layers_ > 0) TRY(load(gpu, gpu_->backend()));
  return Ok();
}

compute::Backend& LocalModel::BackendOf(const model::Weights& weights) {
  return gpu_layers_ > 0 && &weights == weights_.back().get() ? gpu_->backend() : cpu_;
}

// As many positions fit into each pool, so that none is full before the others.
void LocalModel::MakePools(uint64_t budget_bytes) {
  // One back end has the whole budget; several share it by what a page of their layers takes.
  if (weights_.size() == 1) {
    pools_.push_back(std::make_unique<kv::Pool>(budget_bytes, page_store_.get(),
                                                BackendOf(*weights_[0]).pages()));
  } else {
    const uint64_t pages = budget_bytes / BytesOfPages(*layout_, layers());
    for (const auto& weights : weights_) {
      const uint64_t bytes = pages * BytesOfPages(*layout_, LayersOf(*weights));
      pools_.push_back(
          std::make_unique<kv::Pool>(bytes, page_store_.get(), BackendOf(*weights).pages()));
    }
  }
  for (size_t i = 0; i < weights_.size(); ++i) {
    pool_of_layer_.insert(pool_of_layer_.end(), LayersOf(*weights_[i]).size(), pools_[i].get());
  }
}

Status LocalModel::Finish(const LocalModelOptions& options, const Hash128& name) {
  // The name and the layout decide which KV rows are this model's: same name, same bits.
  name_ = options.name.value_or(name);
  memory_options_ = model::Narrowed(options.memory, shape());
  layout_ = TRY(model::MakeMemoryLayout(shape(), memory_options_, name_));
  std::vector<model::BackendSlice> slices;
  for (const auto& weights : weights_) slices.push_back({*weights, BackendOf(*weights)});
  forward_.emplace(std::move(slices), memory_options_);
  MakePools(options.memory_bytes);
  // A server takes all of its memory at the start, so that it does not fail for it later.
  if (!options.memory_now) return Ok();
  for (size_t i = 0; i < pools_.size(); ++i)
    pools_[i]->TakeNow(PageSizes(*layout_, LayersOf(*weights_[i])));
  return Ok();
}

Result<std::unique_ptr<LocalModel>> LocalModel::Load(const gguf::ModelFiles& files,
                                                     const LocalModelOptions& options,
                                                     const model::LoadProgress& progress) {
  CHECK_NOTE(options.page_store == nullptr || options.name, "a store needs the model's name");
  // Where the content has a name, it has been read as a whole, and copies were compared.
  if (!options.name) TRY(files.CompareCopies());
  auto model = TRY(Start(options));
  const model::Slice slice =
      options.slice ? *options.slice : model::Slice::Whole(TRY(model::ReadShape(files.metadata())));
  // Which layers go where, their weights, then the KV cache beside them.
  TRY(model->ChooseGpuLayers(files, options, slice));
  TRY(model->LoadWeights(files, options, slice, progress));
  TRY(model->Finish(options, NameOf(files)));
  return model;
}

Result<std::unique_ptr<LocalModel>> LocalModel::ShareWeights(const LocalModel& other,
                                                             const LocalModelOptions& options) {
  auto model = TRY(Start(options));
  model->weights_ = other.weights_;
  model->gpu_ = other.gpu_;
  model->gpu_layers_ = other.gpu_layers_;
  model->files_ = other.files_;
  TRY(model->Finish(options, other.name_));
  return model;
}

uint64_t LocalModel::packed_bytes() const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < weights_.size(); ++i) {
    const bool is_on_gpu = gpu_layers_ > 0 && i + 1 == weights_.size();
    if (!is_on_gpu) bytes += weights_[i]->PackedBytes();
  }
  return bytes;
}

kv::Pool::Usage LocalModel::memory() const {
  kv::Pool::Usage sum;
  for (const auto& pool : pools_) {
    const kv::Pool::Usage& usage = pool->usage();
    sum.budget_bytes += usage.budget_bytes;
    sum.held_bytes += usage.held_bytes;
    sum.cached_bytes += usage.cached_bytes;
    sum.blank_bytes += usage.blank_bytes;
    sum.evicted_pages += usage.evicted_pages;
  }
  return sum;
}

kv::PageTable LocalModel::NewTable() { return {*layout_, pool_of_layer_, layers()}; }

}  // namespace aster::engine
