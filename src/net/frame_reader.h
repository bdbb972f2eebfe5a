// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Cuts what a stream brings into frames. Small ones are taken together, large payloads are read to
// where they stay. Must not know what frames say.
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

  // The next frame, or nothing if it is not all there yet. Memory is taken as bytes come, whatever
  // a header announces.
  Result<std::optional<Arrived>> Next(Stream& stream, const wire::Limits& limits);

  // Of the stream, so far.
  uint64_t read_bytes() const { return read_bytes_; }
  // Whether the last Next() returned nothing because the stream had nothing more, and not because
  // it took enough for one time.
  bool is_drained() const { return is_drained_; }

 private:
  Result<bool> Fill(Stream& stream, size_t wanted_bytes);
  Result<bool> FillBody(Stream& stream);
  Result<bool> FillPayload(Stream& stream);
  size_t buffered() const { return end_ - begin_; }
  size_t TakeBuffered(uint8_t* place, size_t most);

  std::vector<uint8_t> buffer_;
  size_t begin_ = 0;  // what was read and not taken yet: [begin_, end_) of buffer_
  size_t end_ = 0;
  uint64_t read_bytes_ = 0;
  bool is_drained_ = false;

  std::optional<wire::FrameHeader> header_;
  Arrived frame_;
  size_t body_filled_ = 0;
  size_t payload_filled_ = 0;
};

}  // namespace aster::net
