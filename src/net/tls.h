// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Streams protected by TLS: of nodes, 1.3, on which both sides show a certificate of the same
// authority; and of a server that any client may talk to. Must not know frames, nor which node is
// welcome.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "net/credentials.h"
#include "net/socket.h"
#include "net/stream.h"
#include "wire/messages.h"

namespace aster::net {

class TlsStream : public Stream {
 public:
  // Whose certificate the other side showed; nothing before Prepare() is done, and nothing where
  // clients show none.
  virtual std::optional<wire::NodeId> peer() const = 0;
};

// What all streams of a node have in common. Safe for concurrent use.
class TlsContext {
 public:
  // Refuses what does not belong together, or has expired.
  static Result<std::unique_ptr<TlsContext>> Make(const Credentials& credentials);
  // For a server whose clients show no certificate, TLS 1.2 and up. Both are files in PEM, the
  // first with whatever certificates stand between it and an authority behind it.
  static Result<std::unique_ptr<TlsContext>> MakeForClients(const std::string& certificate_path,
                                                            const std::string& key_path);
  virtual ~TlsContext() = default;

  virtual Result<std::unique_ptr<TlsStream>> MakeStream(Socket socket, bool is_server) = 0;
};

}  // namespace aster::net
