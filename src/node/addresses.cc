// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/addresses.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <array>
#include <cerrno>
#include <memory>

#include "cluster/member.h"

namespace aster::node {
namespace {

bool IsAny(const std::string& host) { return host == "0.0.0.0" || host == "::"; }

// The address of an interface that others may reach; empty where it is none (of one link only, or
// of another family than IP).
std::string HostOf(const ifaddrs& interface) {
  if (interface.ifa_addr == nullptr || (interface.ifa_flags & IFF_UP) == 0) return "";
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = interface.ifa_addr->sa_family;
  const void* address = nullptr;
  if (family == AF_INET) {
    address = &reinterpret_cast<const sockaddr_in*>(interface.ifa_addr)->sin_addr;
  } else if (family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6*>(interface.ifa_addr)->sin6_addr;
    if (IN6_IS_ADDR_LINKLOCAL(&v6)) return "";
    address = &v6;
  } else {
    return "";
  }
  return inet_ntop(family, address, text.data(), text.size()) == nullptr ? "" : text.data();
}

Result<std::vector<std::string>> InterfaceHosts(bool v6) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return SystemError(errno, "the network interfaces");
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owned(list, freeifaddrs);
  std::vector<std::string> hosts, loopback;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    const std::string host = HostOf(*each);
    const bool is_v6 = host.find(':') != std::string::npos;
    if (host.empty() || (is_v6 && !v6)) continue;
    ((each->ifa_flags & IFF_LOOPBACK) != 0 ? loopback : hosts).push_back(host);
  }
  return hosts.empty() ? loopback : hosts;
}

}  // namespace

Result<ListenAddresses> ParseListen(const std::string& text) {
  cluster::HostPort host_port =
      TRY(cluster::ParseHostPort(text.starts_with(':') ? "0.0.0.0" + text : text, kDefaultPort));
  cluster::HostPort data = host_port;
  if (host_port.port == UINT16_MAX) {
    return InvalidArgument(
        fmt::format("{}: the data plane listens on the next port, and there is none", text));
  }
  if (host_port.port != 0) ++data.port;
  return ListenAddresses{.control = host_port.ToText(), .data = data.ToText()};
}

Result<std::vector<std::string>> ReachableAt(const std::string& listening,
                                             const std::string& advertise) {
  cluster::HostPort host_port = TRY(cluster::ParseHostPort(listening));
  std::vector<std::string> hosts = {host_port.host};
  if (!advertise.empty()) {
    hosts = {advertise};
  } else if (IsAny(host_port.host)) {
    hosts = TRY(InterfaceHosts(host_port.host == "::"));
  }
  if (hosts.size() > cluster::kMaxAddresses) hosts.resize(cluster::kMaxAddresses);
  std::vector<std::string> addresses;
  for (const std::string& host : hosts) {
    host_port.host = host;
    addresses.push_back(host_port.ToText());
  }
  return addresses;
}

}  // namespace aster::node
