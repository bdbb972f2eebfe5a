// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A stream that reads from memory in pieces of any size, and keeps written bytes up to a limit. For
// tests and fuzzers. Must not know frames.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "net/stream.h"

namespace aster::net {

class MemoryStream final : public Stream {
 public:
  // `piece` returns how many of the remaining bytes come at once; zero: none for now.
  MemoryStream(Bytes incoming, std::function<size_t(Bytes left)> piece)
      : incoming_(incoming), piece_(std::move(piece)) {}

  // The number of bytes that may be written before the stream is full.
  size_t room = SIZE_MAX;
  std::vector<uint8_t> written;

  int descriptor() const override { return -1; }
  Result<bool> Prepare() override { return true; }
  Status Flush() override { return Ok(); }
  bool HasUnsent() const override { return false; }

  Result<size_t> Read(std::span<uint8_t> bytes) override {
    if (incoming_.empty()) return ClosedByPeer();
    const size_t count = std::min({piece_(incoming_), bytes.size(), incoming_.size()});
    if (count > 0) std::memcpy(bytes.data(), incoming_.data(), count);
    incoming_ = incoming_.subspan(count);
    return count;
  }

  Result<size_t> Write(std::span<const Bytes> pieces) override {
    size_t total = 0;
    for (const Bytes& bytes : pieces) {
      const size_t count = std::min(bytes.size(), room);
      const size_t before = written.size();
      written.resize(before + count);
      if (count > 0) std::memcpy(written.data() + before, bytes.data(), count);
      room -= count;
      total += count;
    }
    return total;
  }

 private:
  Bytes incoming_;
  std::function<size_t(Bytes)> piece_;
};

}  // namespace aster::net
