// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Writes one model's folder in the store: bytes of tensors, and the journal of their state. The
// journal reaches the disk after the data, never before. Must not know peers.
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

// Needs the folder's lock. Not for concurrent use.
class ModelWriter {
 public:
  // Makes missing data files. The model outlives the writer, which flushes to the disk after every
  // `sync_bytes`.
  static Result<ModelWriter> Open(const StoredModel& model, uint64_t sync_bytes);
  ModelWriter(ModelWriter&&) noexcept;
  ModelWriter& operator=(ModelWriter&&) = delete;
  ~ModelWriter();

  TensorState StateOf(const TensorPlace& place) const {
    return journal_.tensors[place.file_index][place.tensor_index];
  }

  // Reads stored bytes of the tensor.
  Status Read(const TensorPlace& place, uint64_t offset, std::span<uint8_t> into) const;
  // Appends bytes to the stored ones.
  Status Append(const TensorPlace& place, Bytes bytes);
  void SetVerified(const TensorPlace& place);
  // The stored bytes must be hashed again.
  void Doubt(const TensorPlace& place);
  // The tensor's bytes are wrong.
  void Drop(const TensorPlace& place);

  // The work so far survives a crash.
  Status Sync();
  // The same, and counts as verified the next time, if the files are unchanged.
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
