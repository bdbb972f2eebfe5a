// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/frame_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace aster::net {
namespace {

// Enough for many small frames per system call, and cheap to copy once more.
constexpr size_t kBufferBytes = 16384;
// The first memory for an announced frame; it doubles each time that it is full.
constexpr size_t kFirstBytes = size_t{4} << 20;

// Makes room for more than `filled` bytes, at most `wanted`.
template <typename Vector>
void MakeRoom(Vector& bytes, size_t filled, size_t wanted) {
  if (bytes.size() > filled || bytes.size() == wanted) return;
  Vector larger;
  larger.resize(std::min(wanted, std::max(kFirstBytes, 2 * filled)));
  if (filled > 0) std::memcpy(larger.data(), bytes.data(), filled);
  bytes = std::move(larger);
}

}  // namespace

FrameReader::FrameReader() : buffer_(kBufferBytes) {}

size_t FrameReader::TakeBuffered(uint8_t* place, size_t most) {
  const size_t count = std::min(most, buffered());
  if (count > 0) std::memcpy(place, buffer_.data() + begin_, count);
  begin_ += count;
  return count;
}

Result<bool> FrameReader::Fill(Stream& stream, size_t wanted_bytes) {
  while (buffered() < wanted_bytes) {
    // The buffer holds at most the beginning of one frame.
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, buffered());
      end_ -= std::exchange(begin_, 0);
    }
    const size_t count = TRY(stream.Read({buffer_.data() + end_, buffer_.size() - end_}));
    read_bytes_ += count;
    end_ += count;
    if (count == 0) return false;
  }
  return true;
}

Result<bool> FrameReader::FillBody(Stream& stream) {
  const size_t wanted = header_->body_bytes;
  while (body_filled_ < wanted) {
    // Memory grows with received bytes, not with the size in the header.
    MakeRoom(frame_.body, body_filled_, wanted);
    const std::span<uint8_t> room = std::span(frame_.body).subspan(body_filled_);
    size_t count = TakeBuffered(room.data(), room.size());
    if (count == 0) {
      count = TRY(stream.Read(room));
      read_bytes_ += count;
    }
    if (count == 0) return false;
    body_filled_ += count;
  }
  return true;
}

Result<bool> FrameReader::FillPayload(Stream& stream) {
  const size_t wanted = header_->payload_bytes;
  while (payload_filled_ < wanted) {
    MakeRoom(frame_.payload, payload_filled_, wanted);
    const std::span<uint8_t> room = std::span(frame_.payload).subspan(payload_filled_);
    size_t count = TakeBuffered(room.data(), room.size());
    if (count == 0) {
      count = TRY(stream.Read(room));
      read_bytes_ += count;
    }
    if (count == 0) return false;
    payload_filled_ += count;
  }
  return true;
}

Result<std::optional<FrameReader::Arrived>> FrameReader::Next(Stream& stream,
                                                              const wire::Limits& limits) {
  is_drained_ = true;
  // Header, body, payload: each continues where the bytes ended last time.
  if (!header_) {
    if (!TRY(Fill(stream, wire::kHeaderBytes))) return std::optional<Arrived>();
    header_ = TRY(wire::ParseHeader({buffer_.data() + begin_, wire::kHeaderBytes}, limits));
    begin_ += wire::kHeaderBytes;
    body_filled_ = 0;
    payload_filled_ = 0;
  }
  if (!TRY(FillBody(stream)) || !TRY(FillPayload(stream))) return std::optional<Arrived>();
  is_drained_ = false;
  frame_.header = *header_;
  header_.reset();
  return std::optional<Arrived>(std::exchange(frame_, {}));
}

}  // namespace aster::net
