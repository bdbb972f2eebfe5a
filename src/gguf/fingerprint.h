// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Tells models apart: two machines with the same fingerprint hold the same model, however it is
// named, described, split into files or ordered within them. Everything that changes what the model
// computes from tokens, or how it makes tokens, changes the fingerprint.
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
  // The parts, for machines that hold different slices of one model and for saying what differs:
  // the keys that matter, and the content of model.entries(), in their order.
  Hash128 metadata;
  std::vector<Hash128> contents;
  // What a person might want to know though the fingerprint is right: a cache that could not be
  // stored.
  std::vector<std::string> warnings;
};

struct FingerprintOptions {
  HashingOptions hashing;  // progress is that of all files together
  bool use_cache = true;   // both to look up and to store
  std::string cache_folder = DefaultCacheFolder();
};

// Reads every byte of every tensor that no cache knows. The copies of a tensor that slices repeat
// are compared; that they differ is an error.
Result<Fingerprint> FingerprintModel(const ModelFiles& model, ThreadPool& pool,
                                     const FingerprintOptions& options = {});

// The same from content hashes that are known: those of each file's tensors, in its order. The
// files' data is not looked at.
Result<Fingerprint> FingerprintOfContents(const ModelFiles& model,
                                          const std::vector<std::vector<Hash128>>& by_file);

}  // namespace aster::gguf
