// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/local_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/units.h"
#include "kernels/isa_choice.h"
#include "kernels/pack.h"
#include "kv/page_codec.h"
#include "model/files/support.h"

namespace aster::engine {
namespace {

// Files with the same identity are the same model.
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

void AddTypes(const gguf::ModelFiles& files, vulkan::KernelUse& use) {
  for (const gguf::ModelFiles::Entry& entry : files.entries()) {
    if (const auto type = kernels::WeightTypeOf(entry.tensor->type)) use.weights.Add(*type);
  }
}

// The kernels that a model needs on a GPU.
vulkan::KernelUse UseOf(const gguf::ModelFiles& files, const model::Shape& shape,
                        const model::MemoryOptions& memory) {
  vulkan::KernelUse use = {.experts = shape.experts.count > 0,
                           .latent = shape.is_latent() || shape.is_mla(),
                           .shared = shape.shares_compressed_rows(),
                           .states = shape.is_recurrent()};
  if (!use.latent) use.pages = {memory.type};
  use.capped = shape.attention_cap > 0.0f;
  AddTypes(files, use);
  return use;
}

// The kernels of its drafter in addition: plain attention, except for DeepSeek V4.
void AddDrafter(const gguf::ModelFiles& drafter, const model::Shape& shape,
                const model::MemoryOptions& memory, vulkan::KernelUse& use) {
  AddTypes(drafter, use);
  if (!shape.is_latent()) use.pages = {memory.type};
}

uint32_t SumOf(std::span<const uint32_t> shares) {
  return std::accumulate(shares.begin(), shares.end(), 0u);
}

kv::LayerRange LayersOf(const model::Weights& weights) {
  return {weights.slice.layer_begin, weights.slice.layer_end};
}

}  // namespace

// Layers of each GPU: as many as wanted, or fewer if the model can only be cut elsewhere.
std::vector<uint32_t> LocalModel::SharesOf(const model::Shape& shape, const model::Slice& slice,
                                           uint32_t layers, std::span<const FoundGpu> gpus) {
  std::vector<uint64_t> rooms;
  for (const FoundGpu& each : gpus) rooms.push_back(each.room);
  std::vector<uint32_t> shares = SharesAtCuts(shape, slice.layer_end, ShareOut(layers, rooms));
  if (const uint32_t count = SumOf(shares); count < layers) {
    gpu_note_ = fmt::format(
        "{} of {} layers are on the GPU: some layers of this model need results of earlier ones",
        count, layers);
  }
  return shares;
}

LocalModel::LocalModel(const LocalModelOptions& options, kernels::Isa isa)
    : pool_(options.threads == 0 ? UsableCpuCount() : options.threads),
      context_{pool_, isa},
      page_store_(options.page_store) {}

Result<std::unique_ptr<LocalModel>> LocalModel::Start(const LocalModelOptions& options) {
  const kernels::Isa isa = options.isa ? *options.isa : TRY(kernels::IsaFromEnvironment());
  return std::unique_ptr<LocalModel>(
      new LocalModel(options, isa));  // tidy: allow(ownership) the constructor is private
}

// If the user gave a number of layers, a failure is an error; an automatic choice continues without
// a GPU and says why. Both continue without a GPU that was listed and is lost.
Result<std::vector<LocalModel::FoundGpu>> LocalModel::FindGpus(const gguf::ModelFiles& files,
                                                               const LocalModelOptions& options,
                                                               const model::Slice& slice) {
  std::vector<FoundGpu> found;
  // Without the option, or a way to open GPUs, everything is on the processor.
  if (!options.gpu_layers.wanted() || !options.open_gpus) return found;
  const model::Shape shape = TRY(model::ShapeOf(files));
  const bool is_automatic = !options.gpu_layers.count;
  vulkan::KernelUse use = UseOf(files, shape, options.memory);
  use.parts = !slice.part.is_whole();
  if (options.drafter != nullptr) AddDrafter(*options.drafter, shape, options.memory, use);
  Result<Gpus> gpus = options.open_gpus(use, context_);
  lost_gpu_while_loading_ = !gpus.ok() && gpus.error().code() == Code::kUnavailable;
  if (!gpus.ok() && (is_automatic || lost_gpu_while_loading_)) {
    gpu_note_ = fmt::format("no GPU is used: {}", gpus.error().message());
    return found;
  }
  std::vector<uint64_t> available;
  for (auto& gpu : TRY(std::move(gpus).In("--gpu-layers"))) {
    available.push_back(gpu->available_bytes());
    found.push_back({std::move(gpu), available.back()});
  }
  if (!is_automatic) return found;
  // Room for the drafter beside the head.
  if (options.drafter != nullptr && slice.head && !available.empty())
    available.back() -= std::min(available.back(), BytesInFiles(*options.drafter));
  const std::vector<uint64_t> rooms = GpuRooms(TRY(SizesInFiles(files, shape, slice.part)), shape,
                                               slice, options.memory_bytes, available);
  for (size_t i = 0; i < found.size(); ++i) {
    found[i].room = rooms[i];
    if (rooms[i] == 0)
      gpu_note_ = fmt::format("{} has no memory for a layer", found[i].gpu->name());
  }
  return found;
}

// Whether everything that is not on GPUs with their own memory fits into main memory.
Status LocalModel::CheckMainMemory(const gguf::ModelFiles& files, const LocalModelOptions& options,
                                   const model::Slice& slice, std::span<const uint32_t> shares,
                                   std::span<const FoundGpu> gpus) const {
  if (options.main_memory_bytes == 0) return Ok();
  const model::Shape shape = TRY(model::ShapeOf(files));
  const model::WeightSizes sizes = TRY(SizesInFiles(files, shape, slice.part));
  const uint32_t layers = slice.layer_end - slice.layer_begin;
  model::Slice part = WithoutLast(slice, SumOf(shares));
  uint32_t here = part.layer_end - part.layer_begin;
  uint64_t weights = sizes.Of(part);
  for (size_t i = 0; i < gpus.size(); ++i) {
    part = {part.layer_end, part.layer_end + shares[i], false, false, slice.part};
    if (!gpus[i].gpu->shares_memory()) continue;
    here += shares[i];
    weights += sizes.Of(part);
  }
  // In whole layers, like the division of pages.
  const uint64_t kv = options.memory_bytes / layers * here;
  if (weights <= options.main_memory_bytes && kv <= options.main_memory_bytes - weights)
    return Ok();
  return ResourceExhausted(
      fmt::format("{} of weights and {} of KV cache do not fit into {} of main memory that are "
                  "free, with {} of "
                  "{} layers in GPU memory",
                  FormatBytes(weights), FormatBytes(kv), FormatBytes(options.main_memory_bytes),
                  layers - here, layers));
}

// If the choice is automatic and memory is short, tries fewer layers. In both cases continues
// without a GPU that is lost meanwhile: the processor computes its layers.
Status LocalModel::LoadWeights(const gguf::ModelFiles& files, const LocalModelOptions& options,
                               const model::Slice& slice, const model::LoadProgress& progress) {
  std::vector<FoundGpu> gpus = TRY(FindGpus(files, options, slice));
  const uint32_t most = gpus.empty() ? 0 : slice.layer_end - slice.layer_begin;
  uint64_t wanted = options.gpu_layers.count.value_or(0);
  if (!options.gpu_layers.count) {
    for (const FoundGpu& each : gpus) wanted += each.room;
  }
  const model::Shape shape = TRY(model::ShapeOf(files));
  auto layers = static_cast<uint32_t>(std::min<uint64_t>(most, wanted));
  while (true) {
    const std::vector<uint32_t> shares = SharesOf(shape, slice, layers, gpus);
    layers = SumOf(shares);
    TRY(CheckMainMemory(files, options, slice, shares, gpus));
    const Status status = LoadParts(files, slice, shares, gpus, progress);
    if (status.ok()) return status;
    // Frees the loaded weights before the next try: both copies would not fit.
    parts_.clear();
    uint32_t lost = 0;
    for (size_t i = 0; i < gpus.size(); ++i) lost += gpus[i].gpu->lost() ? shares[i] : 0;
    std::erase_if(gpus, [](const FoundGpu& each) { return each.gpu->lost(); });
    if (lost > 0) {
      lost_gpu_while_loading_ = true;
      gpu_note_ = gpus.empty() ? fmt::format("no GPU is used: {}", status.error().message())
                               : fmt::format("the processor computes {} layers more: {}", lost,
                                             status.error().message());
      layers -= lost;
      continue;
    }
    const bool is_short = status.error().code() == Code::kResourceExhausted;
    if (!is_short || options.gpu_layers.count || layers == 0) return status;
    layers /= 2;
  }
}

// The processor has the first layers, so that rows leave it only once.
Status LocalModel::LoadParts(const gguf::ModelFiles& files, const model::Slice& slice,
                             std::span<const uint32_t> shares, std::span<const FoundGpu> gpus,
                             const model::LoadProgress& progress) {
  const uint32_t gpu_layers = SumOf(shares);
  uint32_t begin = slice.layer_begin;
  const auto load = [&](uint32_t count, std::shared_ptr<vulkan::Gpu> gpu) -> Status {
    const model::Slice own{.layer_begin = begin,
                           .layer_end = begin + count,
                           .embedding = slice.embedding && begin == slice.layer_begin,
                           .head = slice.head && begin + count == slice.layer_end,
                           .part = slice.part};
    Part part{.gpu = std::move(gpu), .weights = nullptr, .pool = nullptr};
    part.weights = std::make_shared<model::Weights>(
        TRY(model::LoadWeights(files, own, BackendOf(part), progress)));
    parts_.push_back(std::move(part));
    begin += count;
    return Ok();
  };
  // The embedding stays with the first layers, the head is with the last.
  const uint32_t host_layers = slice.layer_end - slice.layer_begin - gpu_layers;
  if (host_layers > 0 || gpu_layers == 0) TRY(load(host_layers, nullptr));
  for (size_t i = 0; i < gpus.size(); ++i) {
    if (shares[i] > 0) TRY(load(shares[i], gpus[i].gpu));
  }
  return Ok();
}

// Each pool has room for the same number of positions, so that none is full before the others.
void LocalModel::MakePools(uint64_t budget_bytes) {
  uint64_t page_bytes = 0;
  for (const Part& part : parts_) page_bytes += BytesOfPages(*layout_, LayersOf(*part.weights));
  const uint64_t pages = budget_bytes / std::max<uint64_t>(page_bytes, 1);
  for (Part& part : parts_) {
    const bool is_all = parts_.size() == 1;
    const uint64_t bytes =
        is_all ? budget_bytes : pages * BytesOfPages(*layout_, LayersOf(*part.weights));
    part.pool = std::make_unique<kv::Pool>(bytes, page_store_.get(), BackendOf(part).pages());
  }
}

// Makes one forward pass of all parts, and the list of each layer's pool.
void LocalModel::JoinParts() {
  forward_.reset();
  pool_of_layer_.clear();
  std::vector<model::BackendSlice> slices;
  for (const Part& part : parts_) {
    slices.push_back({.weights = *part.weights,
                      .backend = BackendOf(part),
                      .expert_use = part.gpu == nullptr ? expert_use_.get() : nullptr});
    pool_of_layer_.insert(pool_of_layer_.end(), LayersOf(*part.weights).size(), part.pool.get());
  }
  forward_.emplace(std::move(slices), memory_options_);
  forward_->Tap(taps_);
}

void LocalModel::Tap(std::vector<uint32_t> layers) {
  taps_ = std::move(layers);
  forward_->Tap(taps_);
}

void LocalModel::CountExperts(std::shared_ptr<model::ExpertUse> use) {
  expert_use_ = std::move(use);
  JoinParts();
}

bool LocalModel::has_lost_gpu() const {
  return std::ranges::any_of(
      parts_, [](const Part& part) { return part.gpu != nullptr && part.gpu->lost(); });
}

Status LocalModel::ReplaceLostGpus() {
  // Loads all before anything changes.
  std::vector<std::pair<Part*, Part>> replaced;
  for (Part& part : parts_) {
    if (part.gpu == nullptr || !part.gpu->lost()) continue;
    Part own{.gpu = nullptr, .weights = nullptr, .pool = nullptr};
    own.weights = std::make_shared<model::Weights>(
        TRY(model::LoadWeights(*source_, part.weights->slice, cpu_, nullptr)
                .In(fmt::format("{} was lost, and the processor cannot compute its layers",
                                part.gpu->name()))));
    own.pool = std::make_unique<kv::Pool>(part.pool->usage().budget_bytes, page_store_.get(),
                                          cpu_.pages());
    replaced.emplace_back(&part, std::move(own));
  }
  if (replaced.empty()) return Ok();
  const bool has_lost_drafter =
      drafter_ != nullptr && parts_.back().gpu != nullptr && parts_.back().gpu->lost();
  forward_.reset();
  for (auto& [part, own] : replaced) {
    log::Warn("a GPU was lost; the processor computes its layers from here on",
              {{"gpu", part->gpu->name()}, {"layers", LayersOf(*part->weights).size()}});
    lost_.push_back(std::exchange(*part, std::move(own)));
  }
  ++replacements_;
  JoinParts();
  if (!has_lost_drafter) return Ok();
  lost_drafters_.push_back(std::exchange(drafter_, nullptr));
  const Status drafter = PackDrafter(lost_drafters_.back()->shape);
  if (!drafter.ok()) drafter_problem_ = drafter.error();
  return Ok();
}

Status LocalModel::PackDrafter(const model::BlockShape& shape) {
  drafter_ = std::make_shared<const model::BlockWeights>(TRY(model::LoadBlockWeights(
      *drafter_files_, shape, source_->FindTensor("token_embd.weight"), backend())));
  return Ok();
}

Status LocalModel::Finish(const LocalModelOptions& options, const Hash128& name) {
  // The name and the layout decide which KV rows are this model's: same name, same bits.
  name_ = options.name.value_or(name);
  memory_options_ = model::Narrowed(options.memory, shape());
  layout_ = TRY(model::MakeMemoryLayout(shape(), memory_options_, name_, weights().slice.part));
  MakePools(options.memory_bytes);
  JoinParts();
  // A server takes all of its memory at the start, so that it cannot fail later.
  if (!options.memory_now) return Ok();
  for (const Part& part : parts_) part.pool->TakeNow(PageSizes(*layout_, LayersOf(*part.weights)));
  return Ok();
}

Result<std::unique_ptr<LocalModel>> LocalModel::Load(const gguf::ModelFiles& files,
                                                     const LocalModelOptions& options,
                                                     const model::LoadProgress& progress) {
  CHECK_NOTE(options.page_store == nullptr || options.name, "a store needs the model's name");
  // If the content has a name, all of it was read, and copies were compared.
  if (!options.name) TRY(files.CompareCopies());
  auto model = TRY(Start(options));
  const model::Slice slice =
      options.slice ? *options.slice : model::Slice::Whole(TRY(model::ShapeOf(files)));
  model->source_ = &files;
  // First the weights of each part, then the KV cache beside them.
  TRY(model->LoadWeights(files, options, slice, progress));
  // A model answers the same without its drafter.
  if (const Status drafter = model->LoadDrafter(options, slice); !drafter.ok()) {
    log::Warn("the model's drafter is not used", {{"file", options.drafter->files().front().path()},
                                                  {"why", drafter.error().message()}});
    model->drafter_problem_ = drafter.error();
  }
  TRY(model->Finish(options, NameOf(files)));
  return model;
}

// Beside the head, and only if all layers that it reads are here.
Status LocalModel::LoadDrafter(const LocalModelOptions& options, const model::Slice& slice) {
  if (options.drafter == nullptr) return Ok();
  const gguf::ModelFiles& files = *options.drafter;
  model::BlockShape shape =
      TRY(model::BlockShapeOf(files, source_->metadata(), TRY(model::ShapeOf(*source_))));
  if (!slice.head || !slice.part.is_whole() || shape.taps.front() < slice.layer_begin) {
    drafter_problem_ = FailedPrecondition(
        fmt::format("the model's drafter reads rows behind layer {} and later ones: one node has "
                    "to compute these and the head, alone",
                    shape.taps.front()));
    return Ok();
  }
  if (source_->FindTensor("token_embd.weight") == nullptr && !shape.has_embedding) {
    return FailedPrecondition(
        "it uses the model's embedding (token_embd.weight), which is in none of the files here");
  }
  const uint64_t bytes = BytesInFiles(files);
  const uint64_t limit = options.main_memory_bytes;
  const uint64_t taken = packed_bytes() + options.memory_bytes;
  if (limit > 0 && parts_.back().is_here() && bytes > limit - std::min(limit, taken)) {
    return ResourceExhausted(
        fmt::format("its {} do not fit beside the model into {} of main memory that are free",
                    FormatBytes(bytes), FormatBytes(limit)));
  }
  drafter_files_ = options.drafter;
  return PackDrafter(shape);
}

Result<const model::BlockWeights*> LocalModel::drafter() const {
  if (drafter_ != nullptr) return drafter_.get();
  if (drafter_problem_) return *drafter_problem_;
  return FailedPrecondition(
      "this model has no MTP block and no drafter of blocks: draft with ngram, or with a smaller "
      "model");
}

Result<std::unique_ptr<LocalModel>> LocalModel::ShareWeights(const LocalModel& other,
                                                             const LocalModelOptions& options) {
  auto model = TRY(Start(options));
  for (const Part& part : other.parts_)
    model->parts_.push_back({.gpu = part.gpu, .weights = part.weights, .pool = nullptr});
  model->files_ = other.files_;
  model->source_ = other.source_;
  model->drafter_files_ = other.drafter_files_;
  model->drafter_ = other.drafter_;
  model->drafter_problem_ = other.drafter_problem_;
  TRY(model->Finish(options, other.name_));
  return model;
}

uint32_t LocalModel::gpu_layers() const {
  uint32_t layers = 0;
  for (const Part& part : parts_)
    layers += part.gpu == nullptr ? 0 : LayersOf(*part.weights).size();
  return layers;
}

size_t LocalModel::gpu_count() const {
  return static_cast<size_t>(
      std::ranges::count_if(parts_, [](const Part& part) { return part.gpu != nullptr; }));
}

std::string LocalModel::gpu_names() const {
  std::vector<std::string> names;
  for (const Part& part : parts_) {
    if (part.gpu == nullptr) continue;
    names.push_back(part.gpu->name());
    if (gpu_count() > 1) names.back() += fmt::format(" ({})", LayersOf(*part.weights).size());
  }
  return fmt::format("{}", fmt::join(names, " and "));
}

uint64_t LocalModel::packed_bytes() const {
  uint64_t bytes = drafter_ != nullptr && parts_.back().is_here() ? drafter_->PackedBytes() : 0;
  for (const Part& part : parts_) bytes += part.is_here() ? part.weights->PackedBytes() : 0;
  return bytes;
}

uint64_t LocalModel::main_memory_bytes() const {
  uint64_t bytes = drafter_ != nullptr && parts_.back().is_here() ? drafter_->PackedBytes() : 0;
  for (const Part& part : parts_) bytes += part.is_here() ? part.bytes() : 0;
  return bytes;
}

uint64_t LocalModel::gpu_memory_bytes() const {
  uint64_t bytes = drafter_ != nullptr && !parts_.back().is_here() ? drafter_->PackedBytes() : 0;
  for (const Part& part : parts_) bytes += part.is_here() ? 0 : part.bytes();
  return bytes;
}

kv::Pool::Usage LocalModel::memory() const {
  kv::Pool::Usage sum;
  for (const Part& part : parts_) {
    const kv::Pool::Usage& usage = part.pool->usage();
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
