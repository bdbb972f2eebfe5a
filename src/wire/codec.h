// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Messages as frames, and back. A decoded message is well-formed: every count was held against what
// is left before memory was taken, every enumeration has one of its values. Whether it makes sense
// is for others to say. Must not know sockets.
#pragma once

#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "wire/frame.h"
#include "wire/messages.h"

namespace aster::wire {

// Longer texts are cut where they are encoded, and refused where they are decoded.
constexpr size_t kMaxNameBytes = 255;    // of a node, and of an address
constexpr size_t kMaxErrorBytes = 2048;  // an error's sentence: a Goodbye is a greeting too
constexpr size_t kMaxPasswordBytes = 64;
constexpr size_t kMaxInstanceBytes = 64;
// As many as are encoded (the best come first), and not one more is decoded.
constexpr size_t kMaxAddresses = 16;
constexpr size_t kMaxStages = 4096;
constexpr size_t kMaxHeldRanges = 4096;
constexpr size_t kMaxDrafts = 64;
constexpr size_t kMaxParts = 16;  // of a group

// The oldest protocol that can say all of this message.
uint16_t VersionOf(const Message& message);

struct EncodeOptions {
  // Of the format: what it cannot say is left out. Not given: VersionOf the message.
  std::optional<uint16_t> version = std::nullopt;
  bool checksum_payload = true;  // not needed where the connection protects what it carries
};

// The payload is moved, not copied.
Frame Encode(Message&& message, const EncodeOptions& options = {});

// The message of a frame whose header ParseHeader took. Checks the checksums of both parts.
Result<Message> Decode(const FrameHeader& header, Bytes body, Payload&& payload);

FrameType TypeOf(const Message& message);
// "Work", for errors and traces.
std::string_view NameOf(FrameType type);

// What a message takes of memory while it waits, roughly and never too little: what credit counts.
uint64_t CostOf(uint64_t frame_bytes);

}  // namespace aster::wire
