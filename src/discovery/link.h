// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The addresses of this machine on its networks, with a socket at each for the multicast DNS group:
// 224.0.0.251, ff02::fb. A socket receives messages that an address of its network sent to the
// group there. Must not know what is said.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "net/socket.h"

namespace aster::discovery {

struct IpAddress {
  std::array<uint8_t, 16> bytes{};  // IPv4: the first four
  bool is_v6 = false;

  auto operator<=>(const IpAddress&) const = default;
  std::string ToText() const;
};
// Nullopt for another family.
std::optional<IpAddress> IpAddressOf(const sockaddr* address);

struct LinkAddress {
  uint32_t interface_index = 0;
  IpAddress address;
  uint32_t prefix_bits = 0;
  bool is_loopback = false;

  auto operator<=>(const LinkAddress&) const = default;
  // Whether the other address is in the same network.
  bool IsNeighbour(const IpAddress& other) const;
};

inline constexpr size_t kMaxLinks = 16;

// Addresses of interfaces that are up, and can multicast or are loopback; in order. Without the
// link-local ones of IPv6, where nodes are not reachable. On loopback, only IPv4 has a group.
Result<std::vector<LinkAddress>> FindLinks();

// Not for concurrent use.
class Link {
 public:
  static Result<Link> Open(const LinkAddress& address, uint16_t port);

  const LinkAddress& address() const { return address_; }
  int descriptor() const { return socket_.descriptor(); }

  // Sends to the group; undeliverable messages are lost.
  void Send(Bytes datagram) const;

  struct Datagram {
    IpAddress from;
    bool is_from_neighbour = false;  // and its port is the group's
    Bytes bytes;                     // in the buffer
  };
  // The next one; nullopt if none waits.
  std::optional<Datagram> Receive(std::span<uint8_t> buffer) const;

 private:
  Link(LinkAddress address, uint16_t port, net::Socket socket)
      : address_(address), port_(port), socket_(std::move(socket)) {}

  LinkAddress address_;
  uint16_t port_ = 0;
  net::Socket socket_;
};

}  // namespace aster::discovery
