// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/held_models.h"

#include <filesystem>

#include "fetch/manifest.h"
#include "model/files/support.h"
#include "model/shape/shape.h"

namespace aster::node {
namespace {

std::string NameOf(const gguf::ModelFiles& files) {
  // The file's name is the owner's choice; the name inside is often that of another publisher.
  return std::filesystem::path(files.files().front().path()).stem().string();
}

bool Holds(const gguf::ModelFiles& files, const model::Slice& slice) {
  return model::CheckSupport(files, slice).ok();
}

}  // namespace

Result<cluster::HeldModel> DescribeModel(const gguf::ModelFiles& files,
                                         const Hash128& fingerprint) {
  const model::Shape shape = TRY(model::ShapeOf(files));
  cluster::HeldModel held{.fingerprint = fingerprint,
                          .name = NameOf(files),
                          .architecture = std::string(model::ArchName(shape.arch)),
                          .layer_count = shape.layer_count,
                          .layers = {},
                          .embedding = Holds(files, {.embedding = true}),
                          .head = Holds(files, {.head = true}),
                          .tensor_bytes = 0};
  for (uint32_t layer = 0; layer < shape.layer_count; ++layer) {
    if (!Holds(files, {.layer_begin = layer, .layer_end = layer + 1})) continue;
    if (!held.layers.empty() && held.layers.back().end == layer) {
      ++held.layers.back().end;
    } else {
      held.layers.push_back({layer, layer + 1});
    }
  }
  for (const gguf::ModelFiles::Entry& entry : files.entries()) {
    held.tensor_bytes += entry.tensor->data.size();
  }
  return held;
}

Result<std::shared_ptr<const HeldFiles>> HeldModels::Add(const std::vector<std::string>& paths,
                                                         ThreadPool& pool,
                                                         const gguf::FingerprintOptions& options) {
  auto held = std::make_shared<HeldFiles>();
  held->files = std::make_shared<gguf::ModelFiles>(TRY(gguf::ModelFiles::Open(paths)));
  held->fingerprint = TRY(gguf::FingerprintModel(*held->files, pool, options));
  held->description = TRY(DescribeModel(*held->files, held->fingerprint.model));
  const MutexLock lock(mu_);
  held_.push_back(held);
  return std::shared_ptr<const HeldFiles>(held);
}

std::shared_ptr<const HeldFiles> HeldModels::Find(const Hash128& fingerprint) const {
  const MutexLock lock(mu_);
  for (const auto& held : held_) {
    if (held->description.fingerprint == fingerprint) return held;
  }
  return nullptr;
}

void HeldModels::AddTo(stage::FileSliceSource& source) const {
  const MutexLock lock(mu_);
  for (const auto& held : held_) source.Add(held->fingerprint.model, held->files);
}

std::vector<cluster::HeldModel> HeldModels::Describe() const {
  const MutexLock lock(mu_);
  std::vector<cluster::HeldModel> descriptions;
  descriptions.reserve(held_.size());
  for (const auto& held : held_) descriptions.push_back(held->description);
  return descriptions;
}

std::vector<fetch::PartHere> HeldModels::Parts() const {
  const MutexLock lock(mu_);
  std::vector<fetch::PartHere> parts;
  for (const auto& held : held_) {
    if (held->description.is_whole() || held->description.layers.empty()) continue;
    parts.push_back({.part = {.description = held->description,
                              .manifest = fetch::MakeManifest(*held->files, held->fingerprint)},
                     .files = held->files,
                     .fingerprint = held->fingerprint});
  }
  return parts;
}

}  // namespace aster::node
