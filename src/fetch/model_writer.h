// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// One model's folder in the store, written: bytes of tensors, and the journal that says which are
// there. The journal follows the data to the disk, never the other way round. Must not know peers.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/append_file.h"
#include "base/bytes.h"
#include "base/result.h"
#include "fetch/stored_model.h"

namespace aster::fetch {

// For the holder of the folder's lock. Not for concurrent use.
class ModelWriter {
 public:
  // Makes the data files that are missing. The model outlives the writer, which flushes to the disk
  // whenever it has written `sync_bytes`.
  static Result<ModelWriter> Open(const StoredModel& model, uint64_t sync_bytes);
  ModelWriter(ModelWriter&&) noexcept;
  ModelWriter& operator=(ModelWriter&&) = delete;
  ~ModelWriter();

  TensorState StateOf(const TensorPlace& place) const {
    return journal_.tensors[place.file_index][place.tensor_index];
  }

  // Some of the tensor's bytes that are there.
  Status Read(const TensorPlace& place, uint64_t offset, std::span<uint8_t> into) const;
  // The bytes that follow those that are there.
  Status Append(const TensorPlace& place, Bytes bytes);
  void SetVerified(const TensorPlace& place);
  // What is there is to be looked at again.
  void Doubt(const TensorPlace& place);
  // The tensor's bytes are wrong.
  void Drop(const TensorPlace& place);

  // What was done so far survives the process.
  Status Sync();
  // And is taken for true the next time, as long as the files are not touched.
  Status Finish();

 private:
  ModelWriter(const StoredModel& model, uint64_t sync_bytes)
      : model_(model), sync_bytes_(sync_bytes), journal_(model.journal()) {}
  Status OpenData(size_t file_index);

  const StoredModel& model_;
  const uint64_t sync_bytes_;
  Journal journal_;
  std::vector<int> descriptors_;  // of the data files; owned
  std::vector<AppendFile> log_;   // the journal's file; one, once it is open
  uint64_t unsynced_bytes_ = 0;
  std::vector<std::pair<size_t, size_t>> changed_;  // file and tensor, not in the log yet
};

}  // namespace aster::fetch
