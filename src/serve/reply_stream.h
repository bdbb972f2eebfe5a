// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The reply to one client: any thread writes it, and one thread sends it. Bytes that a client does
// not read are buffered up to a limit and one piece more, and no writer ever waits. Must not know
// sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "net/waker.h"

namespace aster::serve {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// Safe for concurrent use.
class ReplyStream {
 public:
  struct Options {
    std::string request_id;
    bool keep_alive = true;
    bool in_chunks = true;         // clients of HTTP/1.0 do not know them
    bool head_only = false;        // HEAD
    size_t limit_bytes = 1 << 20;  // more must not be buffered when a piece begins
    HttpHeaders headers = {};      // of every reply
  };
  // The waker outlives it.
  ReplyStream(Options options, net::Waker& waker) : options_(std::move(options)), waker_(waker) {}

  // Adds a header to the reply, before that begins.
  void AddHeader(std::string name, std::string value) EXCLUDES(mu_);

  // A whole reply.
  void Send(int status, std::string_view content_type, std::string_view body,
            const HttpHeaders& headers = {}) EXCLUDES(mu_);

  // Or a reply in pieces: begins it (once), sends a piece, ends it.
  void Begin(int status, std::string_view content_type, const HttpHeaders& headers = {})
      EXCLUDES(mu_);
  void Write(std::string_view bytes) EXCLUDES(mu_);
  void End() EXCLUDES(mu_);

  // What one thread writes as long as this lives counts as one piece: a client could not have read
  // its beginning before. These may be within each other.
  class OnePiece {
   public:
    explicit OnePiece(ReplyStream& stream) : stream_(stream) { stream_.BeginPiece(); }
    ~OnePiece() { stream_.EndPiece(); }
    OnePiece(const OnePiece&) = delete;
    OnePiece& operator=(const OnePiece&) = delete;

   private:
    ReplyStream& stream_;
  };

  // The keep-alive of a reply in pieces: the sending thread sends it if nothing else was written
  // for a while. It begins the reply if nothing has.
  struct KeepAliveMessage {
    std::string content_type;
    HttpHeaders headers;
    std::string bytes;  // empty: none
  };
  void SetKeepAlive(KeepAliveMessage pulse) EXCLUDES(mu_);

  // Whether the client is gone: written bytes are dropped.
  bool is_gone() const EXCLUDES(mu_);
  int status() const EXCLUDES(mu_);  // 0: not begun
  const std::string& request_id() const { return options_.request_id; }

  // For the sending thread, from time to time.
  void SendKeepAlive(int64_t now_ns) EXCLUDES(mu_);
  // Takes bytes to send, up to the limit; true if the reply is complete.
  bool TakeOutput(std::string& output, size_t limit_bytes = SIZE_MAX) EXCLUDES(mu_);
  void SetGone() EXCLUDES(mu_);
  bool keeps_alive() const EXCLUDES(mu_);

 private:
  void BeginLocked(int status, std::string_view content_type, const HttpHeaders& headers,
                   const size_t* length) REQUIRES(mu_);
  void AppendLocked(std::string_view bytes) REQUIRES(mu_);
  void BeginPiece() EXCLUDES(mu_);
  void EndPiece() EXCLUDES(mu_);
  bool is_full() const REQUIRES(mu_) { return output_.size() - taken_ > options_.limit_bytes; }

  const Options options_;
  net::Waker& waker_;

  mutable Mutex mu_;
  HttpHeaders added_ GUARDED_BY(mu_);
  std::string output_ GUARDED_BY(mu_);
  size_t taken_ GUARDED_BY(mu_) = 0;  // bytes of output_
  int status_ GUARDED_BY(mu_) = 0;
  bool is_in_pieces_ GUARDED_BY(mu_) = false;
  bool in_chunks_ GUARDED_BY(mu_) = false;
  bool keeps_alive_ GUARDED_BY(mu_) = true;
  bool ended_ GUARDED_BY(mu_) = false;
  int open_pieces_ GUARDED_BY(mu_) = 0;
  bool may_exceed_ GUARDED_BY(mu_) = false;  // the open piece began below the limit
  bool gone_ GUARDED_BY(mu_) = false;
  KeepAliveMessage keep_alive_ GUARDED_BY(mu_);
  bool was_quiet_ GUARDED_BY(mu_) = false;  // nothing was written since the last beat
  int64_t quiet_since_ns_ GUARDED_BY(mu_) = 0;
};

}  // namespace aster::serve
