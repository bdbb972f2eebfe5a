// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The files of one model: a single file, the parts of a split model (any of them is enough, the
// others are found), or slices (files with some layers each, given together); with or without an
// MTP block in a file of its own. Knows of layers only that their tensors are named blk.N.*.
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
  // A tensor and its file.
  struct Entry {
    const Tensor* tensor;
    size_t file_index;  // into files()
  };

  static Result<ModelFiles> Open(const std::vector<std::string>& paths);
  static Result<ModelFiles> Open(const std::string& path) { return Open(std::vector{path}); }
  // From open files, with any names. These are all files of the model.
  static Result<ModelFiles> Join(std::vector<File> files);

  // If only the heads of files are here: checked by the caller, as the data cannot be read.
  void SetFingerprint(const Hash128& fingerprint) { fingerprint_ = fingerprint; }
  const std::optional<Hash128>& fingerprint() const { return fingerprint_; }

  // In the given order, the parts of a split model in theirs.
  std::span<const File> files() const { return files_; }

  // The keys of all files except those of a block's; if several files have the same key, the first
  // file's value. Keys that matter to the model are the same in all of them.
  const Metadata& metadata() const { return metadata_; }

  // A drafter of blocks that was given with the model, as a separate model; or null.
  const std::shared_ptr<const ModelFiles>& drafter() const { return drafter_; }

  // Every tensor once, by ascending name. If several slices have a tensor, it is the first one's;
  // if a block's file repeats one, it is the model's.
  std::span<const Entry> entries() const { return entries_; }
  // Further copies of tensors in several slices: same name, type and shape, and, in an honest
  // model, the same content.
  std::span<const Entry> repeated() const { return repeated_; }

  // Reads copies and compares their content, which must be equal before the model is used.
  Status CompareCopies() const;

  // Null if no file has it.
  const Entry* FindEntry(std::string_view name) const;
  const Tensor* FindTensor(std::string_view name) const;

  // What the model needs and no file has, in words: "layers 31-60", "token_embd.weight". Empty if
  // nothing is missing. An error if the metadata does not have the number of layers.
  Result<std::vector<std::string>> MissingParts() const;

 private:
  static Result<ModelFiles> JoinSets(std::vector<File> files, std::vector<size_t> set_of_file);
  Status TakeDrafter(std::vector<Holding>& holdings, std::vector<size_t>& set_of_file);
  // Moves copies from entries_ to repeated_. Parts of one split must not have copies.
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
