// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Messages of multicast DNS (RFC 1035, RFC 6762), as bytes: the part of them that finds services.
// What arrives comes from anybody on the network: no length, count or pointer in it is believed.
// Must not know which services there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace aster::discovery {

inline constexpr uint16_t kPointerRecord = 12;
inline constexpr uint16_t kTextRecord = 16;
inline constexpr uint16_t kServiceRecord = 33;
inline constexpr uint16_t kAnyRecord = 255;

// Names are dotted and in small letters, without the last dot: "_aster._tcp.local". Characters that
// no name of ours has read as '?'.
struct DnsQuestion {
  std::string name;
  uint16_t type = 0;

  bool operator==(const DnsQuestion&) const = default;
};

struct DnsRecord {
  std::string name;
  uint16_t type = 0;
  uint32_t ttl_s = 0;
  std::string target;  // of pointers and services
  uint16_t port = 0;   // of services

  bool operator==(const DnsRecord&) const = default;
};

struct DnsMessage {
  bool is_answer = false;
  std::vector<DnsQuestion> questions;
  std::vector<DnsRecord> records;  // of all three sections

  bool operator==(const DnsMessage&) const = default;
};

inline constexpr size_t kMaxMessageBytes = 9000;
// Questions and records together; more than a network of printers and televisions needs.
inline constexpr size_t kMaxEntries = 256;

// Of records of other types than these three, the name alone is read.
Result<DnsMessage> ParseDnsMessage(Bytes bytes);
// Names of labels up to 63 bytes, 253 together.
std::vector<uint8_t> FormatDnsMessage(const DnsMessage& message);

}  // namespace aster::discovery
