// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Streams protected by TLS 1.3, on which both sides show a certificate of the same authority. Must
// not know frames, nor who is welcome.
#pragma once

#include <memory>
#include <optional>

#include "base/result.h"
#include "net/credentials.h"
#include "net/socket.h"
#include "net/stream.h"
#include "wire/messages.h"

namespace aster::net {

class TlsStream : public Stream {
 public:
  // Whose certificate the other side showed; nothing before Prepare() is done.
  virtual std::optional<wire::NodeId> peer() const = 0;
};

// What all streams of a node have in common. Safe for concurrent use.
class TlsContext {
 public:
  // Refuses what does not belong together, or has expired.
  static Result<std::unique_ptr<TlsContext>> Make(const Credentials& credentials);
  virtual ~TlsContext() = default;

  virtual Result<std::unique_ptr<TlsStream>> MakeStream(Socket socket, bool is_server) = 0;
};

}  // namespace aster::net
