// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/frame_reader.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "net/memory_stream_for_test.h"
#include "wire/codec.h"
#include "wire/samples_for_test.h"

namespace aster::net {
namespace {

using wire::Message;

std::vector<uint8_t> Framed(const std::vector<Message>& messages) {
  std::vector<uint8_t> bytes;
  for (const Message& message : messages) {
    const wire::Frame frame = wire::Encode(Message(message));
    const size_t before = bytes.size();
    bytes.resize(before + frame.size_bytes());
    std::copy(frame.head.begin(), frame.head.end(), bytes.data() + before);
    std::copy(frame.payload.begin(), frame.payload.end(),
              bytes.data() + before + frame.head.size());
  }
  return bytes;
}

void ExpectAllArrive(const std::vector<Message>& messages,
                     const std::function<size_t(Bytes)>& piece) {
  const std::vector<uint8_t> bytes = Framed(messages);
  MemoryStream stream(bytes, piece);
  FrameReader reader;
  for (const Message& message : messages) {
    std::optional<FrameReader::Arrived> arrived;
    while (!arrived) arrived = reader.Next(stream, {}).value();
    const Result<Message> decoded =
        wire::Decode(arrived->header, arrived->body, std::move(arrived->payload));
    ASSERT_TRUE(decoded.ok()) << decoded.error().message();
    EXPECT_TRUE(wire::Same(message, *decoded));
  }
  EXPECT_EQ(reader.read_bytes(), bytes.size());
  EXPECT_FALSE(reader.Next(stream, {}).ok()) << "the end of the stream is an error";
}

TEST(FrameReader, AnyPiecesMakeTheSameFrames) {
  Random random(1);
  std::vector<Message> messages;
  for (size_t i = 0; i < 3 * std::variant_size_v<wire::AnyMessage>; ++i) {
    messages.push_back(wire::SampleMessage(i % std::variant_size_v<wire::AnyMessage>, random, 3));
  }
  ExpectAllArrive(messages, [](Bytes) { return size_t{1}; });
  ExpectAllArrive(messages, [](Bytes) { return SIZE_MAX; });
  ExpectAllArrive(messages, [&](Bytes) { return random.NextBelow(100); });
}

TEST(FrameReader, PayloadsLargerThanTheFirstMemoryArriveWhole) {
  Random random(2);
  std::vector<Message> messages;
  for (const size_t size : {size_t{0}, size_t{16384}, size_t{4} << 20, (size_t{13} << 20) + 7}) {
    wire::Work work;
    work.rows.resize(size);
    for (size_t i = 0; i < size; i += 61) work.rows[i] = static_cast<uint8_t>(random.NextU32());
    messages.emplace_back(std::move(work));
  }
  ExpectAllArrive(messages, [](Bytes) { return SIZE_MAX; });
  ExpectAllArrive(messages, [&](Bytes) { return random.NextBelow(100'000); });
}

}  // namespace
}  // namespace aster::net
