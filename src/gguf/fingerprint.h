// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Identifies models: two machines with the same fingerprint have the same model, however it is
// named, described, split into files or ordered within them. Everything that changes the model's
// results or its tokens changes the fingerprint.
#pragma once

#include <string>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "gguf/content_hash.h"
#include "gguf/fingerprint_cache.h"
#include "gguf/model_files.h"

namespace aster::gguf {

struct Fingerprint {
  // Of everything together.
  Hash128 model;
  // The parts, for machines with different slices of a model and for naming differences: the keys
  // that matter, and the content of model.entries(), in their order.
  Hash128 metadata;
  std::vector<Hash128> contents;
  // Problems that do not affect the fingerprint, for the user: a cache that could not be stored.
  std::vector<std::string> warnings;
};

struct FingerprintOptions {
  HashingOptions hashing;  // progress is that of all files together
  bool use_cache = true;   // for reading and storing
  std::string cache_folder = DefaultCacheFolder();
};

// Reads every byte of every tensor that is not cached. Compares the copies of a tensor in several
// slices; a difference is an error.
Result<Fingerprint> FingerprintModel(const ModelFiles& model, ThreadPool& pool,
                                     const FingerprintOptions& options = {});

// The same from known content hashes: those of each file's tensors, in its order. Reads no data.
Result<Fingerprint> FingerprintOfContents(const ModelFiles& model,
                                          const std::vector<std::vector<Hash128>>& by_file);

}  // namespace aster::gguf
