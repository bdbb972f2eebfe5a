// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "disk/page_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/files.h"

namespace aster::disk {
namespace {

// A user's conversations are private: only the owner can read files.
constexpr uint32_t kOwnerOnly = 0600;

}  // namespace

PageFileName NameOf(const kv::KvChunkHeader& header) {
  return {.prefix_at_end = header.prefix_at_end,
          .prefix_at_begin = header.prefix_at_begin,
          .begin = header.begin,
          .end = header.end,
          .layers = header.layers,
          .columns = header.columns};
}

std::vector<uint8_t> MakePageFile(kv::KvChunkHeader header, std::span<const kv::Block> blocks) {
  header.block_count = static_cast<uint32_t>(blocks.size());
  ByteWriter out;
  kv::WriteHeader(header, out);
  for (const kv::Block& block : blocks) {
    kv::WriteBlockHead(block, header.prefix_at_end, out);
    out.WriteBytes(block.rows);
  }
  return std::move(out).Release();
}

Result<uint64_t> WritePageFile(const std::string& folder, const kv::KvChunkHeader& header,
                               std::span<const kv::Block> blocks) {
  const std::vector<uint8_t> bytes = MakePageFile(header, blocks);
  AtomicFile file = TRY(AtomicFile::Create(folder + "/" + NameOf(header).ToText(), kOwnerOnly));
  TRY(file.Write(bytes));
  TRY(file.CommitUnsynced());
  return bytes.size();
}

Result<PageFile> PageFile::Open(const std::string& folder, const PageFileName& name) {
  auto file = std::make_shared<InputFile>(TRY(InputFile::Open(folder + "/" + name.ToText())));
  const uint64_t bytes = file->size_bytes();
  PageFile page(std::move(file), 0, bytes);
  TRY(page.ReadHeader(name));
  return page;
}

Result<PageFile> PageFile::OpenWithin(const InputFile& file, uint64_t offset, uint64_t bytes,
                                      const PageFileName& name) {
  if (offset > file.size_bytes() || bytes > file.size_bytes() - offset) {
    return file.Damaged(file.size_bytes(), "it ends too early");
  }
  // The caller owns it.
  PageFile page({std::shared_ptr<const InputFile>(), &file}, offset, offset + bytes);
  TRY(page.ReadHeader(name));
  return page;
}

Result<std::vector<uint8_t>> PageFile::ReadAll() const {
  std::vector<uint8_t> bytes(end_ - begin_);
  TRY(file_->ReadAt(begin_, bytes.size(), bytes.data()));
  return bytes;
}

Status PageFile::ReadHeader(const PageFileName& name) {
  // Enough for the tokens of a page and a description of the usual length; more is read if needed.
  constexpr uint64_t kFirstBytes = 2048;
  buffer_.resize(std::min(end_ - begin_, kFirstBytes));
  TRY(file_->ReadAt(begin_, buffer_.size(), buffer_.data()));
  const auto header_bytes = kv::HeaderBytes(buffer_);
  if (!header_bytes.ok()) return file_->Damaged(begin_, header_bytes.error().message());
  if (*header_bytes > buffer_.size()) {
    if (*header_bytes > end_ - begin_) return file_->Damaged(end_, "it ends within its header");
    buffer_.resize(*header_bytes);
    TRY(file_->ReadAt(begin_, buffer_.size(), buffer_.data()));
  }
  ByteReader in{Bytes(buffer_)};
  auto header = kv::ReadHeader(in);
  if (!header.ok()) return file_->Damaged(begin_, header.error().message());
  header_ = *std::move(header);
  if (NameOf(header_) != name) {
    return file_->Damaged(begin_, "its header says that it is another file");
  }
  blocks_begin_ = begin_ + in.offset();
  return Ok();
}

Status PageFile::Read(Wanted wanted, Visit visit) {
  uint64_t offset = blocks_begin_;  // of the block whose head is the first in the buffer
  bool has_head = false;
  for (uint32_t i = 0; i < header_.block_count; ++i) {
    if (end_ - offset < kv::kBlockHeadBytes) return file_->Damaged(end_, "it ends too early");
    if (!has_head) {
      buffer_.resize(kv::kBlockHeadBytes);
      TRY(file_->ReadAt(offset, kv::kBlockHeadBytes, buffer_.data()));
    }
    const auto sized = kv::BlockBytes(Bytes(buffer_).first(kv::kBlockHeadBytes));
    if (!sized.ok()) return file_->Damaged(offset, sized.error().message());
    const uint64_t bytes = *sized;
    if (bytes > end_ - offset) return file_->Damaged(end_, "it ends within its rows");
    const auto layer = LoadUnaligned<uint32_t>(buffer_.data());
    const auto stream = LoadUnaligned<uint32_t>(buffer_.data() + sizeof(uint32_t));
    has_head = false;
    if (wanted(layer, stream)) {
      // With the head of the next one, which is likely to be wanted too.
      has_head = end_ - offset - bytes >= kv::kBlockHeadBytes;
      const uint64_t end = bytes + (has_head ? kv::kBlockHeadBytes : 0);
      buffer_.resize(end);
      TRY(file_->ReadAt(offset + kv::kBlockHeadBytes, end - kv::kBlockHeadBytes,
                        buffer_.data() + kv::kBlockHeadBytes));
      ByteReader in(Bytes(buffer_).first(bytes));
      const auto block = kv::ReadBlock(in, header_.prefix_at_end);
      if (!block.ok()) return file_->Damaged(offset, block.error().message());
      TRY(visit(*block));
      if (has_head) std::memmove(buffer_.data(), buffer_.data() + bytes, kv::kBlockHeadBytes);
    }
    offset += bytes;
  }
  if (offset != end_) return file_->Damaged(offset, "more follows than belongs to it");
  return Ok();
}

}  // namespace aster::disk
