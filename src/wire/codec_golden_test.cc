// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Frames that earlier versions of the program sent, recorded in golden/protocol_<version>.txt: they
// must decode as long as their protocol is supported, and messages encoded in their version must
// have the same bytes. A change here means that older nodes are no longer understood: increment
// kNewestProtocol and record a new file (ASTER_RECORD_FRAMES=FILE), but never change an old one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/folders_for_test.h"
#include "wire/codec.h"
#include "wire/samples_for_test.h"

namespace aster::wire {
namespace {

std::string Hex(Bytes bytes) {
  std::string text;
  for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::vector<uint8_t> FromHex(std::string_view text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(digit(text[i]) * 16 + digit(text[i + 1])));
  }
  return bytes;
}

// Three of each kind: with empty, short and longer lists.
std::vector<Message> RecordedMessages(uint16_t version) {
  Random random(/*seed=*/1, /*stream=*/version);
  std::vector<Message> messages;
  for (size_t kind = 0; kind < MessageKinds(version); ++kind) {
    for (uint64_t most : {0, 2, 5}) messages.push_back(SampleMessage(kind, random, most, version));
  }
  return messages;
}

std::string LineOf(const Message& message, uint16_t version) {
  Frame frame = Encode(Message(message), {.version = version, .checksum_payload = true});
  return fmt::format("{} {} {}", NameOf(frame.type), Hex(frame.head), Hex(frame.payload));
}

class GoldenFrames : public ::testing::TestWithParam<uint16_t> {
 protected:
  std::vector<std::string> Lines() const {
    const std::string text =
        ReadFile(fmt::format("{}/src/wire/golden/protocol_{}.txt", ASTER_SOURCE_DIR, GetParam()),
                 1 << 20)
            .value();
    std::vector<std::string> lines;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin);
      lines.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return lines;
  }
};

TEST_P(GoldenFrames, AreSentAsTheyAlwaysWere) {
  const std::vector<Message> messages = RecordedMessages(GetParam());
  const char* path = std::getenv("ASTER_RECORD_FRAMES");
  if (path != nullptr && GetParam() == kNewestProtocol) {
    std::string text;
    for (const Message& message : messages) text += LineOf(message, GetParam()) + "\n";
    ASSERT_TRUE(WriteFileAtomically(path, AsBytes(text)).ok());
  }
  const std::vector<std::string> lines = Lines();
  ASSERT_EQ(lines.size(), messages.size());
  for (size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(LineOf(messages[i], GetParam()), lines[i]);
}

TEST_P(GoldenFrames, AreUnderstoodAsTheyAlwaysWere) {
  const std::vector<Message> messages = RecordedMessages(GetParam());
  const std::vector<std::string> lines = Lines();
  ASSERT_EQ(lines.size(), messages.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    const size_t head_begin = lines[i].find(' ') + 1;
    const size_t payload_begin = lines[i].find(' ', head_begin) + 1;
    const std::vector<uint8_t> head =
        FromHex(std::string_view(lines[i]).substr(head_begin, payload_begin - 1 - head_begin));
    const std::vector<uint8_t> payload = FromHex(std::string_view(lines[i]).substr(payload_begin));
    const Result<FrameHeader> header = ParseHeader(Bytes(head).first(kHeaderBytes), {});
    ASSERT_TRUE(header.ok()) << lines[i] << ": " << header.error().message();
    EXPECT_EQ(header->version, GetParam());
    const Result<Message> message =
        Decode(*header, Bytes(head).subspan(kHeaderBytes), Payload(payload.begin(), payload.end()));
    ASSERT_TRUE(message.ok()) << lines[i] << ": " << message.error().message();
    EXPECT_TRUE(Same(*message, messages[i])) << lines[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Protocols, GoldenFrames,
                         ::testing::Range<uint16_t>(kOldestProtocol, kNewestProtocol + 1));

}  // namespace
}  // namespace aster::wire
