// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The record of a node that nodes exchange. Must not know how records are sent nor who judges them
// (membership_state.h).
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
  kSuspect,  // not heard for a while
  kDead,     // nor for a while after that
  kLeft,     // it left properly
};
std::string_view MemberStateName(MemberState state);

struct Member {
  NodeId node;
  std::string name;  // for users
  // HOST:PORT, the best first: of the control plane, and of the data plane.
  std::vector<std::string> control_addresses;
  std::vector<std::string> data_addresses;
  // Grows when the node starts again, and when it contradicts a suspicion.
  uint64_t incarnation = 0;
  uint64_t heartbeat = 0;  // grows continuously within an incarnation
  MemberState state = MemberState::kAlive;
  uint64_t description_version = 0;  // changed: fetch the description again
  // The node's own signature, over all fields except others' judgement of its silence
  // (member_signature.h). Empty: from an older program, which signs nothing.
  std::string signature;

  bool operator==(const Member&) const = default;
};

inline constexpr size_t kMaxNameBytes = 64;
inline constexpr size_t kMaxAddresses = 8;
inline constexpr size_t kMaxAddressBytes = 255;
inline constexpr size_t kMaxSignatureBytes = 128;
// Limited, so that the next one always exists.
inline constexpr uint64_t kMaxIncarnation = uint64_t{1} << 62;

// A name that fits on a line of a terminal and into a certificate: 1 to 64 printable characters of
// ASCII, without spaces and characters that are special to shells and files.
Status CheckNodeName(std::string_view name);

struct HostPort {
  std::string host;  // without brackets
  uint16_t port = 0;

  std::string ToText() const;  // with brackets if the host needs them
  bool is_loopback() const;    // by its text alone: looks up no name
};

// "HOST:PORT", "[V6]:PORT", and with a default port also "HOST", "V6" and "[V6]".
Result<HostPort> ParseHostPort(std::string_view text, uint16_t default_port = 0);

// Whether a received record is valid: bounded, printable, addresses well formed.
Status CheckMember(const Member& member);

}  // namespace aster::cluster
