// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/handshake.h"

#include <fmt/format.h>

#include <algorithm>

#include "crypto/secrets.h"
#include "net/certificate.h"
#include "wire/frame.h"

namespace aster::net {
namespace {

// Smaller frames could not hold a single row of some models.
constexpr uint64_t kLeastFrameBytes = 65536;

// Whether the identity belongs to the peer: its certificate's, or an instance's that follows from
// it.
Status CheckName(const Introduction& self, const wire::Hello& hello,
                 const std::optional<wire::NodeId>& proven) {
  const size_t instance_bytes = hello.instance.size();
  if (instance_bytes != 0 && (!proven || instance_bytes != kInstanceBytes)) {
    return Error(
        Code::kUnauthenticated,
        fmt::format("it says that it is instance {} of a node, by {} bytes where {} are expected{}",
                    hello.node.ToText(), instance_bytes, proven ? kInstanceBytes : 0,
                    proven ? "" : " without certificates"));
  }
  std::optional<wire::NodeId> own = proven;
  if (proven && instance_bytes != 0) own = InstanceOf(*proven, hello.instance);
  if (own ? hello.node == *own : !self.password.empty()) return Ok();
  return Error(Code::kUnauthenticated,
               fmt::format("it says that it is node {}, and its certificate says {}",
                           hello.node.ToText(), own ? own->ToText() : "nothing"));
}

Status CheckIdentity(const Introduction& self, const wire::Hello& hello,
                     const std::optional<wire::NodeId>& proven,
                     const std::optional<wire::NodeId>& expected) {
  // The identity is proven by the certificate, or without certificates by the shared password.
  TRY(CheckName(self, hello, proven));
  if (!proven && !crypto::EqualSecrets(hello.password, self.password)) {
    return Error(Code::kUnauthenticated,
                 "wrong password: only nodes that were started together talk to each other");
  }
  if (expected && hello.node != *expected) {
    return Error(Code::kUnauthenticated,
                 fmt::format("node {} is there, where {} was expected: its address has changed",
                             hello.node.ToText(), expected->ToText()));
  }
  if (hello.node == self.node) {
    return InvalidArgument(
        fmt::format("it has this node's own identity ({}): every machine needs one of its own",
                    hello.node.ToText()));
  }
  return Ok();
}

}  // namespace

wire::Hello MakeHello(const Introduction& self) {
  wire::Hello hello;
  hello.oldest_protocol = wire::kOldestProtocol;
  hello.newest_protocol = wire::kNewestProtocol;
  hello.arithmetic = self.arithmetic;
  hello.node = self.node;
  hello.name = self.name;
  hello.max_frame_bytes = self.max_frame_bytes;
  hello.credit_bytes = self.credit_bytes;
  hello.password = self.password;
  hello.instance = self.instance;
  return hello;
}

Result<uint16_t> CheckHello(const Introduction& self, const wire::Hello& hello,
                            const std::optional<wire::NodeId>& proven,
                            const std::optional<wire::NodeId>& expected) {
  // First the identity; then whether both speak a common protocol and compute the same results.
  TRY(CheckIdentity(self, hello, proven, expected));
  if (hello.oldest_protocol > wire::kNewestProtocol ||
      hello.newest_protocol < wire::kOldestProtocol ||
      hello.oldest_protocol > hello.newest_protocol) {
    return FailedPrecondition(
        fmt::format("node {} speaks protocols {} to {}, node {} speaks {} to {}: bring both to the "
                    "same version "
                    "of the program",
                    self.node.ToText(), wire::kOldestProtocol, wire::kNewestProtocol,
                    hello.node.ToText(), hello.oldest_protocol, hello.newest_protocol));
  }
  if (hello.arithmetic != self.arithmetic) {
    return FailedPrecondition(
        fmt::format("node {} computes with arithmetic {}, node {} with {}: their results would not "
                    "fit together; bring both to the same version of the program",
                    self.node.ToText(), self.arithmetic, hello.node.ToText(), hello.arithmetic));
  }
  if (hello.max_frame_bytes < kLeastFrameBytes || hello.credit_bytes < kLeastFrameBytes) {
    return InvalidArgument(fmt::format(
        "node {} takes frames of {} bytes and {} at once, where {} are "
        "needed at least",
        hello.node.ToText(), hello.max_frame_bytes, hello.credit_bytes, kLeastFrameBytes));
  }
  // The newest protocol that both speak.
  const uint16_t version = std::min(wire::kNewestProtocol, hello.newest_protocol);
  if (version < wire::kInstanceProtocol && !self.instance.empty()) {
    return FailedPrecondition(
        fmt::format("node {} speaks protocols up to {}, in which only nodes talk, and {} is a "
                    "front end on one: bring both to the same version of the program",
                    hello.node.ToText(), hello.newest_protocol, self.node.ToText()));
  }
  return version;
}

}  // namespace aster::net
