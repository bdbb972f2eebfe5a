// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "gguf/content_hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <numeric>

#include "base/checked.h"

namespace aster::gguf {
namespace {

size_t ChunkCount(Bytes data) { return DivideUp(data.size(), kHashChunkBytes); }

Bytes ChunkOf(Bytes data, size_t index) {
  const size_t begin = index * kHashChunkBytes;
  return data.subspan(begin, std::min(kHashChunkBytes, data.size() - begin));
}

Hash128 HashOfHashes(std::span<const Hash128> chunk_hashes) {
  Hasher hasher;
  for (const Hash128& hash : chunk_hashes) {
    hasher.AddValue(hash.low);
    hasher.AddValue(hash.high);
  }
  return hasher.Digest();
}

// The chunks of all tensors of one file, by their place in it.
class Chunks {
 public:
  explicit Chunks(const File& file) : file_(file), tensors_(file.tensors().size()) {
    std::iota(tensors_.begin(), tensors_.end(), size_t{0});
    std::ranges::sort(tensors_, {}, [&](size_t i) { return file.tensors()[i].offset; });
    size_t count = 0;
    for (const size_t tensor : tensors_) {
      first_chunk_.push_back(count);
      count += ChunkCount(file.tensors()[tensor].data);
      total_bytes_ += file.tensors()[tensor].data.size();
    }
    hashes_.resize(count);
  }

  size_t count() const { return hashes_.size(); }
  uint64_t total_bytes() const { return total_bytes_; }

  Bytes Data(size_t chunk) const {
    // The last tensor that begins at or before the chunk.
    const auto next = std::ranges::upper_bound(first_chunk_, chunk);
    const size_t rank = static_cast<size_t>(next - first_chunk_.begin()) - 1;
    return ChunkOf(file_.tensors()[tensors_[rank]].data, chunk - first_chunk_[rank]);
  }

  void Hash(size_t chunk) { hashes_[chunk] = Hash128Of(Data(chunk)); }

  // The hashes of the file's tensors, in their order, when every chunk is hashed.
  std::vector<Hash128> TensorHashes() const {
    std::vector<Hash128> hashes(tensors_.size());
    for (size_t rank = 0; rank < tensors_.size(); ++rank) {
      const size_t end = rank + 1 < tensors_.size() ? first_chunk_[rank + 1] : hashes_.size();
      hashes[tensors_[rank]] =
          HashOfHashes(std::span(hashes_).subspan(first_chunk_[rank], end - first_chunk_[rank]));
    }
    return hashes;
  }

 private:
  const File& file_;
  std::vector<size_t> tensors_;      // indices of file_.tensors(), by ascending offset
  std::vector<size_t> first_chunk_;  // [tensors_.size()]
  std::vector<Hash128> hashes_;      // [chunk]
  uint64_t total_bytes_ = 0;
};

// Releases pages that have been read. (Requesting pages before reading was measured, too; the
// system's own readahead is up to twice as fast.) No effect for a file in memory.
void DropPages(const File& file, Bytes data) {
  const Bytes mapped = file.mapped().bytes();
  if (mapped.empty() || data.empty()) return;
  file.mapped().DontNeed(static_cast<size_t>(data.data() - mapped.data()), data.size());
}

}  // namespace

Hash128 ContentHashOf(Bytes data) {
  std::vector<Hash128> hashes(ChunkCount(data));
  for (size_t i = 0; i < hashes.size(); ++i) hashes[i] = Hash128Of(ChunkOf(data, i));
  return HashOfHashes(hashes);
}

void ContentHasher::Add(Bytes piece) {
  while (!piece.empty()) {
    const Bytes now = piece.first(std::min(piece.size(), kHashChunkBytes - chunk_bytes_));
    chunk_.Add(now);
    chunk_bytes_ += now.size();
    if (chunk_bytes_ == kHashChunkBytes) EndChunk();
    piece = piece.subspan(now.size());
  }
}

void ContentHasher::EndChunk() {
  const Hash128 hash = chunk_.Digest();
  chunk_hashes_.AddValue(hash.low);
  chunk_hashes_.AddValue(hash.high);
  chunk_ = Hasher();
  chunk_bytes_ = 0;
}

Hash128 ContentHasher::Finish() {
  if (chunk_bytes_ > 0) EndChunk();
  return chunk_hashes_.Digest();
}

// Threads take chunks of any tensor; only the calling thread (index 0) reports progress.
Result<std::vector<Hash128>> HashTensors(const File& file, ThreadPool& pool,
                                         const HashingOptions& options) {
  for (const Tensor& tensor : file.tensors()) {
    if (!tensor.size_known) {
      return Unimplemented(
          fmt::format("{}: the tensor {} is of {}, whose size is not known, so its content cannot "
                      "be hashed",
                      file.path(), NameText(tensor.name), TensorTypeName(tensor.type)));
    }
  }
  Chunks chunks(file);
  std::atomic<uint64_t> done_bytes{0};
  const auto hash_chunk = [&](size_t chunk, size_t thread_index) {
    const Bytes data = chunks.Data(chunk);
    chunks.Hash(chunk);
    DropPages(file, data);
    const uint64_t done = done_bytes.fetch_add(data.size()) + data.size();
    if (thread_index == 0 && options.progress) options.progress(done, chunks.total_bytes());
  };
  pool.ParallelForDynamic(chunks.count(), /*chunk=*/1,
                          [&](size_t begin, size_t end, size_t thread_index) {
                            for (size_t i = begin; i < end; ++i) {
                              if (options.stop.stop_requested()) return;
                              hash_chunk(i, thread_index);
                            }
                          });
  if (options.stop.stop_requested()) return Error(Code::kCancelled, "hashing was cancelled");
  if (options.progress) options.progress(chunks.total_bytes(), chunks.total_bytes());
  return chunks.TensorHashes();
}

}  // namespace aster::gguf
