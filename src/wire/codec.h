// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Converts messages to frames, and back. A decoded message is well-formed: every count was compared
// with the remaining bytes before memory was allocated, every enumeration has a valid value.
// Callers check whether it makes sense. Must not know sockets.
#pragma once

#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "wire/frame.h"
#include "wire/messages.h"

namespace aster::wire {

// Longer texts are cut when encoded, and refused when decoded.
constexpr size_t kMaxNameBytes = 255;    // of a node, and of an address
constexpr size_t kMaxErrorBytes = 2048;  // an error's sentence: a Goodbye is a greeting too
constexpr size_t kMaxPasswordBytes = 64;
constexpr size_t kMaxInstanceBytes = 64;
// At most this many are encoded (the best come first); more are refused when decoded.
constexpr size_t kMaxAddresses = 16;
constexpr size_t kMaxStages = 4096;
constexpr size_t kMaxHeldRanges = 4096;
constexpr size_t kMaxDrafts = 64;
constexpr size_t kMaxParts = 16;  // per group

// The oldest protocol that can express all of this message.
uint16_t VersionOf(const Message& message);

struct EncodeOptions {
  // The version of the format; fields that it lacks are left out. Nullopt: VersionOf the message.
  std::optional<uint16_t> version = std::nullopt;
  bool checksum_payload = true;  // unnecessary if the connection protects the data
};

// The payload is moved, not copied.
Frame Encode(Message&& message, const EncodeOptions& options = {});

// The message of a frame whose header ParseHeader accepted. Checks the checksums of both parts.
Result<Message> Decode(const FrameHeader& header, Bytes body, Payload&& payload);

FrameType TypeOf(const Message& message);
// "Work", for errors and traces.
std::string_view NameOf(FrameType type);

// An upper estimate of a message's memory while it waits: the unit of credit.
uint64_t CostOf(uint64_t frame_bytes);

}  // namespace aster::wire
