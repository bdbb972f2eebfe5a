// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Untrusted bodies of every type. Checksums would stop nearly all of them, so they are corrected;
// the first byte picks the type. A decoded message must encode to the received bytes.
#include <algorithm>
#include <vector>

#include "base/check.h"
#include "wire/codec.h"

namespace aster::wire {
namespace {

constexpr FrameType kTypes[] = {
    FrameType::kHello,    FrameType::kGoodbye,    FrameType::kCredit,     FrameType::kPing,
    FrameType::kPong,     FrameType::kOpenRoute,  FrameType::kRouteState, FrameType::kCloseRoute,
    FrameType::kBegin,    FrameType::kHolds,      FrameType::kEnd,        FrameType::kWork,
    FrameType::kDone,     FrameType::kSendKv,     FrameType::kKvRows,     FrameType::kKvTaken,
    FrameType::kHalt,     FrameType::kFindKv,     FrameType::kFoundKv,    FrameType::kFetchKv,
    FrameType::kPartRows, FrameType::kCancel,     FrameType::kBeginDraft, FrameType::kFollowDraft,
    FrameType::kEndDraft, FrameType::kDraftTokens};

void Run(FrameType type, uint16_t version, Bytes body) {
  const FrameHeader header = MakeHeader(type, version, body, {}, false);
  uint8_t header_bytes[kHeaderBytes];
  WriteHeader(header, header_bytes);
  const Result<FrameHeader> parsed = ParseHeader(header_bytes, {});
  if (!parsed.ok()) {
    CHECK(!parsed.error().message().empty());
    return;
  }
  Result<Message> message = Decode(*parsed, body, {});
  if (!message.ok()) {
    CHECK(!message.error().message().empty());
    return;
  }
  CHECK(TypeOf(*message) == type);
  const bool is_later = version > kNewestProtocol;
  const Frame again = Encode(std::move(*message), {.version = version});
  const Bytes encoded = Bytes(again.head).subspan(kHeaderBytes);
  CHECK(is_later ? encoded.size() <= body.size() : encoded.size() == body.size());
  CHECK(std::equal(encoded.begin(), encoded.end(), body.begin()));
}

}  // namespace
}  // namespace aster::wire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  using aster::wire::kTypes;
  // Every supported version, and the next one.
  using aster::wire::kNewestProtocol;
  const auto version = static_cast<uint16_t>(1 + (data[0] >> 5) % (kNewestProtocol + 1));
  aster::wire::Run(kTypes[(data[0] & 0x1f) % std::size(kTypes)], version, {data + 1, size - 1});
  return 0;
}
