// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/driver/uploader.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace aster::vulkan {

Status Uploader::Prepare(std::optional<Slot>& slot) {
  if (slot) return Await(*slot);
  slot.emplace(Slot{TRY(Buffer::Allocate(device_, piece_bytes_, MemoryKind::kUpload)),
                    TRY(Commands::Create(device_)), std::nullopt});
  return Ok();
}

Status Uploader::Await(Slot& slot) {
  if (slot.submission) TRY(device_.Wait(*slot.submission, kTimeoutNs));
  slot.submission.reset();
  return Ok();
}

Result<std::span<uint8_t>> Uploader::Stage(const Buffer& to, uint64_t offset, uint64_t bytes) {
  CHECK(bytes <= piece_bytes_ && offset + bytes <= to.bytes());
  if (to.data() != nullptr) {
    to_ = nullptr;
    return std::span(to.data() + offset, bytes);
  }
  TRY(Prepare(slots_[next_]));
  to_ = &to;
  offset_ = offset;
  bytes_ = bytes;
  return std::span(slots_[next_]->buffer.data(), bytes);
}

// Submits the copy of the staged bytes; the host fills the other slot meanwhile.
Status Uploader::Send() {
  if (to_ == nullptr) return Ok();
  Slot& slot = *slots_[next_];
  TRY(slot.commands.Begin());
  slot.commands.Copy(slot.buffer, 0, *to_, offset_, bytes_);
  // Later submissions see the bytes.
  slot.commands.Barrier();
  TRY(slot.commands.End());
  slot.submission = TRY(device_.Submit(slot.commands.handle()));
  to_ = nullptr;
  next_ = 1 - next_;
  return Ok();
}

Status Uploader::Finish() {
  for (std::optional<Slot>& slot : slots_) {
    if (slot) TRY(Await(*slot));
  }
  return Ok();
}

Status Uploader::Write(std::span<const uint8_t> bytes, const Buffer& to, uint64_t offset) {
  for (uint64_t done = 0; done < bytes.size();) {
    const uint64_t count = std::min(piece_bytes_, bytes.size() - done);
    const std::span<uint8_t> room = TRY(Stage(to, offset + done, count));
    std::memcpy(room.data(), bytes.data() + done, count);
    TRY(Send());
    done += count;
  }
  return Finish();
}

}  // namespace aster::vulkan
