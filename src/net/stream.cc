// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/stream.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace aster::net {
namespace {

class PlainStream final : public Stream {
 public:
  explicit PlainStream(Socket socket) : socket_(std::move(socket)) {}

  int descriptor() const override { return socket_.descriptor(); }
  Result<bool> Prepare() override { return true; }
  Status Flush() override { return Ok(); }
  bool HasUnsent() const override { return false; }

  Result<size_t> Read(std::span<uint8_t> bytes) override {
    const ssize_t count = recv(descriptor(), bytes.data(), bytes.size(), 0);
    if (count > 0) return static_cast<size_t>(count);
    if (count == 0) return ClosedByPeer();
    if (errno == EAGAIN || errno == EINTR) return size_t{0};
    return Broken(errno);
  }

  Result<size_t> Write(std::span<const Bytes> pieces) override {
    std::array<iovec, 16> vectors;
    const size_t count = std::min(pieces.size(), vectors.size());
    for (size_t i = 0; i < count; ++i) {
      vectors[i] = {const_cast<uint8_t*>(pieces[i].data()), pieces[i].size()};
    }
    msghdr message{};
    message.msg_iov = vectors.data();
    message.msg_iovlen = count;
    const ssize_t sent = sendmsg(descriptor(), &message, MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<size_t>(sent);
    if (errno == EAGAIN || errno == EINTR) return size_t{0};
    return Broken(errno);
  }

 private:
  static Error Broken(int error_number) {
    if (error_number == ECONNRESET || error_number == EPIPE) return ClosedByPeer();
    return {Code::kUnavailable, SystemError(error_number, "the connection broke").message()};
  }

  const Socket socket_;
};

}  // namespace

void Stream::FinishWriting() { shutdown(descriptor(), SHUT_WR); }

Error ClosedByPeer() {
  return {Code::kUnavailable, "the other side closed the connection without a word"};
}

std::unique_ptr<Stream> MakePlainStream(Socket socket) {
  return std::make_unique<PlainStream>(std::move(socket));
}

}  // namespace aster::net
