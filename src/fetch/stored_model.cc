// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "fetch/stored_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "fetch/manifest.h"

namespace aster::fetch {
namespace {

// Heads of files are a few megabytes, mostly vocabulary; journals have a line for each tensor and
// for each fetched piece.
constexpr size_t kMaxManifestBytes = size_t{2} << 30;
constexpr size_t kMaxJournalBytes = size_t{256} << 20;
constexpr size_t kMaxNameBytes = 128;

std::string ManifestPath(const std::string& folder) { return folder + "/manifest"; }

// The name comes from another machine: the result is no path, and not hidden.
std::string SafeName(std::string_view name) {
  if (name.ends_with(".gguf")) name.remove_suffix(5);
  std::string safe;
  for (const char c : name.substr(0, kMaxNameBytes)) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
    safe += is_plain && !(safe.empty() && c == '.') ? c : '_';
  }
  return safe.empty() ? "model" : safe;
}

std::vector<std::string> DataNames(const rpc::ModelManifest& manifest) {
  std::vector<std::string> names;
  for (size_t i = 0; i < manifest.files.size(); ++i) {
    std::string name = SafeName(manifest.files[i].name) + ".weights";
    while (std::ranges::find(names, name) != names.end()) name = fmt::format("{}-{}", i, name);
    names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::vector<uint64_t>> SizesOf(const gguf::ModelFiles& layout) {
  std::vector<std::vector<uint64_t>> sizes;
  for (const gguf::File& file : layout.files()) {
    auto& of_file = sizes.emplace_back();
    for (const gguf::Tensor& tensor : file.tensors()) {
      of_file.push_back(gguf::TensorBytes(tensor.type, tensor.shape()).value());
    }
  }
  return sizes;
}

}  // namespace

Status StoredModel::Keep(const std::string& folder, const rpc::ModelManifest& manifest) {
  TRY(MakeDirectories(folder));
  return WriteFileAtomically(ManifestPath(folder), FormatManifest(manifest));
}

Result<StoredModel> StoredModel::Open(const std::string& folder, const Hash128& fingerprint) {
  const Result<std::string> text = ReadFile(ManifestPath(folder), kMaxManifestBytes);
  if (!text.ok()) return NotFound(fmt::format("{}: no weights are kept here", folder));
  StoredModel model;
  model.folder_ = folder;
  Result<rpc::ModelManifest> manifest = ParseManifest(AsBytes(*text));
  // A damaged manifest is fetched again, like a missing one.
  if (!manifest.ok()) return NotFound(manifest.error().message());
  Result<gguf::ModelFiles> layout = CheckManifest(*manifest, fingerprint);
  if (!layout.ok()) return NotFound(layout.error().message());
  model.data_names_ = DataNames(*manifest);
  model.manifest_ = std::make_shared<rpc::ModelManifest>(*std::move(manifest));
  model.manifest_hash_ = Hash128Of(AsBytes(*text));
  model.layout_ = std::make_shared<gguf::ModelFiles>(*std::move(layout));

  const Result<std::string> journal = ReadFile(model.JournalPath(), kMaxJournalBytes);
  model.journal_ = ParseJournal(journal.ok() ? std::string_view(*journal) : std::string_view(),
                                model.manifest_hash_, SizesOf(*model.layout_));
  for (size_t i = 0; i < model.journal_.stamps.size(); ++i) {
    const std::optional<FileStamp>& stamp = model.journal_.stamps[i];
    const Result<FileIdentity> identity = IdentifyFile(model.DataPath(i));
    if (stamp && identity.ok() && FileStamp::Of(*identity) == *stamp) continue;
    for (TensorState& state : model.journal_.tensors[i]) state.is_verified = false;
    if (!identity.ok()) std::ranges::fill(model.journal_.tensors[i], TensorState{});
  }
  return model;
}

std::string StoredModel::DataPath(size_t file_index) const {
  return fmt::format("{}/{}", folder_, data_names_[file_index]);
}

TensorPlace StoredModel::PlaceOf(const gguf::ModelFiles::Entry& entry) const {
  const gguf::Tensor* const first = layout_->files()[entry.file_index].tensors().data();
  const auto tensor_index = static_cast<size_t>(entry.tensor - first);
  return {.file_index = entry.file_index,
          .tensor_index = tensor_index,
          .name = entry.tensor->name,
          .offset = entry.tensor->offset,
          .size = gguf::TensorBytes(entry.tensor->type, entry.tensor->shape()).value(),
          .content = manifest_->files[entry.file_index].contents[tensor_index]};
}

Result<std::vector<gguf::File>> StoredModel::OpenFiles(
    FunctionRef<bool(std::string_view tensor)> wanted) const {
  std::vector<gguf::File> files;
  for (size_t i = 0; i < manifest_->files.size(); ++i) {
    const auto tensors = layout_->files()[i].tensors();
    // Unverified tensors are left out, so that they cannot be read by accident; so are second
    // copies of a tensor, which are never fetched.
    const auto is_there = [&](size_t tensor_index) {
      return journal_.tensors[i][tensor_index].is_verified && wanted(tensors[tensor_index].name);
    };
    files.push_back(
        TRY(gguf::File::OpenPartial(manifest_->files[i].header, DataPath(i), is_there)));
  }
  return files;
}

}  // namespace aster::fetch
