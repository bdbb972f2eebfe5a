// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A stream of bytes from a peer, cut into frames as a connection does, with limits that the first
// byte picks: whatever is announced, no more memory is allocated than has arrived.
#include <vector>

#include "base/check.h"
#include "wire/codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aster;  // tidy: allow(using-namespace) a program of one function
  if (size == 0) return 0;
  wire::Limits limits;
  limits.hello_only = (data[0] & 1) != 0;
  if ((data[0] & 2) != 0) limits.max_frame_bytes = 1000;
  ByteReader stream({data + 1, size - 1});
  while (stream.left() >= wire::kHeaderBytes) {
    const Bytes bytes = *stream.ReadBytes(wire::kHeaderBytes);
    const Result<wire::FrameHeader> header = wire::ParseHeader(bytes, limits);
    if (!header.ok()) break;
    CHECK(header->frame_bytes() <=
          (limits.hello_only ? wire::kMaxGreetingBytes : limits.max_frame_bytes));
    uint8_t again[wire::kHeaderBytes];
    wire::WriteHeader(*header, again);
    CHECK(std::equal(bytes.begin(), bytes.end(), again));
    const Result<Bytes> body = stream.ReadBytes(header->body_bytes);
    if (!body.ok()) break;
    const Result<Bytes> payload = stream.ReadBytes(header->payload_bytes);
    if (!payload.ok()) break;
    const Result<wire::Message> message =
        wire::Decode(*header, *body, wire::Payload(payload->begin(), payload->end()));
    if (!message.ok()) CHECK(!message.error().message().empty());
  }
  return 0;
}
