// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Listens, reads requests, and sends the replies that others write. One thread handles all
// connections, so that a slow client costs bounded memory and no other client's time. Must not know
// what requests mean.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "net/socket.h"
#include "net/tls.h"
#include "net/waker.h"
#include "serve/http_parser.h"
#include "serve/reply_stream.h"

namespace aster::serve {

// Called on a worker, or on the loop's thread. Any thread may finish the reply later.
using HttpHandler = std::function<void(HttpRequest, std::shared_ptr<ReplyStream>)>;

struct HttpServerOptions {
  std::string listen = "127.0.0.1:0";  // HOST:PORT
  HttpLimits limits = {};
  // Additional headers of the reply to this request; null: none.
  std::function<HttpHeaders(const HttpRequest&)> headers = nullptr;
  std::shared_ptr<net::TlsContext> tls = nullptr;  // null: plain HTTP
  size_t max_connections = 1024;
  size_t workers = 2;                    // threads that handle requests
  size_t reply_bytes = 1 << 20;          // buffered for a client that does not read
  int64_t head_ns = 10 * kNsPerSecond;   // to receive a request's head; TLS gets as long again
  int64_t body_ns = 120 * kNsPerSecond;  // to receive its body
  int64_t idle_ns = 75 * kNsPerSecond;   // between two requests
  int64_t stall_ns = 60 * kNsPerSecond;  // without a byte that the client accepted
  // Of all pending requests; one body of the largest size is always accepted.
  size_t bodies_bytes = 256 << 20;
  // Whether a request with this head may send its body, called on the loop's thread; null: all may.
  // The handler replies to others at once, without their body.
  std::function<bool(const HttpRequest&)> takes_body = nullptr;
  // Whether the handler answers a request with this head at once: then it is called on the loop's
  // thread, however busy the workers are; null: no request.
  std::function<bool(const HttpRequest&)> is_quick = nullptr;
  // The JSON of a request's error for this path; null: a form of its own.
  std::function<std::string(std::string_view path, int status, std::string_view message)> describe =
      nullptr;
  // Called on the loop's thread for each request that never reached the handler; or null.
  std::function<void(std::string_view request_id, int status)> on_refused = nullptr;
};

// Safe for concurrent use.
class HttpServer {
 public:
  // The clock outlives it.
  HttpServer(HttpServerOptions options, const Clock& clock, HttpHandler handler);
  // Drops all connections, and waits for running handlers.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Call it once.
  Status Start();
  // The address that it listens on, after Start.
  const std::string& address() const { return address_; }
  // Refuses connections and new requests; those being answered continue.
  void StopListening() {
    is_draining_ = true;
    waker_.Wake();
  }
  // Requests that are being answered, or whose replies are being sent.
  size_t busy_count() const { return busy_count_; }
  size_t connection_count() const { return connection_count_; }

 private:
  struct Connection;
  struct Task {
    HttpRequest request;
    std::shared_ptr<ReplyStream> reply;
  };

  void Loop();
  void WorkerLoop();
  void CallHandler(Task task);
  void AcceptAll();
  bool Prepare(Connection& connection);
  void Read(Connection& connection);
  void TakeRequests(Connection& connection);
  bool TakeBody(Connection& connection, bool has_begun);
  void CountBody(Connection& connection, size_t bytes);
  void Handle(Connection& connection, HttpRequest request);
  void Refuse(Connection& connection, int status, std::string_view problem);
  void Write(Connection& connection);
  void EndReply(Connection& connection);
  void CheckDeadline(Connection& connection, int64_t now_ns);
  HttpHeaders HeadersFor(const HttpRequest& request) const;
  ReplyStream::Options ReplyOptions(const HttpRequest& request) const;
  std::string Describe(std::string_view path, int status, std::string_view problem) const;
  void LimitConnections();

  // Constant after construction.
  const HttpServerOptions options_;
  const Clock& clock_;
  const HttpHandler handler_;
  std::string address_;

  net::Waker waker_;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<bool> is_draining_ = false;
  std::atomic<size_t> busy_count_ = 0;
  std::atomic<size_t> connection_count_ = 0;

  // Used by the loop's thread after Start.
  std::vector<net::Socket> listeners_;  // one; none once no more connections are accepted
  std::vector<std::unique_ptr<Connection>> connections_;
  size_t max_connections_ = 0;
  size_t bodies_bytes_ = 0;  // of all pending requests
  int64_t accept_ns_ = 0;    // none are accepted before

  Mutex mu_;
  CondVar changed_;
  std::deque<Task> tasks_ GUARDED_BY(mu_);  // the oldest first; at most one per connection
  bool workers_stop_ GUARDED_BY(mu_) = false;

  std::thread loop_;
  std::vector<std::thread> workers_;
};

}  // namespace aster::serve
