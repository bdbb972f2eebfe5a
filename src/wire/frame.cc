// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "wire/frame.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "base/check.h"
#include "base/hash.h"

namespace aster::wire {
namespace {

// The fields, in order, are followed by the two checksums.
constexpr size_t kFieldBytes = 24;
constexpr uint8_t kHasPayloadChecksum = 1;

bool IsKnown(uint8_t type, uint16_t version) {
  const FrameType last = version < kKvTransferProtocol ? FrameType::kDone
                         : version < kFindKvProtocol   ? FrameType::kHalt
                         : version < kGroupProtocol    ? FrameType::kFetchKv
                         : version < kAheadProtocol    ? FrameType::kPartRows
                         : version < kDrafterProtocol  ? FrameType::kCancel
                                                       : FrameType::kDraftTokens;
  return (type >= static_cast<uint8_t>(FrameType::kHello) &&
          type <= static_cast<uint8_t>(FrameType::kPong)) ||
         (type >= static_cast<uint8_t>(FrameType::kOpenRoute) &&
          type <= static_cast<uint8_t>(last));
}

// Every version must understand these, so that two without a common version can report that.
bool IsOfEveryVersion(FrameType type) {
  return type == FrameType::kHello || type == FrameType::kGoodbye;
}

bool MayHavePayload(FrameType type) {
  return type == FrameType::kWork || type == FrameType::kDone || type == FrameType::kKvRows ||
         type == FrameType::kPartRows;
}

std::array<uint8_t, kFieldBytes> FieldsOf(const FrameHeader& header) {
  std::array<uint8_t, kFieldBytes> fields{};
  const auto put = [&](size_t offset, auto value) {
    std::memcpy(fields.data() + offset, &value, sizeof(value));
  };
  put(0, kFrameMagic);
  put(4, header.version);
  put(6, static_cast<uint8_t>(header.type));
  put(7, header.has_payload_checksum ? kHasPayloadChecksum : uint8_t{0});
  put(8, header.body_bytes);
  // Four unused bytes.
  put(16, header.payload_bytes);
  return fields;
}

uint64_t ChecksumOfBody(const FrameHeader& header, Bytes body) {
  return Hash64Of(body, Hash64Of(FieldsOf(header)));
}

uint64_t ChecksumOfPayload(Bytes payload) { return Hash64Of(payload); }

Status CheckLengths(const FrameHeader& header, const Limits& limits) {
  if (header.payload_bytes > 0 && !MayHavePayload(header.type)) {
    return DataLoss(fmt::format("a frame of type {} with a payload of {} bytes, which has none",
                                static_cast<int>(header.type), header.payload_bytes));
  }
  const uint64_t most = limits.hello_only ? kMaxGreetingBytes : limits.max_frame_bytes;
  const uint64_t head_bytes = kHeaderBytes + uint64_t{header.body_bytes};
  if (header.body_bytes > kMaxBodyBytes || head_bytes > most ||
      header.payload_bytes > most - head_bytes) {
    return ResourceExhausted(
        fmt::format("a frame of {} + {} + {} bytes, where {} are taken at most (of them {} without "
                    "the rows): send fewer tokens at once",
                    kHeaderBytes, header.body_bytes, header.payload_bytes, most, kMaxBodyBytes));
  }
  return Ok();
}

}  // namespace

Result<FrameHeader> ParseHeader(Bytes bytes, const Limits& limits) {
  CHECK(bytes.size() == kHeaderBytes);
  const auto get = [&]<typename T>(size_t offset, T*) {
    return LoadUnaligned<T>(bytes.data() + offset);
  };
  const auto magic = get(0, static_cast<uint32_t*>(nullptr));
  if (magic != kFrameMagic) {
    return DataLoss(
        fmt::format("begins with {:08x}, not with {:08x}: it does not speak this "
                    "protocol; is the port another program's?",
                    magic, kFrameMagic));
  }
  FrameHeader header;
  header.version = get(4, static_cast<uint16_t*>(nullptr));
  // The type must exist, and the version be spoken, except for types that every version has.
  const uint8_t type = bytes[6];
  if (!IsKnown(type, header.version)) {
    return Unimplemented(
        fmt::format("a frame of type {}, which protocol {} does not have", type, header.version));
  }
  header.type = static_cast<FrameType>(type);
  if ((header.version < kOldestProtocol || header.version > kNewestProtocol) &&
      !IsOfEveryVersion(header.type)) {
    return Unimplemented(
        fmt::format("a frame of protocol {}, where {} to {} are spoken: bring both "
                    "sides to the same version of the program",
                    header.version, kOldestProtocol, kNewestProtocol));
  }
  if (limits.hello_only && !IsOfEveryVersion(header.type)) {
    return Error(Code::kUnauthenticated, fmt::format("a frame of type {} before Hello", type));
  }
  // The other fields; unused bits must be zero, for later versions.
  const uint8_t flags = bytes[7];
  header.body_bytes = get(8, static_cast<uint32_t*>(nullptr));
  const auto nothing = get(12, static_cast<uint32_t*>(nullptr));
  header.payload_bytes = get(16, static_cast<uint64_t*>(nullptr));
  header.body_checksum = get(24, static_cast<uint64_t*>(nullptr));
  header.payload_checksum = get(32, static_cast<uint64_t*>(nullptr));
  header.has_payload_checksum = flags == kHasPayloadChecksum;
  if (flags > kHasPayloadChecksum || nothing != 0 ||
      (!header.has_payload_checksum && header.payload_checksum != 0)) {
    return DataLoss("a frame's header with unknown bits");
  }
  TRY(CheckLengths(header, limits));
  return header;
}

FrameHeader MakeHeader(FrameType type, uint16_t version, Bytes body, Bytes payload,
                       bool checksum_payload) {
  FrameHeader header;
  header.version = version;
  header.type = type;
  header.has_payload_checksum = checksum_payload && !payload.empty();
  header.body_bytes = static_cast<uint32_t>(body.size());
  header.payload_bytes = payload.size();
  header.body_checksum = ChecksumOfBody(header, body);
  if (header.has_payload_checksum) header.payload_checksum = ChecksumOfPayload(payload);
  return header;
}

void WriteHeader(const FrameHeader& header, uint8_t* bytes) {
  const std::array<uint8_t, kFieldBytes> fields = FieldsOf(header);
  std::memcpy(bytes, fields.data(), kFieldBytes);
  std::memcpy(bytes + 24, &header.body_checksum, 8);
  std::memcpy(bytes + 32, &header.payload_checksum, 8);
}

Status CheckBody(const FrameHeader& header, Bytes body) {
  if (body.size() == header.body_bytes && ChecksumOfBody(header, body) == header.body_checksum) {
    return Ok();
  }
  return DataLoss(
      fmt::format("a frame of type {} was damaged on the way (its body of {} bytes has "
                  "another checksum)",
                  static_cast<int>(header.type), body.size()));
}

Status CheckPayload(const FrameHeader& header, Bytes payload) {
  if (payload.size() == header.payload_bytes &&
      (!header.has_payload_checksum || ChecksumOfPayload(payload) == header.payload_checksum)) {
    return Ok();
  }
  return DataLoss(
      fmt::format("a frame of type {} was damaged on the way (its payload of {} bytes "
                  "has another checksum)",
                  static_cast<int>(header.type), payload.size()));
}

}  // namespace aster::wire
