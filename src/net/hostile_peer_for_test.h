// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A misbehaving peer: a plain socket and hand-made frames. For tests. Must not know the network
// that it talks to.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "net/frame_reader.h"
#include "net/socket.h"
#include "net/stream.h"
#include "net/tls.h"
#include "wire/codec.h"

namespace aster::net {

class HostilePeer {
 public:
  // Connects, and sends nothing.
  explicit HostilePeer(const std::string& address) : HostilePeer(Connected(address)) {}
  explicit HostilePeer(Socket socket) : stream_(MakePlainStream(std::move(socket))) {}
  // A peer with certificates.
  HostilePeer(const std::string& address, const Credentials& credentials)
      : stream_(
            TlsContext::Make(credentials).value()->MakeStream(Connected(address), false).value()) {
    for (;;) {
      const Result<bool> is_ready = stream_->Prepare();
      if (!is_ready.ok() || *is_ready) return;
      Await(static_cast<short>(POLLIN | (stream_->HasUnsent() ? POLLOUT : 0)));
    }
  }

  void SendBytes(Bytes bytes) {
    while (!bytes.empty()) {
      const Result<size_t> sent = stream_->Write({&bytes, 1});
      if (!sent.ok()) return;  // closed by the other side
      bytes = bytes.subspan(*sent);
      if (*sent == 0) Await(POLLOUT);
    }
  }
  void Send(wire::Message message) {
    const wire::Frame frame = wire::Encode(std::move(message));
    SendBytes(frame.head);
    SendBytes(frame.payload);
  }

  // The next message; nullopt after the other side has closed.
  std::optional<wire::Message> Receive() {
    for (;;) {
      Result<std::optional<FrameReader::Arrived>> arrived = reader_.Next(*stream_, {});
      if (!arrived.ok()) return std::nullopt;
      if (*arrived) {
        last_version_ = (*arrived)->header.version;
        return wire::Decode((*arrived)->header, (*arrived)->body, std::move((*arrived)->payload))
            .value();
      }
      Await(POLLIN);
    }
  }
  // The version of the last frame.
  uint16_t last_version() const { return last_version_; }
  // The next message that is no heartbeat.
  std::optional<wire::Message> ReceiveMore() {
    for (;;) {
      std::optional<wire::Message> message = Receive();
      if (!message || !std::holds_alternative<wire::Ping>(*message)) return message;
    }
  }
  // The reason in the Goodbye.
  std::string GoodbyeReason() {
    while (const std::optional<wire::Message> message = Receive()) {
      if (const auto* goodbye = std::get_if<wire::Goodbye>(&*message)) {
        return goodbye->why.message();
      }
    }
    return "";
  }
  bool IsHungUpOn() {
    while (Receive()) {
    }
    return true;
  }

 private:
  static Socket Connected(const std::string& address) {
    const Endpoint endpoint = Resolve(ParseHostPort(address).value()).value().front();
    return BeginConnect(endpoint).value();
  }
  void Await(short events) {
    pollfd waiting{stream_->descriptor(), events, 0};
    CHECK_NOTE(poll(&waiting, 1, 60'000) == 1, "nothing happens");
  }

  std::unique_ptr<Stream> stream_;
  FrameReader reader_;
  uint16_t last_version_ = 0;
};

}  // namespace aster::net
