// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "discovery/link.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>

namespace aster::discovery {
namespace {

constexpr const char* kGroupV4 = "224.0.0.251";
constexpr const char* kGroupV6 = "ff02::fb";
// The hop limit that RFC 6762 asks for.
constexpr int kHops = 255;

Status Set(const net::Socket& socket, int level, int option, const auto& value) {
  if (setsockopt(socket.descriptor(), level, option, &value, sizeof(value)) == 0) return Ok();
  return Error(Code::kUnavailable, SystemError(errno, "a multicast socket").message());
}

in_addr V4Of(const IpAddress& address) {
  in_addr v4{};
  std::memcpy(&v4, address.bytes.data(), sizeof(v4));
  return v4;
}

in6_addr V6Of(const IpAddress& address) {
  in6_addr v6{};
  std::memcpy(&v6, address.bytes.data(), sizeof(v6));
  return v6;
}

net::Endpoint GroupAt(const LinkAddress& link, uint16_t port) {
  net::Endpoint endpoint;
  if (link.address.is_v6) {
    sockaddr_in6 group{};
    group.sin6_family = AF_INET6;
    group.sin6_port = htons(port);
    group.sin6_scope_id = link.interface_index;
    inet_pton(AF_INET6, kGroupV6, &group.sin6_addr);
    std::memcpy(&endpoint.address, &group, endpoint.size = sizeof(group));
  } else {
    sockaddr_in group{};
    group.sin_family = AF_INET;
    group.sin_port = htons(port);
    inet_pton(AF_INET, kGroupV4, &group.sin_addr);
    std::memcpy(&endpoint.address, &group, endpoint.size = sizeof(group));
  }
  return endpoint;
}

Status JoinV4(const net::Socket& socket, const LinkAddress& link) {
  ip_mreqn membership{};
  inet_pton(AF_INET, kGroupV4, &membership.imr_multiaddr);
  membership.imr_address = V4Of(link.address);
  membership.imr_ifindex = static_cast<int>(link.interface_index);
  TRY(Set(socket, IPPROTO_IP, IP_ADD_MEMBERSHIP, membership));
  // The interface and the address to send from.
  TRY(Set(socket, IPPROTO_IP, IP_MULTICAST_IF, membership));
  TRY(Set(socket, IPPROTO_IP, IP_MULTICAST_TTL, kHops));
  TRY(Set(socket, IPPROTO_IP, IP_MULTICAST_LOOP, 1));
  return Set(socket, IPPROTO_IP, IP_MULTICAST_ALL, 0);  // nothing from other interfaces
}

Status JoinV6(const net::Socket& socket, const LinkAddress& link) {
  ipv6_mreq membership{};
  inet_pton(AF_INET6, kGroupV6, &membership.ipv6mr_multiaddr);
  membership.ipv6mr_interface = link.interface_index;
  TRY(Set(socket, IPPROTO_IPV6, IPV6_JOIN_GROUP, membership));
  TRY(Set(socket, IPPROTO_IPV6, IPV6_MULTICAST_IF, static_cast<int>(link.interface_index)));
  TRY(Set(socket, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, kHops));
  return Set(socket, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 1);
}

uint32_t PrefixBits(const sockaddr* mask, const IpAddress& address) {
  std::array<uint8_t, 16> bytes{};
  if (mask == nullptr) return address.is_v6 ? 128 : 32;
  if (address.is_v6) {
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6*>(mask)->sin6_addr, 16);
  } else {
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in*>(mask)->sin_addr, 4);
  }
  uint32_t bits = 0;
  for (const uint8_t byte : bytes) bits += static_cast<uint32_t>(std::popcount(byte));
  return bits;
}

std::optional<LinkAddress> LinkOf(const ifaddrs& interface) {
  const bool is_loopback = (interface.ifa_flags & IFF_LOOPBACK) != 0;
  const bool is_up = (interface.ifa_flags & (IFF_UP | IFF_RUNNING)) == (IFF_UP | IFF_RUNNING);
  if (!is_up || (!is_loopback && (interface.ifa_flags & IFF_MULTICAST) == 0)) return std::nullopt;
  const std::optional<IpAddress> address = IpAddressOf(interface.ifa_addr);
  if (!address) return std::nullopt;
  const in6_addr v6 = V6Of(*address);
  if (address->is_v6 && (is_loopback || IN6_IS_ADDR_LINKLOCAL(&v6))) return std::nullopt;
  return LinkAddress{.interface_index = if_nametoindex(interface.ifa_name),
                     .address = *address,
                     .prefix_bits = PrefixBits(interface.ifa_netmask, *address),
                     .is_loopback = is_loopback};
}

}  // namespace

std::string IpAddress::ToText() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = is_v6 ? AF_INET6 : AF_INET;
  return inet_ntop(family, bytes.data(), text.data(), text.size()) == nullptr ? "" : text.data();
}

std::optional<IpAddress> IpAddressOf(const sockaddr* address) {
  if (address == nullptr) return std::nullopt;
  IpAddress ip;
  if (address->sa_family == AF_INET) {
    std::memcpy(ip.bytes.data(), &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, 4);
    return ip;
  }
  if (address->sa_family != AF_INET6) return std::nullopt;
  ip.is_v6 = true;
  std::memcpy(ip.bytes.data(), &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, 16);
  return ip;
}

bool LinkAddress::IsNeighbour(const IpAddress& other) const {
  if (other.is_v6 != address.is_v6) return false;
  for (uint32_t bit = 0; bit < prefix_bits; ++bit) {
    const auto mask = static_cast<uint8_t>(0x80 >> bit % 8);
    if (((other.bytes[bit / 8] ^ address.bytes[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

Result<std::vector<LinkAddress>> FindLinks() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return SystemError(errno, "the network interfaces");
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owned(list, freeifaddrs);
  std::vector<LinkAddress> links;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (const auto link = LinkOf(*each)) links.push_back(*link);
  }
  std::ranges::sort(links);
  if (links.size() > kMaxLinks) links.resize(kMaxLinks);
  return links;
}

Result<Link> Link::Open(const LinkAddress& address, uint16_t port) {
  const net::Endpoint group = GroupAt(address, port);
  net::Socket socket(
      ::socket(group.address.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return SystemError(errno, "a multicast socket");
  // Other programs of this machine listen to the group, too.
  TRY(Set(socket, SOL_SOCKET, SO_REUSEADDR, 1));
  // Bound to the group's address: unicast messages do not arrive here.
  if (bind(socket.descriptor(), reinterpret_cast<const sockaddr*>(&group.address), group.size) !=
      0) {
    return Error(Code::kUnavailable, SystemError(errno, group.ToText()).message());
  }
  TRY(address.address.is_v6 ? JoinV6(socket, address) : JoinV4(socket, address));
  return Link(address, port, std::move(socket));
}

void Link::Send(Bytes datagram) const {
  net::Endpoint group = GroupAt(address_, port_);
  iovec data{.iov_base = const_cast<uint8_t*>(datagram.data()), .iov_len = datagram.size()};
  msghdr message{};
  message.msg_name = &group.address;
  message.msg_namelen = group.size;
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(in6_pktinfo))> control{};
  if (address_.address.is_v6) {
    // Not the link-local address, which the system would choose.
    const in6_pktinfo source{.ipi6_addr = V6Of(address_.address),
                             .ipi6_ifindex = address_.interface_index};
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = IPPROTO_IPV6;
    header->cmsg_type = IPV6_PKTINFO;
    header->cmsg_len = CMSG_LEN(sizeof(source));
    std::memcpy(CMSG_DATA(header), &source, sizeof(source));
  }
  (void)sendmsg(socket_.descriptor(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

std::optional<Link::Datagram> Link::Receive(std::span<uint8_t> buffer) const {
  net::Endpoint from;
  from.size = sizeof(from.address);
  const ssize_t size = recvfrom(socket_.descriptor(), buffer.data(), buffer.size(), MSG_DONTWAIT,
                                reinterpret_cast<sockaddr*>(&from.address), &from.size);
  const auto address = IpAddressOf(reinterpret_cast<const sockaddr*>(&from.address));
  if (size < 0 || !address) return std::nullopt;
  return Datagram{.from = *address,
                  .is_from_neighbour = from.port() == port_ && address_.IsNeighbour(*address),
                  .bytes = Bytes(buffer).first(static_cast<size_t>(size))};
}

}  // namespace aster::discovery
