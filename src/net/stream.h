// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Bytes in order between two machines, plain or protected, without ever waiting. Must not know
// frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "net/socket.h"

namespace aster::net {

// One thread reads while another one writes. After an error nothing more works.
class Stream {
 public:
  virtual ~Stream() = default;

  virtual int descriptor() const = 0;

  // Whatever is to be settled before the first byte: true when it is. To be called again when the
  // socket can be read, or written if HasUnsent().
  virtual Result<bool> Prepare() = 0;

  // As much as is there and fits; zero if nothing is. The end is an error.
  virtual Result<size_t> Read(std::span<uint8_t> bytes) = 0;

  // The beginning of the pieces, as much as is taken. What was taken may still be here.
  virtual Result<size_t> Write(std::span<const Bytes> pieces) = 0;
  // Hands on what is still here, if the socket takes it.
  virtual Status Flush() = 0;
  virtual bool HasUnsent() const = 0;

  // Nothing more will be written, and the other side is told; it may still write.
  virtual void FinishWriting();
};

std::unique_ptr<Stream> MakePlainStream(Socket socket);

// What reads and writes return when the other side has closed.
Error ClosedByPeer();

}  // namespace aster::net
