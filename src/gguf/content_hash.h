// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Hashes the bytes of tensors with all threads, in bounded pieces of a mapped file. Knows neither
// caches nor what a model is.
// | A tensor's content hash is the Hash128 of the hashes of its chunks of 4 MiB (the last may be
// shorter), each written as its low and then its high half. So a single huge tensor is hashed by
// all threads, and the hash does not depend on their number.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "gguf/file.h"

namespace aster::gguf {

// Part of the definition of a content hash: changing it changes all fingerprints.
inline constexpr size_t kHashChunkBytes = size_t{4} << 20;

// Progress and cancellation of hashing.
struct HashingOptions {
  // Called at times in the calling thread, and at the end with done == total.
  std::function<void(uint64_t done_bytes, uint64_t total_bytes)> progress;
  // Hashing ends soon after a stop is requested, with an error of code kCancelled.
  std::stop_token stop;
};

// The content hashes of a file's tensors, in the file's order. Pages of the file are released once
// they are hashed. An error if a tensor's size is not known.
Result<std::vector<Hash128>> HashTensors(const File& file, ThreadPool& pool,
                                         const HashingOptions& options = {});

// The content hash of one tensor's bytes, by the calling thread alone.
Hash128 ContentHashOf(Bytes data);

// The same for bytes that come in pieces of any size. Not for concurrent use.
class ContentHasher {
 public:
  void Add(Bytes piece);
  // The hash of everything that was added; nothing may be added afterwards.
  Hash128 Finish();

 private:
  void EndChunk();

  Hasher chunk_;
  size_t chunk_bytes_ = 0;
  Hasher chunk_hashes_;
};

}  // namespace aster::gguf
