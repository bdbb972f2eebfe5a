// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The framing of messages: a header of fixed size, a body, a payload. docs/wire.md describes the
// same. Must not know what a body contains, nor sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "wire/payload.h"

namespace aster::wire {

// The supported protocols. A version that changes any frame gets a new number. Each frame has the
// version of its own format, the oldest that can express it (VersionOf in codec.h), so that nodes
// whose versions overlap understand each other from the first frame on.
constexpr uint16_t kOldestProtocol = 1;
constexpr uint16_t kNewestProtocol = 10;
// Hello may name an instance.
constexpr uint16_t kInstanceProtocol = 2;
// KV transfers; decode stages run several steps by themselves.
constexpr uint16_t kKvTransferProtocol = 3;
// Prefix search: nodes report their KV rows, independent of routes.
constexpr uint16_t kFindKvProtocol = 4;
// Stages check draft tokens.
constexpr uint16_t kDraftProtocol = 5;
// Groups of nodes compute the same layers together.
constexpr uint16_t kGroupProtocol = 6;
// Draft tokens may follow unchecked draft tokens, and are also checked if the conductor chooses
// tokens.
constexpr uint16_t kAheadProtocol = 7;
// Nodes draft tokens for others.
constexpr uint16_t kDrafterProtocol = 8;
// Nodes of a group own experts.
constexpr uint16_t kExpertsProtocol = 9;
// Nodes of a group send each other 8-bit blocks, and report their sending times.
constexpr uint16_t kBlocksProtocol = 10;

constexpr uint32_t kFrameMagic = 0x46545341;  // "ASTF"
constexpr size_t kHeaderBytes = 40;

// Numbers are never reused for another type.
enum class FrameType : uint8_t {
  // About the connection.
  kHello = 1,
  kGoodbye = 2,
  kCredit = 3,
  kPing = 4,
  kPong = 5,
  // About routes and what runs on them.
  kOpenRoute = 16,
  kRouteState = 17,
  kCloseRoute = 18,
  kBegin = 19,
  kHolds = 20,
  kEnd = 21,
  kWork = 22,
  kDone = 23,
  // About KV rows.
  kSendKv = 24,
  kKvRows = 25,
  kKvTaken = 26,
  kHalt = 27,
  kFindKv = 28,
  kFoundKv = 29,
  kFetchKv = 30,
  // Between the nodes of a group.
  kPartRows = 31,
  // About work that was sent.
  kCancel = 32,
  // Between front ends and drafters.
  kBeginDraft = 33,
  kFollowDraft = 34,
  kEndDraft = 35,
  kDraftTokens = 36,
};

// Whether frames of this type take credit; those about the connection itself do not.
constexpr bool TakesCredit(FrameType type) { return type >= FrameType::kOpenRoute; }

// Limits on the frames of a peer. No body, whatever the peer's limits, is larger than
// kMaxBodyBytes: prompts of sixteen million tokens.
constexpr uint64_t kMaxBodyBytes = uint64_t{64} << 20;
struct Limits {
  uint64_t max_frame_bytes = uint64_t{512} << 20;  // header, body and payload
  bool hello_only = false;                         // until the handshake is done
};
// For frames of unauthenticated peers.
constexpr uint64_t kMaxGreetingBytes = 4096;

struct FrameHeader {
  uint16_t version = kNewestProtocol;
  FrameType type = FrameType::kPing;
  bool has_payload_checksum = false;
  uint32_t body_bytes = 0;
  uint64_t payload_bytes = 0;
  uint64_t body_checksum = 0;     // of the header's fields above and the body
  uint64_t payload_checksum = 0;  // zero without has_payload_checksum

  uint64_t frame_bytes() const { return kHeaderBytes + body_bytes + payload_bytes; }
};

// A message as it is sent: two pieces, of which the second is never copied.
struct Frame {
  FrameType type = FrameType::kPing;
  std::vector<uint8_t> head;  // header and body
  Payload payload;
  uint16_t version = kOldestProtocol;  // as in the header

  uint64_t size_bytes() const { return head.size() + payload.size(); }
};

// Checks the header's own fields and `limits`: afterwards, memory for body and payload may be
// allocated as they arrive. `bytes` has kHeaderBytes.
Result<FrameHeader> ParseHeader(Bytes bytes, const Limits& limits);

// The header of a body and a payload, with checksums.
FrameHeader MakeHeader(FrameType type, uint16_t version, Bytes body, Bytes payload,
                       bool checksum_payload);
void WriteHeader(const FrameHeader& header, uint8_t* bytes);  // `bytes` has kHeaderBytes

// Whether the body arrived unchanged.
Status CheckBody(const FrameHeader& header, Bytes body);
Status CheckPayload(const FrameHeader& header, Bytes payload);

}  // namespace aster::wire
