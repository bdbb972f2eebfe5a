// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What nodes tell each other about each other: one record a node. Must not know how records travel
// nor who decides about them (membership_state.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/messages.h"

namespace aster::cluster {

using wire::NodeId;

enum class MemberState : uint8_t {
  kAlive,
  kSuspect,  // nothing was heard of it for a while
  kDead,     // nor for a while after that
  kLeft,     // it said goodbye
};
std::string_view MemberStateName(MemberState state);

struct Member {
  NodeId node;
  std::string name;  // for people
  // HOST:PORT, the best first: of the control plane, and of the data plane.
  std::vector<std::string> control_addresses;
  std::vector<std::string> data_addresses;
  // A life of the node: grows when it starts again, and when it contradicts a suspicion.
  uint64_t incarnation = 0;
  uint64_t heartbeat = 0;  // grows all the time during a life
  MemberState state = MemberState::kAlive;
  uint64_t description_version = 0;  // another number: describe it anew
  // The node's own, over all of this but what others make of its silence (member_signature.h).
  // Empty: of an older program, which signs nothing.
  std::string signature;

  bool operator==(const Member&) const = default;
};

inline constexpr size_t kMaxNameBytes = 64;
inline constexpr size_t kMaxAddresses = 8;
inline constexpr size_t kMaxAddressBytes = 255;
inline constexpr size_t kMaxSignatureBytes = 128;
// So that the next one always exists.
inline constexpr uint64_t kMaxIncarnation = uint64_t{1} << 62;

// A name that fits on a line of a terminal and into a certificate: 1 to 64 printable characters of
// ASCII, none of them a space or one that shells and files find special.
Status CheckNodeName(std::string_view name);

struct HostPort {
  std::string host;  // without brackets
  uint16_t port = 0;

  std::string ToText() const;  // with brackets where the host needs them
  bool is_loopback() const;    // by its text alone: no name is looked up
};

// "HOST:PORT", "[V6]:PORT", and with a default port also "HOST", "V6" and "[V6]".
Result<HostPort> ParseHostPort(std::string_view text, uint16_t default_port = 0);

// Whether a received record can be one: bounded, printable, addresses well formed.
Status CheckMember(const Member& member);

}  // namespace aster::cluster
