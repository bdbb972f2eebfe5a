// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/addresses.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "cluster/member.h"
#include "net/socket.h"

namespace aster::node {
namespace {

bool IsAny(const std::string& host) { return host == "0.0.0.0" || host == "::"; }

// The address of an interface that other machines may reach; empty if it has none (link-local, or
// another family than IP).
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

Result<std::vector<addresses_internal::InterfaceHost>> InterfaceHosts() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return SystemError(errno, "the network interfaces");
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owned(list, freeifaddrs);
  std::vector<addresses_internal::InterfaceHost> hosts;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    const std::string host = HostOf(*each);
    if (!host.empty()) hosts.push_back({host, (each->ifa_flags & IFF_LOOPBACK) != 0});
  }
  return hosts;
}

bool HasV6() {
  const auto any = net::Resolve({.host = "::", .port = "0"});
  return any.ok() && net::Listen(any->front()).ok();
}

// The hosts to announce for one listened on.
Result<std::vector<std::string>> HostsAt(const std::string& host, const std::string& advertise) {
  if (!advertise.empty()) return std::vector<std::string>{advertise};
  if (!IsAny(host)) return std::vector<std::string>{host};
  return addresses_internal::ChooseHosts(TRY(InterfaceHosts()), host == "::");
}

}  // namespace

namespace addresses_internal {

std::vector<std::string> ChooseHosts(const std::vector<InterfaceHost>& hosts, bool v6) {
  const bool is_alone = std::ranges::all_of(hosts, &InterfaceHost::is_loopback);
  std::vector<std::string> chosen;
  for (const InterfaceHost& each : hosts) {
    const bool is_v6 = each.host.find(':') != std::string::npos;
    if (is_v6 == v6 && each.is_loopback == is_alone) chosen.push_back(each.host);
  }
  return chosen;
}

}  // namespace addresses_internal

Result<ListenAddresses> ParseListen(const std::string& text) {
  cluster::HostPort control =
      TRY(cluster::ParseHostPort(text.starts_with(':') ? "0.0.0.0" + text : text, kDefaultPort));
  if (control.port == UINT16_MAX) {
    return InvalidArgument(
        fmt::format("{}: the data plane listens on the next port, and there is none", text));
  }
  cluster::HostPort data = control;
  if (control.port != 0) ++data.port;
  ListenAddresses listen{.control = {control.ToText()}, .data = {data.ToText()}};
  if (!text.starts_with(':') || !HasV6()) return listen;
  control.host = data.host = "::";
  listen.control.push_back(control.ToText());
  listen.data.push_back(data.ToText());
  return listen;
}

Result<std::vector<std::string>> ReachableAt(const std::vector<std::string>& listening,
                                             const std::string& advertise) {
  std::vector<std::string> addresses;
  for (const std::string& each : listening) {
    cluster::HostPort host_port = TRY(cluster::ParseHostPort(each));
    for (const std::string& host : TRY(HostsAt(host_port.host, advertise))) {
      host_port.host = host;
      const std::string address = host_port.ToText();
      if (addresses.size() < cluster::kMaxAddresses && std::ranges::count(addresses, address) == 0)
        addresses.push_back(address);
    }
  }
  return addresses;
}

}  // namespace aster::node
