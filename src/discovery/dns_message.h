// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Messages of multicast DNS (RFC 1035, RFC 6762), as bytes: the part that finds services. They come
// from any machine on the network: all lengths, counts and pointers are checked. Must not know
// which services there are.
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

// Names are dotted and in lower case, without the last dot: "_aster._tcp.local". Characters that
// our names do not have become '?'.
struct DnsQuestion {
  std::string name;
  uint16_t type = 0;

  bool operator==(const DnsQuestion&) const = default;
};

struct DnsRecord {
  std::string name;
  uint16_t type = 0;
  uint32_t ttl_s = 0;
  std::string target;  // for pointers and services
  uint16_t port = 0;   // for services

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

// Of records with other types than these three, only the name is read.
Result<DnsMessage> ParseDnsMessage(Bytes bytes);
// Labels may have up to 63 bytes, names 253.
std::vector<uint8_t> FormatDnsMessage(const DnsMessage& message);

}  // namespace aster::discovery
