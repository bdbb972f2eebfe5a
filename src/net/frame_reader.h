// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Cuts the bytes of a stream into frames. Small frames are read together, large payloads directly
// to their final place. Must not know what frames mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "net/stream.h"
#include "wire/frame.h"

namespace aster::net {

// Not for concurrent use.
class FrameReader {
 public:
  struct Arrived {
    wire::FrameHeader header;
    std::vector<uint8_t> body;
    wire::Payload payload;
  };

  FrameReader();

  // The next frame, or nullopt if it is incomplete. Memory is allocated as bytes arrive, whatever
  // the header announces.
  Result<std::optional<Arrived>> Next(Stream& stream, const wire::Limits& limits);

  // Bytes of the stream so far.
  uint64_t read_bytes() const { return read_bytes_; }
  // Whether the last Next() returned nothing because the stream had no more data, and not because
  // it reached its limit.
  bool is_drained() const { return is_drained_; }

 private:
  Result<bool> Fill(Stream& stream, size_t wanted_bytes);
  Result<bool> FillBody(Stream& stream);
  Result<bool> FillPayload(Stream& stream);
  size_t buffered() const { return end_ - begin_; }
  size_t TakeBuffered(uint8_t* place, size_t most);

  std::vector<uint8_t> buffer_;
  size_t begin_ = 0;  // read and not used yet: [begin_, end_) of buffer_
  size_t end_ = 0;
  uint64_t read_bytes_ = 0;
  bool is_drained_ = false;

  std::optional<wire::FrameHeader> header_;
  Arrived frame_;
  size_t body_filled_ = 0;
  size_t payload_filled_ = 0;
};

}  // namespace aster::net
