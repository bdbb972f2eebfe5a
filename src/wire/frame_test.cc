// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "wire/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>

namespace aster::wire {
namespace {

using ::testing::HasSubstr;

using HeaderBytes = std::array<uint8_t, kHeaderBytes>;

HeaderBytes Written(const FrameHeader& header) {
  HeaderBytes bytes;
  WriteHeader(header, bytes.data());
  return bytes;
}

FrameHeader WorkHeader() {
  const std::array<uint8_t, 3> body = {1, 2, 3};
  const std::array<uint8_t, 5> payload = {4, 5, 6, 7, 8};
  return MakeHeader(FrameType::kWork, 1, body, payload, true);
}

TEST(FrameHeader, ComesBackAsItWas) {
  const FrameHeader header = WorkHeader();
  const FrameHeader parsed = ParseHeader(Written(header), {}).value();
  EXPECT_EQ(parsed.version, 1);
  EXPECT_EQ(parsed.type, FrameType::kWork);
  EXPECT_TRUE(parsed.has_payload_checksum);
  EXPECT_EQ(parsed.body_bytes, 3U);
  EXPECT_EQ(parsed.payload_bytes, 5U);
  EXPECT_EQ(parsed.body_checksum, header.body_checksum);
  EXPECT_EQ(parsed.payload_checksum, header.payload_checksum);
  EXPECT_EQ(parsed.frame_bytes(), 48U);
}

std::string RefusalOf(const HeaderBytes& bytes, const Limits& limits = {}) {
  const Result<FrameHeader> header = ParseHeader(bytes, limits);
  return header.ok() ? "" : header.error().message();
}

TEST(FrameHeader, AnotherProgramIsReported) {
  HeaderBytes bytes{};
  const std::string get = "GET / HTTP/1.1\r\nHost: localhost:7777\r\n\r\n";
  std::copy_n(get.begin(), bytes.size(), bytes.begin());
  EXPECT_THAT(RefusalOf(bytes), HasSubstr("another program"));
}

TEST(FrameHeader, UnknownTypesAndVersionsAreRefused) {
  HeaderBytes bytes = Written(WorkHeader());
  for (int type : {0, 6, 15, 24, 255}) {
    bytes[6] = static_cast<uint8_t>(type);
    EXPECT_THAT(RefusalOf(bytes), HasSubstr("which protocol 1 does not have"));
  }
  // Nor may a newer type be sent in an older version.
  bytes = Written(MakeHeader(FrameType::kHalt, kKvTransferProtocol, {}, {}, false));
  EXPECT_EQ(RefusalOf(bytes), "");
  FrameHeader header = WorkHeader();
  for (int version : {0, kNewestProtocol + 1, 65535}) {
    header.version = static_cast<uint16_t>(version);
    EXPECT_THAT(RefusalOf(Written(header)), HasSubstr("where 1 to 10 are spoken"));
  }
  header = MakeHeader(FrameType::kHello, kNewestProtocol + 1, {}, {}, false);
  EXPECT_EQ(RefusalOf(Written(header)), "");
}

TEST(FrameHeader, LengthsAreCheckedAgainstTheLimits) {
  FrameHeader header = WorkHeader();
  const auto refused = [&](uint32_t body_bytes, uint64_t payload_bytes, const Limits& limits) {
    header.body_bytes = body_bytes;
    header.payload_bytes = payload_bytes;
    return RefusalOf(Written(header), limits) != "";
  };
  const Limits limits{.max_frame_bytes = 1000};
  EXPECT_FALSE(refused(0, 960, limits));
  EXPECT_TRUE(refused(0, 961, limits));
  EXPECT_FALSE(refused(960, 0, limits));
  EXPECT_TRUE(refused(961, 0, limits));
  EXPECT_TRUE(refused(1, 960, limits));
  EXPECT_TRUE(refused(0xffffffff, 0, {.max_frame_bytes = ~uint64_t{0}}));
  EXPECT_TRUE(refused(0xffffffff, ~uint64_t{0}, limits));
  EXPECT_TRUE(refused(0, ~uint64_t{0}, limits));
  EXPECT_TRUE(refused(0, ~uint64_t{0} - 39, limits));
}

TEST(FrameHeader, BeforeTheHandshakeOnlyGreetingsAreTaken) {
  const Limits limits{.hello_only = true};
  EXPECT_THAT(RefusalOf(Written(WorkHeader()), limits), HasSubstr("before Hello"));
  FrameHeader header = MakeHeader(FrameType::kHello, 1, {}, {}, false);
  EXPECT_EQ(RefusalOf(Written(header), limits), "");
  header.body_bytes = kMaxGreetingBytes;
  EXPECT_THAT(RefusalOf(Written(header), limits), HasSubstr("4096 are taken at most"));
}

TEST(FrameHeader, OnlyWorkAndItsResultsHavePayloads) {
  const std::array<uint8_t, 5> payload = {4, 5, 6, 7, 8};
  for (FrameType type : {FrameType::kHello, FrameType::kPing, FrameType::kBegin, FrameType::kEnd}) {
    EXPECT_THAT(RefusalOf(Written(MakeHeader(type, 1, {}, payload, false))),
                HasSubstr("which has none"));
  }
  EXPECT_EQ(RefusalOf(Written(MakeHeader(FrameType::kDone, 1, {}, payload, false))), "");
}

TEST(FrameHeader, BitsWithoutMeaningAreRefused) {
  for (size_t offset : {7, 12, 13, 14, 15}) {
    HeaderBytes bytes = Written(WorkHeader());
    bytes[offset] ^= 0x80;
    EXPECT_THAT(RefusalOf(bytes), HasSubstr("unknown bits"));
  }
}

TEST(FrameHeader, ChecksumsCoverHeaderBodyAndPayload) {
  const std::array<uint8_t, 3> body = {1, 2, 3};
  const std::array<uint8_t, 5> payload = {4, 5, 6, 7, 8};
  FrameHeader header = MakeHeader(FrameType::kWork, 1, body, payload, true);
  EXPECT_TRUE(CheckBody(header, body).ok());
  EXPECT_TRUE(CheckPayload(header, payload).ok());
  const std::array<uint8_t, 3> other = {1, 2, 4};
  EXPECT_THAT(CheckBody(header, other).error().message(), HasSubstr("damaged"));
  EXPECT_THAT(CheckPayload(header, other).error().message(), HasSubstr("damaged"));
  header.type = FrameType::kDone;
  EXPECT_FALSE(CheckBody(header, body).ok());
  // Without a checksum, only the length is compared.
  header = MakeHeader(FrameType::kWork, 1, body, payload, false);
  const std::array<uint8_t, 5> changed = {0, 0, 0, 0, 0};
  EXPECT_TRUE(CheckPayload(header, changed).ok());
  EXPECT_FALSE(CheckPayload(header, other).ok());
}

}  // namespace
}  // namespace aster::wire
