// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/local_model.h"

#include "base/check.h"
#include "base/machine.h"
#include "kernels/isa_choice.h"

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

}  // namespace

LocalModel::LocalModel(const LocalModelOptions& options, kernels::Isa isa)
    : pool_(options.threads == 0 ? UsableCpuCount() : options.threads),
      context_{pool_, isa},
      page_store_(options.page_store),
      pages_(options.memory_bytes, page_store_.get()) {}

Result<std::unique_ptr<LocalModel>> LocalModel::Start(const LocalModelOptions& options) {
  const kernels::Isa isa = options.isa ? *options.isa : TRY(kernels::IsaFromEnvironment());
  return std::unique_ptr<LocalModel>(
      new LocalModel(options, isa));  // tidy: allow(ownership) the constructor is private
}

Status LocalModel::Finish(const LocalModelOptions& options, const Hash128& name) {
  name_ = options.name.value_or(name);
  memory_options_ = model::Narrowed(options.memory, shape());
  layout_ = TRY(model::MakeMemoryLayout(shape(), memory_options_, name_));
  forward_.emplace(*weights_, memory_options_, cpu_);
  if (options.memory_now) pages_.TakeNow(PageSizes(*layout_, layers()));
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
  model->weights_ = std::make_shared<model::Weights>(
      TRY(model::LoadWeights(files, slice, model->cpu_, progress)));
  TRY(model->Finish(options, NameOf(files)));
  return model;
}

Result<std::unique_ptr<LocalModel>> LocalModel::ShareWeights(const LocalModel& other,
                                                             const LocalModelOptions& options) {
  auto model = TRY(Start(options));
  model->weights_ = other.weights_;
  model->files_ = other.files_;
  TRY(model->Finish(options, other.name_));
  return model;
}

kv::PageTable LocalModel::NewTable() { return {*layout_, pages_, layers()}; }

}  // namespace aster::engine
