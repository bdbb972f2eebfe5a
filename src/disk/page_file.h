// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A file with the rows of one page of positions, in a range of layers: a KV chunk (kv/chunk.h) that
// may leave out streams. It appears under its name when it is complete. Its content is not trusted:
// the header must match the name, and every block has a checksum. Must not know who wants the rows,
// nor the other files of its folder.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "disk/input_file.h"
#include "disk/page_file_name.h"
#include "kv/chunk.h"

namespace aster::disk {

PageFileName NameOf(const kv::KvChunkHeader& header);

// The bytes of a page file. The blocks ascend by layer, then by stream. Sets the header's block
// count.
std::vector<uint8_t> MakePageFile(kv::KvChunkHeader header, std::span<const kv::Block> blocks);
// Returns the file's size. It survives the end of the process at once, a power cut only after some
// time: until then it may be damaged.
Result<uint64_t> WritePageFile(const std::string& folder, const kv::KvChunkHeader& header,
                               std::span<const kv::Block> blocks);

// An open page file. Not for concurrent use.
class PageFile {
 public:
  // NotFound if it does not exist; DataLoss if it is damaged, or another file with that name.
  static Result<PageFile> Open(const std::string& folder, const PageFileName& name);
  // A page file within another file, which outlives it.
  static Result<PageFile> OpenWithin(const InputFile& file, uint64_t offset, uint64_t bytes,
                                     const PageFileName& name);

  const kv::KvChunkHeader& header() const { return header_; }
  uint64_t size_bytes() const { return end_ - begin_; }

  // Reads blocks, in order: only the rows of wanted ones, checked. The rows are valid until `visit`
  // returns. DataLoss names the byte.
  using Wanted = FunctionRef<bool(uint32_t layer, uint32_t stream)>;
  using Visit = FunctionRef<Status(const kv::Block&)>;
  Status Read(Wanted wanted, Visit visit);
  // All of it, unchecked: the receiver checks it.
  Result<std::vector<uint8_t>> ReadAll() const;

 private:
  PageFile(std::shared_ptr<const InputFile> file, uint64_t begin, uint64_t end)
      : file_(std::move(file)), begin_(begin), end_(end) {}

  Status ReadHeader(const PageFileName& name);

  std::shared_ptr<const InputFile> file_;
  uint64_t begin_;  // in the file
  uint64_t end_;
  kv::KvChunkHeader header_;
  uint64_t blocks_begin_ = 0;    // in the file
  std::vector<uint8_t> buffer_;  // a block and the next one's head
};

}  // namespace aster::disk
