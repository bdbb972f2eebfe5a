// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Hashes the bytes of tensors, all threads together, in bounded pieces of a mapped file. Knows
// neither caches nor what a model is.
//
// A tensor's content hash is the Hash128 of the hashes of its chunks of 4 MiB (the last may be
// shorter), each written as its low and then its high half. So one huge tensor keeps every thread
// busy, and the hash does not depend on how many there are.
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

// Part of the definition of a content hash; a change makes all fingerprints different.
inline constexpr size_t kHashChunkBytes = size_t{4} << 20;

// What is told, and asked, while hashing.
struct HashingOptions {
  // Called now and then in the calling thread, and at the end with done == total.
  std::function<void(uint64_t done_bytes, uint64_t total_bytes)> progress;
  // Hashing ends soon after a stop is requested, with an error of code kCancelled.
  std::stop_token stop;
};

// The content hashes of a file's tensors, in the file's order. Pages of the file are released as
// soon as they are hashed. An error where a tensor's size is not known.
Result<std::vector<Hash128>> HashTensors(const File& file, ThreadPool& pool,
                                         const HashingOptions& options = {});

// The content hash of one tensor's bytes, by the calling thread alone.
Hash128 ContentHashOf(Bytes data);

// The same of bytes that come piece by piece, of any size. Not for concurrent use.
class ContentHasher {
 public:
  void Add(Bytes piece);
  // Of all that was added; nothing may be added after it.
  Hash128 Finish();

 private:
  void EndChunk();

  Hasher chunk_;
  size_t chunk_bytes_ = 0;
  Hasher chunk_hashes_;
};

}  // namespace aster::gguf
