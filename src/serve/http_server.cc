// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/http_server.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <utility>

#include "base/bytes.h"
#include "base/json_string.h"
#include "base/log.h"
#include "base/process_limits.h"
#include "base/random.h"

namespace aster::serve {
namespace {

constexpr size_t kReadBytes = 64 << 10;
// Reads per connection and turn, so that a fast sender leaves time for the others.
constexpr int kReadsAtOnce = 8;
constexpr size_t kMaxRequestIdBytes = 128;
// The bytes taken from a reply at once: bytes that a client does not read stay in the reply, and
// count there.
constexpr size_t kSendBytes = 64 << 10;
// Descriptors for the rest of the program: files, nodes, listeners.
constexpr size_t kOtherDescriptors = 256;
// How long no connections are accepted if the system has no room for them.
constexpr int64_t kAcceptPauseNs = kNsPerSecond / 2;

bool IsPlainWord(std::string_view text) {
  return !text.empty() && text.size() <= kMaxRequestIdBytes &&
         std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

struct HttpServer::Connection {
  Connection(std::unique_ptr<net::Stream> from, const HttpLimits& limits)
      : stream(std::move(from)), parser(limits) {}

  const std::unique_ptr<net::Stream> stream;
  HttpParser parser;
  std::string input;                   // after the request that is being answered
  std::string output;                  // being sent
  size_t sent = 0;                     // of the output
  std::shared_ptr<ReplyStream> reply;  // to the request that is being answered
  int64_t deadline_ns = 0;             // of what it waits for
  bool is_closed = false;
  bool closes_when_sent = false;
  bool drops_body = false;     // ignores the rest of the body
  bool input_ended = false;    // before all of the reply was sent
  size_t body_bytes = 0;       // of its request, as counted in the total
  bool reply_is_over = false;  // once the output is sent
  bool is_prepared = false;    // the stream's handshake is done
  bool is_finished = false;    // the client was told that nothing follows
  bool may_have_more = false;  // the stream may have buffered input

  bool has_output() const { return sent < output.size(); }
  bool is_reading() const { return reply == nullptr && !is_closed; }
};

HttpServer::HttpServer(HttpServerOptions options, const Clock& clock, HttpHandler handler)
    : options_(std::move(options)), clock_(clock), handler_(std::move(handler)) {}

HttpServer::~HttpServer() {
  is_stopping_ = true;
  waker_.Wake();
  if (loop_.joinable()) loop_.join();
  {
    const MutexLock lock(mu_);
    workers_stop_ = true;
  }
  changed_.NotifyAll();
  for (std::thread& worker : workers_) worker.join();
}

Status HttpServer::Start() {
  const net::HostPort host_port = TRY(net::ParseHostPort(options_.listen));
  const auto endpoints = TRY(net::Resolve(host_port));
  if (endpoints.empty()) return NotFound(options_.listen + ": no such address");
  listeners_.push_back(TRY(net::Listen(endpoints.front())));
  address_ = TRY(net::LocalEndpoint(listeners_.front())).ToText();
  LimitConnections();
  loop_ = std::thread([this] { Loop(); });
  for (size_t i = 0; i < options_.workers; ++i) workers_.emplace_back([this] { WorkerLoop(); });
  return Ok();
}

// As many as the system has descriptors for.
void HttpServer::LimitConnections() {
  max_connections_ = options_.max_connections;
  const uint64_t wanted = max_connections_ + kOtherDescriptors;
  const uint64_t limit = RaiseOpenFiles(wanted);
  if (limit >= wanted) return;
  const size_t others = std::min<size_t>(kOtherDescriptors, limit / 2);
  max_connections_ = std::max<size_t>(1, limit - others);
  log::Warn("fewer connections than possible", {{"most", max_connections_}, {"open_files", limit}});
}

void HttpServer::WorkerLoop() {
  for (;;) {
    Task task;
    {
      const MutexLock lock(mu_);
      while (tasks_.empty() && !workers_stop_) changed_.Wait(mu_);
      if (workers_stop_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    // Its client is gone.
    if (task.reply->is_gone()) continue;
    CallHandler(std::move(task));
  }
}

void HttpServer::CallHandler(Task task) {
  const std::shared_ptr<ReplyStream> reply = task.reply;
  const std::string path = task.request.path;
  try {
    handler_(std::move(task.request), std::move(task.reply));
  } catch (const std::exception& error) {
    // An exception of a library fails only this request.
    log::Error("a request could not be handled",
               {{"id", reply->request_id()}, {"what", error.what()}});
    reply->Send(500, "application/json", Describe(path, 500, "a bug in the server"));
  }
}

void HttpServer::Loop() {
  // Deadlines are checked this often.
  constexpr int kTurnMs = 250;
  std::vector<pollfd> polled;
  while (!is_stopping_) {
    polled.clear();
    bool has_more = false;
    // With an open listener the system would still accept connections, whose clients would wait
    // until the end: refused, they try another server.
    if (is_draining_) listeners_.clear();
    polled.push_back({.fd = waker_.descriptor(), .events = POLLIN, .revents = 0});
    const bool accepts = !is_draining_ && clock_.NowNs() >= accept_ns_;
    polled.push_back(
        {.fd = accepts ? listeners_.front().descriptor() : -1, .events = POLLIN, .revents = 0});
    for (const auto& connection : connections_) {
      // While a request is answered nothing is read, but the end of input is noticed.
      short events = connection->input_ended ? short{0} : short{POLLRDHUP};
      if (connection->reply == nullptr && !connection->input_ended) events |= POLLIN;
      if (connection->has_output() || connection->stream->HasUnsent()) events |= POLLOUT;
      has_more |= connection->is_reading() && connection->may_have_more;
      polled.push_back({.fd = connection->stream->descriptor(), .events = events, .revents = 0});
    }
    const int count = poll(polled.data(), polled.size(), has_more ? 0 : kTurnMs);
    if (count < 0 && errno != EINTR) return;
    waker_.Reset();
    const int64_t now_ns = clock_.NowNs();
    for (size_t i = 0; i < connections_.size(); ++i) {
      Connection& connection = *connections_[i];
      const short events = count > 0 ? polled[i + 2].revents : short{0};
      if ((events & (POLLERR | POLLHUP | POLLNVAL)) != 0) connection.is_closed = true;
      if (connection.reply != nullptr && (events & POLLRDHUP) != 0) connection.is_closed = true;
      const bool can_read = (events & (POLLIN | POLLOUT)) != 0 || connection.may_have_more;
      if (connection.is_reading() && can_read && Prepare(connection)) Read(connection);
      if (connection.reply != nullptr) connection.reply->SendKeepAlive(now_ns);
      if (!connection.is_closed && connection.is_prepared) Write(connection);
      if (!connection.is_closed) CheckDeadline(connection, now_ns);
    }
    std::erase_if(connections_, [&](const auto& connection) {
      if (!connection->is_closed) return false;
      if (connection->reply != nullptr) {
        connection->reply->SetGone();
        --busy_count_;
      }
      CountBody(*connection, 0);
      return true;
    });
    if (accepts && (polled[1].revents & POLLIN) != 0) AcceptAll();
    connection_count_ = connections_.size();
  }
  for (const auto& connection : connections_) {
    if (connection->reply != nullptr) connection->reply->SetGone();
  }
}

void HttpServer::AcceptAll() {
  for (;;) {
    auto socket = net::Accept(listeners_.front());
    if (!socket.ok()) {
      // Trying again at once would fail again.
      accept_ns_ = clock_.NowNs() + kAcceptPauseNs;
      log::Warn("connections have to wait", {{"error", socket.error().message()}});
      return;
    }
    if (!socket->is_open()) return;
    // Further ones are closed at once: existing connections keep being served.
    if (connections_.size() >= max_connections_) continue;
    const int on = 1;
    setsockopt(socket->descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    std::unique_ptr<net::Stream> stream;
    if (options_.tls == nullptr) {
      stream = net::MakePlainStream(*std::move(socket));
    } else {
      auto made = options_.tls->MakeStream(*std::move(socket), /*is_server=*/true);
      if (!made.ok()) continue;
      stream = *std::move(made);
    }
    connections_.push_back(std::make_unique<Connection>(std::move(stream), options_.limits));
    connections_.back()->is_prepared = options_.tls == nullptr;
    connections_.back()->deadline_ns = clock_.NowNs() + options_.head_ns;
  }
}

// Completes the stream's handshake. Returns whether requests may be read.
bool HttpServer::Prepare(Connection& connection) {
  if (connection.is_prepared) return true;
  const auto prepared = connection.stream->Prepare();
  if (!prepared.ok()) {
    connection.is_closed = true;
    return false;
  }
  if (connection.stream->HasUnsent() && !connection.stream->Flush().ok()) {
    connection.is_closed = true;
    return false;
  }
  connection.is_prepared = *prepared;
  return connection.is_prepared;
}

void HttpServer::Read(Connection& connection) {
  std::string buffer(kReadBytes, '\0');
  connection.may_have_more = false;
  for (int i = 0; i < kReadsAtOnce && connection.is_reading(); ++i) {
    const auto count =
        connection.stream->Read({reinterpret_cast<uint8_t*>(buffer.data()), buffer.size()});
    if (!count.ok()) {
      // A client that sends nothing more may still receive the error.
      connection.input_ended = true;
      const bool is_told = connection.has_output() || connection.stream->HasUnsent();
      connection.is_closed = !(connection.closes_when_sent && is_told);
    }
    if (!count.ok() || *count == 0) return;
    if (connection.closes_when_sent) continue;  // bytes after a bad request are dropped
    connection.input.append(buffer, 0, *count);
    TakeRequests(connection);
  }
  // A TLS stream reads ahead, and the system does not report its buffered bytes again.
  connection.may_have_more = options_.tls != nullptr;
}

void HttpServer::TakeRequests(Connection& connection) {
  HttpParser& parser = connection.parser;
  while (!connection.input.empty() && connection.reply == nullptr) {
    const bool was_new = !parser.has_begun();
    const auto before = parser.state();
    connection.input.erase(0, parser.Feed(connection.input));
    const int64_t now_ns = clock_.NowNs();
    if (was_new && parser.has_begun()) connection.deadline_ns = now_ns + options_.head_ns;
    if (parser.state() == HttpParser::State::kBad) {
      return Refuse(connection, parser.bad_status(), parser.problem());
    }
    const bool has_begun_body =
        before == HttpParser::State::kHead && parser.state() != HttpParser::State::kHead;
    if (has_begun_body) connection.deadline_ns = now_ns + options_.body_ns;
    if (!TakeBody(connection, has_begun_body)) return;
    if (parser.TakeExpectation()) connection.output += "HTTP/1.1 100 Continue\r\n\r\n";
    if (parser.state() == HttpParser::State::kDone) Handle(connection, parser.Take());
  }
}

// Counts the received part of a body; false if the body is refused and answered.
bool HttpServer::TakeBody(Connection& connection, bool has_begun) {
  HttpParser& parser = connection.parser;
  const HttpRequest& request = parser.request();
  const bool has_body = parser.state() == HttpParser::State::kBody || !request.body.empty();
  if (has_begun && has_body && options_.takes_body && !options_.takes_body(request)) {
    HttpRequest head = parser.Take();
    head.body.clear();
    // Without the body it is unknown where the next request begins.
    head.keep_alive = false;
    connection.input.clear();
    connection.drops_body = true;
    Handle(connection, std::move(head));
    return false;
  }
  CountBody(connection, request.body.size());
  if (bodies_bytes_ <= std::max(options_.bodies_bytes, options_.limits.body_bytes)) return true;
  Refuse(connection, 503, "the server has too many large requests; try again later");
  return false;
}

// Updates the connection's part of the total.
void HttpServer::CountBody(Connection& connection, size_t bytes) {
  bodies_bytes_ += bytes - connection.body_bytes;
  connection.body_bytes = bytes;
}

ReplyStream::Options HttpServer::ReplyOptions(const HttpRequest& request) const {
  const std::string_view given = request.Header("x-request-id");
  return {.request_id =
              IsPlainWord(given) ? std::string(given) : fmt::format("req_{:016x}", SystemSeed()),
          .keep_alive = request.keep_alive && !is_draining_,
          .in_chunks = request.takes_chunks,
          .head_only = request.method == "HEAD",
          .limit_bytes = options_.reply_bytes,
          .headers = HeadersFor(request)};
}

HttpHeaders HttpServer::HeadersFor(const HttpRequest& request) const {
  HttpHeaders headers = options_.headers ? options_.headers(request) : HttpHeaders();
  const auto now_s = static_cast<std::time_t>(clock_.WallNs() / kNsPerSecond);
  headers.emplace_back("Date", fmt::format("{:%a, %d %b %Y %H:%M:%S GMT}", fmt::gmtime(now_s)));
  return headers;
}

void HttpServer::Handle(Connection& connection, HttpRequest request) {
  connection.reply = std::make_shared<ReplyStream>(ReplyOptions(request), waker_);
  connection.deadline_ns = kNeverNs;
  ++busy_count_;
  if (options_.is_quick && options_.is_quick(request))
    return CallHandler({.request = std::move(request), .reply = connection.reply});
  {
    const MutexLock lock(mu_);
    tasks_.push_back({.request = std::move(request), .reply = connection.reply});
  }
  changed_.NotifyOne();
}

std::string HttpServer::Describe(std::string_view path, int status,
                                 std::string_view problem) const {
  if (options_.describe) return options_.describe(path, status, problem);
  std::string body = "{\"error\":{\"message\":";
  AppendJsonString(body, problem);
  return body + "}}";
}

// An unreadable request has little to report besides the error.
void HttpServer::Refuse(Connection& connection, int status, std::string_view problem) {
  ReplyStream reply({.request_id = fmt::format("req_{:016x}", SystemSeed()),
                     .keep_alive = false,
                     .headers = HeadersFor(connection.parser.request())},
                    waker_);
  reply.Send(status, "application/json",
             Describe(connection.parser.request().path, status, problem));
  if (options_.on_refused) options_.on_refused(reply.request_id(), status);
  reply.TakeOutput(connection.output);
  connection.input.clear();
  connection.closes_when_sent = true;
  connection.deadline_ns = clock_.NowNs() + options_.head_ns;
  connection.parser.Take();
  CountBody(connection, 0);
}

void HttpServer::Write(Connection& connection) {
  net::Stream& stream = *connection.stream;
  bool is_all = false;
  if (stream.HasUnsent() && !stream.Flush().ok()) {
    connection.is_closed = true;
    return;
  }
  for (;;) {
    if (!connection.has_output()) {
      connection.output.clear();
      connection.sent = 0;
      // Bytes that the stream has not sent yet go first.
      if (connection.reply == nullptr || is_all || stream.HasUnsent()) break;
      is_all = connection.reply->TakeOutput(connection.output, kSendBytes);
      if (connection.reply->is_gone()) {
        connection.is_closed = true;
        return;
      }
      if (!connection.has_output()) break;
    }
    const Bytes rest =
        Bytes(reinterpret_cast<const uint8_t*>(connection.output.data()), connection.output.size())
            .subspan(connection.sent);
    const auto count = stream.Write({&rest, 1});
    if (!count.ok()) {
      connection.is_closed = true;
      return;
    }
    connection.sent += *count;
    if (*count == 0) break;
    if (connection.reply != nullptr) connection.deadline_ns = kNeverNs;
  }
  if (is_all) connection.reply_is_over = true;
  if (connection.has_output() || stream.HasUnsent()) {
    if (connection.deadline_ns == kNeverNs)
      connection.deadline_ns = clock_.NowNs() + options_.stall_ns;
    return;
  }
  if (connection.reply != nullptr) connection.deadline_ns = kNeverNs;
  if (connection.reply_is_over) EndReply(connection);
  // The client closes first: closing here with unread input would discard bytes on their way.
  if (connection.closes_when_sent && !connection.has_output() &&
      !std::exchange(connection.is_finished, true)) {
    stream.FinishWriting();
  }
}

void HttpServer::EndReply(Connection& connection) {
  const bool goes_on = connection.reply->keeps_alive() && !is_draining_;
  connection.reply.reset();
  connection.reply_is_over = false;
  CountBody(connection, 0);
  --busy_count_;
  if (!goes_on) {
    connection.closes_when_sent = true;
    connection.deadline_ns =
        clock_.NowNs() + (connection.drops_body ? options_.head_ns : kNsPerSecond);
    return;
  }
  connection.deadline_ns = clock_.NowNs() + options_.idle_ns;
  TakeRequests(connection);
}

void HttpServer::CheckDeadline(Connection& connection, int64_t now_ns) {
  if (is_draining_ && connection.reply == nullptr && !connection.has_output()) {
    connection.is_closed = true;
  }
  if (now_ns < connection.deadline_ns) return;
  const bool waits_for_request =
      connection.reply == nullptr && !connection.closes_when_sent && connection.parser.has_begun();
  if (!waits_for_request) {
    connection.is_closed = true;
    return;
  }
  Refuse(connection, 408, "the request did not come in time");
  Write(connection);
}

}  // namespace aster::serve
