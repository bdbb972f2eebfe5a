// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The files of one model as one: a single file, the parts of a split model (give any of them, the
// others are found), or slices (files that each hold only some layers, given together), with an MTP
// block in a file of its own or without. Knows of layers only that their tensors are called
// blk.N.*.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "gguf/block_file.h"
#include "gguf/file.h"
#include "gguf/metadata.h"

namespace aster::gguf {

// Constant after Open, so any number of threads may read. Views into it live as long as the
// ModelFiles, and stay valid when it moves.
class ModelFiles {
 public:
  // A tensor and the file that holds it.
  struct Entry {
    const Tensor* tensor;
    size_t file_index;  // into files()
  };

  static Result<ModelFiles> Open(const std::vector<std::string>& paths);
  static Result<ModelFiles> Open(const std::string& path) { return Open(std::vector{path}); }
  // Files that are open already: all there are, whatever their names.
  static Result<ModelFiles> Join(std::vector<File> files);

  // Of files whose heads alone are here, checked by the caller: their data cannot be read.
  void SetFingerprint(const Hash128& fingerprint) { fingerprint_ = fingerprint; }
  const std::optional<Hash128>& fingerprint() const { return fingerprint_; }

  // In the order given, the parts of a split model in theirs.
  std::span<const File> files() const { return files_; }

  // The keys of all files but those of a block's; where several files hold the same key, the first
  // file's value. Keys that matter to the model are the same in all of them.
  const Metadata& metadata() const { return metadata_; }

  // A drafter of blocks that was given along with the model, as a model of its own; or null.
  const std::shared_ptr<const ModelFiles>& drafter() const { return drafter_; }

  // Every tensor once, by ascending name. A tensor that several slices repeat is the first one's,
  // and what a block's file repeats is the model's.
  std::span<const Entry> entries() const { return entries_; }
  // The other copies of tensors that several slices repeat: same name, type and shape, and, in an
  // honest model, content.
  std::span<const Entry> repeated() const { return repeated_; }

  // Whether the content of copies is the same, which must be known before computing: reads them.
  Status CompareCopies() const;

  // Null where no file holds it.
  const Entry* FindEntry(std::string_view name) const;
  const Tensor* FindTensor(std::string_view name) const;

  // What the model needs and no file holds, in words: "layers 31-60", "token_embd.weight". Empty
  // where all is there. An error where the metadata does not say how many layers there are.
  Result<std::vector<std::string>> MissingParts() const;

 private:
  static Result<ModelFiles> JoinSets(std::vector<File> files, std::vector<size_t> set_of_file);
  Status TakeDrafter(std::vector<Holding>& holdings, std::vector<size_t>& set_of_file);
  // Moves copies from entries_ to repeated_. Parts of one split must not hold copies.
  Status SeparateRepeated(const std::vector<size_t>& set_of_file);

  std::vector<File> files_;
  std::shared_ptr<const ModelFiles> drafter_;
  std::optional<Hash128> fingerprint_;
  Metadata metadata_;
  std::vector<Entry> entries_;
  std::vector<Entry> repeated_;
};

// "0-3, 7" for 0, 1, 2, 3, 7 (ascending).
std::string NumberRanges(std::span<const uint32_t> numbers);

}  // namespace aster::gguf
