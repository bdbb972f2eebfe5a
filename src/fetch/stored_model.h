// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Reads one model's folder in the store: the model, and its stored and verified tensors. Each file
// of the model has a sparse one of the same size with the data at the same places, without the
// head: it cannot be taken for a model of zeros. Must not know peers, nor who writes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "fetch/journal.h"
#include "gguf/model_files.h"
#include "rpc/control_service.h"

namespace aster::fetch {

// A tensor's place, and its expected content.
struct TensorPlace {
  size_t file_index = 0;
  size_t tensor_index = 0;  // in the file's order
  std::string_view name;    // owned by the layout
  uint64_t offset = 0;      // from the beginning of the file
  uint64_t size = 0;
  Hash128 content;
};

// Constant after Open.
class StoredModel {
 public:
  // NotFound if the folder has no trustworthy manifest of that model.
  static Result<StoredModel> Open(const std::string& folder, const Hash128& fingerprint);
  // Stores a manifest that CheckManifest accepted.
  static Status Keep(const std::string& folder, const rpc::ModelManifest& manifest);

  const std::string& folder() const { return folder_; }
  const std::shared_ptr<const rpc::ModelManifest>& manifest() const { return manifest_; }
  const Hash128& manifest_hash() const { return manifest_hash_; }
  // The model's files without their data.
  const gguf::ModelFiles& layout() const { return *layout_; }
  // As of Open. If a file was changed since its stamp, nothing of it counts as verified.
  const Journal& journal() const { return journal_; }
  bool IsVerified(const TensorPlace& place) const {
    return journal_.tensors[place.file_index][place.tensor_index].is_verified;
  }

  TensorPlace PlaceOf(const gguf::ModelFiles::Entry& entry) const;
  std::string DataPath(size_t file_index) const;
  std::string JournalPath() const { return folder_ + "/journal"; }

  // The model's files with the verified tensors that are wanted, and no others.
  Result<std::vector<gguf::File>> OpenFiles(
      FunctionRef<bool(std::string_view tensor)> wanted) const;
  Result<gguf::ModelFiles> Files(FunctionRef<bool(std::string_view tensor)> wanted) const {
    return gguf::ModelFiles::Join(TRY(OpenFiles(wanted)));
  }

 private:
  StoredModel() = default;

  std::string folder_;
  std::shared_ptr<const rpc::ModelManifest> manifest_;
  Hash128 manifest_hash_;
  std::shared_ptr<const gguf::ModelFiles> layout_;
  std::vector<std::string> data_names_;
  Journal journal_;
};

}  // namespace aster::fetch
