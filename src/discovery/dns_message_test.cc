// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "discovery/dns_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

namespace aster::discovery {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// A message with these numbers of questions and answers, and what follows.
std::vector<uint8_t> Message(uint8_t questions, uint8_t answers, std::string_view rest) {
  std::vector<uint8_t> bytes = {0, 0, 0x84, 0, 0, questions, 0, answers, 0, 0, 0, 0};
  for (const char c : rest) bytes.push_back(static_cast<uint8_t>(c));
  return bytes;
}

std::string WhyNot(const std::vector<uint8_t>& bytes) {
  const auto message = ParseDnsMessage(bytes);
  return message.ok() ? "it was read" : message.error().message();
}

using namespace std::string_view_literals;  // tidy: allow(using-namespace) zeros in literals

TEST(DnsMessage, ReadsWhatItWrites) {
  const DnsMessage message{
      .is_answer = true,
      .questions = {{"_aster._tcp.local", kPointerRecord}},
      .records = {{"_aster._tcp.local", kPointerRecord, 120, "one._aster._tcp.local", 0},
                  {"one._aster._tcp.local", kServiceRecord, 120, "one.local", 7424},
                  {"one._aster._tcp.local", kTextRecord, 4500, "", 0}}};
  EXPECT_EQ(ParseDnsMessage(FormatDnsMessage(message)).value(), message);
}

TEST(DnsMessage, FollowsPointersAndSkipsWhatIsNotOurs) {
  // "Printer's place".local has an address; then a pointer record whose names share a part.
  const auto message = ParseDnsMessage(
      Message(0, 2,
              "\x0fPrinter's place\x05local\0\0\x01\x80\x01\0\0\0\x78\0\x04\x0a\0\0\x01"
              "\x06_ASTER\xc0\x1c\0\x0c\0\x01\0\0\0\x78\0\x06\x03one\xc0\x31"sv));
  ASSERT_TRUE(message.ok()) << message.error().message();
  ASSERT_THAT(message->records, SizeIs(2));
  EXPECT_EQ(message->records[0].name, "printer?s?place.local");
  EXPECT_EQ(message->records[0].target, "");
  EXPECT_EQ(message->records[1].name, "_aster.local");
  EXPECT_EQ(message->records[1].target, "one._aster.local");
}

TEST(DnsMessage, PointersThatGoForwardOrInCirclesAreRefused) {
  EXPECT_THAT(WhyNot(Message(1, 0, "\xc0\x0c\0\x0c\0\x01"sv)), HasSubstr("loop"));
  EXPECT_THAT(WhyNot(Message(1, 0, "\xc0\x10\0\x0c\0\x01"sv)), HasSubstr("loop"));
  // The second label points to the first, which points on.
  EXPECT_THAT(WhyNot(Message(1, 0, "\x3f"sv)), HasSubstr("too early"));
  EXPECT_THAT(WhyNot(Message(1, 0, "\x01z\xc0\x0c\0\x0c\0\x01"sv)), HasSubstr("loop"));
  // A record whose data are a chain of pointers, each to the one before it, and another record
  // whose name is the last of them.
  std::vector<uint8_t> bytes = Message(1, 1, "\x01z\0\0\x01\0\x01"sv);
  bytes.insert(bytes.end(), {0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 40});
  const size_t begin = bytes.size();
  for (size_t i = 0; i < 20; ++i) {
    bytes.push_back(0xc0);
    bytes.push_back(static_cast<uint8_t>(i == 0 ? 12 : begin + 2 * (i - 1)));
  }
  bytes[7] = 2;
  bytes.insert(bytes.end(), {0xc0, static_cast<uint8_t>(begin + 38), 0, 1, 0, 1, 0, 0, 0, 0, 0, 0});
  EXPECT_THAT(WhyNot(bytes), HasSubstr("loop"));
}

TEST(DnsMessage, LengthsAreNotBelieved) {
  EXPECT_THAT(WhyNot({}), HasSubstr("too early"));
  EXPECT_THAT(WhyNot(Message(1, 0, "")), HasSubstr("too early"));
  EXPECT_THAT(WhyNot(Message(0, 200, "\0\0\x01\0\x01\0\0\0\0\0\0"sv)), HasSubstr("too early"));
  EXPECT_THAT(WhyNot(Message(0, 1, "\0\0\x01\0\x01\0\0\0\0\xff\xff"sv)), HasSubstr("too early"));
  // A pointer record that is longer than its name, and one that is shorter.
  EXPECT_THAT(WhyNot(Message(0, 1, "\0\0\x0c\0\x01\0\0\0\0\0\x04\x01z\0z"sv)),
              HasSubstr("another length"));
  EXPECT_THAT(WhyNot(Message(0, 1, "\0\0\x0c\0\x01\0\0\0\0\0\x01\x01z\0"sv)),
              HasSubstr("another length"));
  std::vector<uint8_t> many = Message(0, 0, "");
  many[6] = 1, many[7] = 1;
  EXPECT_THAT(WhyNot(many), HasSubstr("257 entries"));
  EXPECT_THAT(WhyNot(std::vector<uint8_t>(kMaxMessageBytes + 1)), HasSubstr("too long"));
  std::string name;
  for (int i = 0; i < 5; ++i) name.append(1, '\x3f').append(63, 'a');
  EXPECT_THAT(WhyNot(Message(1, 0, name)), HasSubstr("too long"));
  EXPECT_THAT(WhyNot(Message(1, 0, "\x40" + std::string(64, 'a'))), HasSubstr("too long"));
}

TEST(DnsMessage, EveryBeginningOfAMessageIsRefused) {
  const std::vector<uint8_t> whole = FormatDnsMessage(
      {.is_answer = true,
       .questions = {},
       .records = {{"one._aster._tcp.local", kServiceRecord, 120, "one.local", 7424}}});
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(ParseDnsMessage(Bytes(whole).first(size)).ok()) << size;
}

}  // namespace
}  // namespace aster::discovery
