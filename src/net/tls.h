// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// TLS streams: of nodes, with TLS 1.3, where both sides show a certificate of the same authority;
// and of a server that any client may connect to. Must not know frames, nor which nodes are
// admitted.
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
  // The node whose certificate the other side showed; nullopt before Prepare() is done, and if
  // clients show none.
  virtual std::optional<wire::NodeId> peer() const = 0;
};

// Shared by all streams of a node. Safe for concurrent use.
class TlsContext {
 public:
  // An error if the credentials do not match, or have expired.
  static Result<std::unique_ptr<TlsContext>> Make(const Credentials& credentials);
  // For a server whose clients show no certificate, with TLS 1.2 and up. Both are PEM files, the
  // first with any intermediate certificates after the server's.
  static Result<std::unique_ptr<TlsContext>> MakeForClients(const std::string& certificate_path,
                                                            const std::string& key_path);
  virtual ~TlsContext() = default;

  virtual Result<std::unique_ptr<TlsStream>> MakeStream(Socket socket, bool is_server) = 0;
};

}  // namespace aster::net
