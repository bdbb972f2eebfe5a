// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/backend/pages.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace aster::vulkan {
namespace {

constexpr uint64_t kPagePieceBytes = 1 << 20;
// Rows that are staged before they are submitted.
constexpr uint64_t kMostStagedBytes = 16 << 20;
// A device that takes longer for all earlier work has failed.
constexpr int64_t kTimeoutNs = int64_t{600} * 1'000'000'000;

}  // namespace

// Flushes, as recorded work may refer to the block.
DeviceBlock::~DeviceBlock() { static_cast<void>(pages_.Flush()); }

Status DeviceBlock::Zero(size_t offset, size_t count) {
  return pages_.Zero(buffer_, offset, count);
}

Status DeviceBlock::Copy(size_t offset, const MemoryBlock& from, size_t from_offset, size_t count) {
  return pages_.Copy(static_cast<const DeviceBlock&>(from).buffer_, from_offset, buffer_, offset,
                     count);
}

Status DeviceBlock::Read(size_t offset, std::span<uint8_t> out) const {
  return pages_.Read(buffer_, offset, out);
}

Status DeviceBlock::Write(size_t offset, std::span<const uint8_t> in) {
  return pages_.Write(buffer_, offset, in);
}

Result<std::unique_ptr<kv::MemoryBlock>> DevicePages::Map(size_t bytes) {
  auto block = std::make_unique<DeviceBlock>(
      *this, TRY(Buffer::Allocate(device_, bytes, MemoryKind::kDevice).In("the KV cache")));
  TRY(block->Zero(0, bytes));
  return block;
}

Status DevicePages::Await(Slot& slot) {
  if (slot.submission) TRY(device_.Wait(*slot.submission, kTimeoutNs));
  slot.submission.reset();
  slot.uploads.Clear();
  return Ok();
}

// Begins to record into the current slot, if that was not begun. Its work of two flushes ago must
// have finished, as the two slots take turns.
Status DevicePages::Open() {
  TRY(device_.CheckLost("changing pages"));
  if (failure_) return *failure_;
  if (is_recording_) return Ok();
  std::optional<Slot>& slot = slots_[current_];
  if (!slot) {
    slot.emplace(Slot{TRY(Commands::Create(device_)),
                      Arena(device_, MemoryKind::kUpload, kPagePieceBytes), std::nullopt});
  }
  TRY(Await(*slot));
  TRY(slot->commands.Begin());
  slot->commands.Barrier();  // waits for all earlier submissions
  hazards_.Clear();
  staged_bytes_ = 0;
  is_recording_ = true;
  return Ok();
}

Status DevicePages::Flush() {
  if (is_recording_) {
    is_recording_ = false;
    Status sent = Send();
    if (!sent.ok()) failure_ = std::move(sent).error();
  }
  if (failure_) return *failure_;
  return Ok();
}

Status DevicePages::Send() {
  Slot& slot = *slots_[current_];
  slot.commands.Barrier();
  TRY(slot.commands.End());
  slot.submission = TRY(device_.Submit(slot.commands.handle()));
  current_ = 1 - current_;
  return Ok();
}

Commands& DevicePages::Using(Range read, Range write) {
  Commands& commands = slots_[current_]->commands;
  if (hazards_.NeedsBarrier({read}, {write})) commands.Barrier();
  return commands;
}

Status DevicePages::Zero(const Buffer& buffer, uint64_t offset, uint64_t bytes) {
  TRY(Open());
  Using({}, {buffer.address() + offset, bytes}).Clear(buffer, offset, bytes);
  return Ok();
}

Status DevicePages::Copy(const Buffer& from, uint64_t from_offset, const Buffer& to,
                         uint64_t offset, uint64_t bytes) {
  TRY(Open());
  Using({from.address() + from_offset, bytes}, {to.address() + offset, bytes})
      .Copy(from, from_offset, to, offset, bytes);
  return Ok();
}

Status DevicePages::ReadAll(std::span<const PageBytes> wanted) {
  if (wanted.empty()) return Ok();
  TRY(MakeDownloads());
  uint64_t bytes = 0;
  for (const PageBytes& one : wanted) {
    CHECK(bytes + one.out.size() <= kPagePieceBytes);
    const Buffer& from = static_cast<const DeviceBlock*>(one.page.block)->buffer_;
    TRY(Copy(from, one.page.offset + one.offset, *downloads_, bytes, one.out.size()));
    bytes += one.out.size();
  }
  Slot& slot = *slots_[current_];
  TRY(Flush());
  TRY(Await(slot));
  const uint8_t* from = downloads_->data();
  for (const PageBytes& one : wanted) {
    std::copy_n(from, one.out.size(), one.out.begin());
    from += one.out.size();
  }
  return Ok();
}

Status DevicePages::MakeDownloads() {
  if (!downloads_)
    downloads_ = TRY(Buffer::Allocate(device_, kPagePieceBytes, MemoryKind::kDownload));
  return Ok();
}

Status DevicePages::Read(const Buffer& buffer, uint64_t offset, std::span<uint8_t> out) {
  TRY(MakeDownloads());
  for (uint64_t done = 0; done < out.size();) {
    const uint64_t count = std::min(kPagePieceBytes, out.size() - done);
    TRY(Copy(buffer, offset + done, *downloads_, 0, count));
    Slot& slot = *slots_[current_];
    TRY(Flush());
    TRY(Await(slot));
    std::memcpy(out.data() + done, downloads_->data(), count);
    done += count;
  }
  return Ok();
}

Status DevicePages::Write(const Buffer& buffer, uint64_t offset, std::span<const uint8_t> in) {
  for (uint64_t done = 0; done < in.size();) {
    const uint64_t count = std::min(kPagePieceBytes, in.size() - done);
    TRY(Open());
    const Piece piece = TRY(slots_[current_]->uploads.Take(count));
    std::memcpy(piece.data(), in.data() + done, count);
    TRY(Copy(*piece.buffer, piece.offset, buffer, offset + done, count));
    staged_bytes_ += count;
    if (staged_bytes_ >= kMostStagedBytes) TRY(Flush());
    done += count;
  }
  return Ok();
}

}  // namespace aster::vulkan
