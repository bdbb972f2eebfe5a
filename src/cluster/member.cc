// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/member.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace aster::cluster {
namespace {

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

bool IsHostCharacter(char c) { return IsNameCharacter(c) || c == ':' || c == '%'; }

// Typed or received text, made safe for messages.
std::string Shown(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, 80)) shown += c >= ' ' && c <= '~' ? c : '?';
  return shown;
}

Error BadAddress(std::string_view text, std::string_view why) {
  return InvalidArgument(fmt::format(
      "\"{}\" is no address: {}; write HOST:PORT, as in 192.168.1.20:7424 or [fe80::1]:7424",
      Shown(text), why));
}

Status CheckAddresses(const std::vector<std::string>& addresses) {
  if (addresses.size() > kMaxAddresses) {
    return InvalidArgument(
        fmt::format("{} addresses; at most {} are possible", addresses.size(), kMaxAddresses));
  }
  for (const std::string& address : addresses) TRY(ParseHostPort(address));
  return Ok();
}

}  // namespace

std::string_view MemberStateName(MemberState state) {
  switch (state) {
    case MemberState::kAlive:
      return "alive";
    case MemberState::kSuspect:
      return "suspect";
    case MemberState::kDead:
      return "dead";
    case MemberState::kLeft:
      return "left";
  }
  return "unknown";
}

Status CheckNodeName(std::string_view name) {
  if (!name.empty() && name.size() <= kMaxNameBytes && std::ranges::all_of(name, IsNameCharacter) &&
      name.front() != '-' && name.front() != '.') {
    return Ok();
  }
  return InvalidArgument(
      fmt::format("\"{}\" cannot be a node's name: 1 to {} letters, digits, '-', '_' and '.', "
                  "beginning with a letter, a digit or '_'",
                  Shown(name), kMaxNameBytes));
}

std::string HostPort::ToText() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  return is_v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

bool HostPort::is_loopback() const {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

Result<HostPort> ParseHostPort(std::string_view text, uint16_t default_port) {
  if (text.empty() || text.size() > kMaxAddressBytes)
    return BadAddress(text, fmt::format("it has {} characters", text.size()));
  std::string_view host = text;
  std::string_view port;
  const bool in_brackets = text.front() == '[';
  if (in_brackets) {
    const size_t close = text.find(']');
    if (close == std::string_view::npos) return BadAddress(text, "the bracket does not close");
    host = text.substr(1, close - 1);
    port = text.substr(close + 1);
    if (!port.empty() && port.front() != ':') return BadAddress(text, "no port after the bracket");
    if (!port.empty()) port.remove_prefix(1);
  } else if (std::ranges::count(text, ':') == 1) {
    host = text.substr(0, text.find(':'));
    port = text.substr(text.find(':') + 1);
  }
  const bool has_colon = host.find(':') != std::string_view::npos;
  if (host.empty() || !std::ranges::all_of(host, IsHostCharacter))
    return BadAddress(text, "that is not the name or number of a host");
  if (has_colon && !in_brackets && default_port == 0)
    return BadAddress(text, "several colons; put the host into brackets");
  HostPort result{.host = std::string(host), .port = default_port};
  if (port.empty() && default_port != 0 && !text.ends_with(':')) return result;
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(port.begin(), port.end(), number);
  if (error != std::errc() || end != port.end() || number > 65535)
    return BadAddress(text, "a port is a number up to 65535");
  result.port = static_cast<uint16_t>(number);
  return result;
}

Status CheckMember(const Member& member) {
  TRY(CheckNodeName(member.name));
  TRY(CheckAddresses(member.control_addresses));
  TRY(CheckAddresses(member.data_addresses));
  if (member.node == NodeId()) return InvalidArgument("a node's id is missing");
  if (member.incarnation > kMaxIncarnation || member.state > MemberState::kLeft ||
      member.signature.size() > kMaxSignatureBytes)
    return InvalidArgument("a number is out of range");
  return Ok();
}

}  // namespace aster::cluster
