// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/reply_stream.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "serve/http_parser.h"

namespace aster::serve {
namespace {

// The time until the first keep-alive, so that a client has its headers within a second, and until
// each further one.
constexpr int64_t kFirstKeepAliveNs = 600 * kNsPerMs;
constexpr int64_t kKeepAliveNs = 5 * kNsPerSecond;

}  // namespace

void ReplyStream::BeginLocked(int status, std::string_view content_type, const HttpHeaders& headers,
                              const size_t* length) {
  status_ = status;
  is_in_pieces_ = length == nullptr;
  in_chunks_ = is_in_pieces_ && options_.in_chunks;
  keeps_alive_ = options_.keep_alive && (length != nullptr || in_chunks_);
  output_ +=
      fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\n", status, ReasonOf(status), content_type);
  // The names that OpenAI's and Anthropic's programs look for.
  output_ += fmt::format("X-Request-Id: {0}\r\nRequest-Id: {0}\r\n", options_.request_id);
  const HttpHeaders* const lists[] = {&options_.headers, &added_, &headers};
  for (const HttpHeaders* list : lists) {
    for (const auto& [name, value] : *list) output_ += fmt::format("{}: {}\r\n", name, value);
  }
  // These two have no body, and the length would be that of another reply.
  const bool has_length = length != nullptr && status != 204 && status != 304;
  if (has_length) output_ += fmt::format("Content-Length: {}\r\n", *length);
  if (in_chunks_) output_ += "Transfer-Encoding: chunked\r\n";
  output_ += keeps_alive_ ? "\r\n" : "Connection: close\r\n\r\n";
}

void ReplyStream::AppendLocked(std::string_view bytes) {
  if (gone_ || bytes.empty() || options_.head_only) return;
  if (is_in_pieces_ && !may_exceed_ && is_full()) {
    // A client that reads so slowly loses the rest.
    gone_ = true;
    output_ = std::string();
    taken_ = 0;
    return;
  }
  if (in_chunks_) {
    output_ += fmt::format("{:x}\r\n", bytes.size());
    output_ += bytes;
    output_ += "\r\n";
  } else {
    output_ += bytes;
  }
}

void ReplyStream::BeginPiece() {
  const MutexLock lock(mu_);
  if (open_pieces_++ == 0) may_exceed_ = !is_full();
}

void ReplyStream::EndPiece() {
  const MutexLock lock(mu_);
  if (--open_pieces_ == 0) may_exceed_ = false;
}

void ReplyStream::AddHeader(std::string name, std::string value) {
  const MutexLock lock(mu_);
  added_.emplace_back(std::move(name), std::move(value));
}

void ReplyStream::Send(int status, std::string_view content_type, std::string_view body,
                       const HttpHeaders& headers) {
  {
    const MutexLock lock(mu_);
    if (status_ != 0 || gone_) return;
    const size_t length = body.size();
    BeginLocked(status, content_type, headers, &length);
    AppendLocked(body);
    ended_ = true;
  }
  waker_.Wake();
}

void ReplyStream::Begin(int status, std::string_view content_type, const HttpHeaders& headers) {
  {
    const MutexLock lock(mu_);
    if (status_ != 0 || gone_) return;
    BeginLocked(status, content_type, headers, nullptr);
  }
  waker_.Wake();
}

void ReplyStream::Write(std::string_view bytes) {
  {
    const MutexLock lock(mu_);
    if (ended_) return;
    was_quiet_ = false;
    AppendLocked(bytes);
  }
  waker_.Wake();
}

void ReplyStream::SetKeepAlive(KeepAliveMessage pulse) {
  const MutexLock lock(mu_);
  keep_alive_ = std::move(pulse);
}

void ReplyStream::SendKeepAlive(int64_t now_ns) {
  const MutexLock lock(mu_);
  if (keep_alive_.bytes.empty() || ended_) return;
  if (!std::exchange(was_quiet_, true)) quiet_since_ns_ = now_ns;
  if (now_ns - quiet_since_ns_ < (status_ == 0 ? kFirstKeepAliveNs : kKeepAliveNs)) return;
  quiet_since_ns_ = now_ns;
  if (status_ == 0) BeginLocked(200, keep_alive_.content_type, keep_alive_.headers, nullptr);
  AppendLocked(keep_alive_.bytes);
}

void ReplyStream::End() {
  {
    const MutexLock lock(mu_);
    if (ended_) return;
    if (in_chunks_ && !gone_ && !options_.head_only) output_ += "0\r\n\r\n";
    ended_ = true;
  }
  waker_.Wake();
}

bool ReplyStream::is_gone() const {
  const MutexLock lock(mu_);
  return gone_;
}

int ReplyStream::status() const {
  const MutexLock lock(mu_);
  return status_;
}

bool ReplyStream::TakeOutput(std::string& output, size_t limit_bytes) {
  const MutexLock lock(mu_);
  const size_t count = std::min(limit_bytes, output_.size() - taken_);
  output.append(output_, taken_, count);
  taken_ += count;
  if (taken_ < output_.size()) {
    // Moving the rest costs less than what was taken.
    if (taken_ * 2 > output_.size()) {
      output_.erase(0, taken_);
      taken_ = 0;
    }
    return false;
  }
  output_.clear();
  taken_ = 0;
  return ended_;
}

void ReplyStream::SetGone() {
  const MutexLock lock(mu_);
  gone_ = true;
}

bool ReplyStream::keeps_alive() const {
  const MutexLock lock(mu_);
  return keeps_alive_;
}

}  // namespace aster::serve
