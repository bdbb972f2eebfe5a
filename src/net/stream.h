// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Bytes in order between two machines, plain or with TLS, without ever blocking. Must not know
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

// One thread may read while another one writes. After an error the stream is unusable.
class Stream {
 public:
  virtual ~Stream() = default;

  virtual int descriptor() const = 0;

  // The handshake before the first byte: true when it is done. Call it again when the socket is
  // readable, or writable if HasUnsent().
  virtual Result<bool> Prepare() = 0;

  // Reads what is available and fits; zero if nothing is. The end of the stream is an error.
  virtual Result<size_t> Read(std::span<uint8_t> bytes) = 0;

  // Writes the beginning of the pieces, as much as is accepted. Accepted bytes may still be
  // buffered.
  virtual Result<size_t> Write(std::span<const Bytes> pieces) = 0;
  // Sends buffered bytes, if the socket accepts them.
  virtual Status Flush() = 0;
  virtual bool HasUnsent() const = 0;

  // Ends this direction and tells the other side, which may still write.
  virtual void FinishWriting();
};

std::unique_ptr<Stream> MakePlainStream(Socket socket);

// The error of reads and writes after the other side has closed.
Error ClosedByPeer();

}  // namespace aster::net
