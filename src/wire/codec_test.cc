// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "wire/codec.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "wire/samples_for_test.h"

namespace aster::wire {
namespace {

using ::testing::HasSubstr;

constexpr size_t kKinds = std::variant_size_v<AnyMessage>;

Bytes HeadOf(const Frame& frame) { return Bytes(frame.head).first(kHeaderBytes); }
// Encoded with the newest protocol.
Frame EncodeNewest(Message message) {
  return Encode(std::move(message), {.version = kNewestProtocol});
}

Bytes BodyOf(const Frame& frame) { return Bytes(frame.head).subspan(kHeaderBytes); }

Result<Message> DecodeFrame(const Frame& frame, const Limits& limits = {}) {
  const FrameHeader header = TRY(ParseHeader(HeadOf(frame), limits));
  return Decode(header, BodyOf(frame), Payload(frame.payload));
}

// A frame with another body and a right checksum, as an attacker sends it.
Frame WithBody(FrameType type, Bytes body) {
  Frame frame{
      .type = type, .head = std::vector<uint8_t>(kHeaderBytes + body.size()), .payload = {}};
  std::copy(body.begin(), body.end(), frame.head.begin() + kHeaderBytes);
  WriteHeader(MakeHeader(type, kNewestProtocol, body, {}, false), frame.head.data());
  return frame;
}

TEST(Codec, EveryMessageComesBackAsItWas) {
  Random random(1);
  for (size_t kind = 0; kind < kKinds; ++kind) {
    for (uint64_t most : {0, 1, 2, 3, 7, 12}) {
      const Message message = SampleMessage(kind, random, most);
      const Frame frame = Encode(Message(message));
      EXPECT_EQ(frame.type, TypeOf(message));
      const Result<Message> decoded = DecodeFrame(frame);
      ASSERT_TRUE(decoded.ok()) << NameOf(frame.type) << ": " << decoded.error().message();
      EXPECT_TRUE(Same(message, *decoded)) << NameOf(frame.type);
      const Frame again = Encode(Message(*decoded));
      EXPECT_EQ(again.head, frame.head) << NameOf(frame.type);
      EXPECT_EQ(again.payload, frame.payload) << NameOf(frame.type);
    }
  }
}

TEST(Codec, LargePayloadIsNotCopied) {
  Work work;
  work.rows.resize(4 << 20);
  const uint8_t* place = work.rows.data();
  Frame frame = Encode(std::move(work));
  EXPECT_EQ(frame.payload.data(), place);
  EXPECT_LT(frame.head.size(), 100U);
  const FrameHeader header = ParseHeader(HeadOf(frame), {}).value();
  Result<Message> decoded = Decode(header, BodyOf(frame), std::move(frame.payload));
  EXPECT_EQ(std::get<Work>(*decoded).rows.data(), place);
}

TEST(Codec, EveryTruncationIsRefused) {
  Random random(3);
  for (size_t kind = 0; kind < kKinds; ++kind) {
    const Frame frame = EncodeNewest(SampleMessage(kind, random, 3));
    for (size_t size = 0; size < BodyOf(frame).size(); ++size) {
      const Result<Message> decoded = DecodeFrame(WithBody(frame.type, BodyOf(frame).first(size)));
      ASSERT_FALSE(decoded.ok()) << NameOf(frame.type) << " cut to " << size;
      EXPECT_THAT(decoded.error().message(), HasSubstr(NameOf(frame.type)));
    }
  }
}

TEST(Codec, MoreThanTheMessageIsRefused) {
  Random random(4);
  for (size_t kind = 0; kind < kKinds; ++kind) {
    const Frame frame = EncodeNewest(SampleMessage(kind, random, 3));
    std::vector<uint8_t> body(BodyOf(frame).begin(), BodyOf(frame).end());
    body.push_back(0);
    const Result<Message> decoded = DecodeFrame(WithBody(frame.type, body));
    ASSERT_FALSE(decoded.ok()) << NameOf(frame.type);
    EXPECT_THAT(decoded.error().message(), HasSubstr("1 bytes more"));
  }
}

TEST(Codec, EveryDamagedBitOfAFrameIsNoticed) {
  Random random(5);
  for (size_t kind = 0; kind < kKinds; ++kind) {
    const Frame frame = Encode(SampleMessage(kind, random, 2));
    for (size_t bit = 0; bit < frame.head.size() * 8; ++bit) {
      Frame damaged = frame;
      damaged.head[bit / 8] ^= static_cast<uint8_t>(1U << (bit % 8));
      EXPECT_FALSE(DecodeFrame(damaged).ok()) << NameOf(frame.type) << " bit " << bit;
    }
    for (size_t bit = 0; bit < frame.payload.size() * 8; ++bit) {
      Frame damaged = frame;
      damaged.payload[bit / 8] ^= static_cast<uint8_t>(1U << (bit % 8));
      EXPECT_FALSE(DecodeFrame(damaged).ok()) << NameOf(frame.type) << " payload bit " << bit;
    }
  }
}

TEST(Codec, HostileCountsCostNothing) {
  // A few bytes announce four thousand million tokens, stages and answers.
  ByteWriter begin;
  begin.Write<uint64_t>(1);
  begin.Write<uint64_t>(2);
  begin.Write<uint32_t>(0xffffffff);
  EXPECT_FALSE(DecodeFrame(WithBody(FrameType::kBegin, begin.bytes())).ok());
  ByteWriter work;
  work.Write<uint64_t>(1);
  work.Write<uint32_t>(0xfffffff0);
  EXPECT_FALSE(DecodeFrame(WithBody(FrameType::kWork, work.bytes())).ok());
  EXPECT_FALSE(DecodeFrame(WithBody(FrameType::kDone, work.bytes())).ok());

  // More addresses than allowed, though all of them are present.
  OpenRoute route;
  route.stages.resize(1);
  ByteWriter many;
  const Frame one = Encode(Message(route));
  EXPECT_TRUE(DecodeFrame(one).ok());
  std::vector<uint8_t> body(BodyOf(one).begin(), BodyOf(one).end());
  constexpr size_t kConductorAddresses = 8 + 16 + 2;
  body[kConductorAddresses] = kMaxAddresses + 1;
  body.insert(body.begin() + kConductorAddresses + 4, 2 * (kMaxAddresses + 1), 0);
  const Result<Message> refused = DecodeFrame(WithBody(FrameType::kOpenRoute, body));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message(), HasSubstr("a length of 17, where 16 are allowed"));
}

TEST(Codec, ChoicesThatDoNotExistAreRefused) {
  Work work;
  Frame frame = Encode(Message(work));
  std::vector<uint8_t> body(BodyOf(frame).begin(), BodyOf(frame).end());
  body[12] = 3;  // after the route and no segments: the encoding
  EXPECT_THAT(DecodeFrame(WithBody(FrameType::kWork, body)).error().message(),
              HasSubstr("a choice of 3"));
  frame = Encode(Goodbye{Error(Code::kAborted, "later")});
  body.assign(BodyOf(frame).begin(), BodyOf(frame).end());
  for (uint8_t code : {0, 17, 255}) {
    body[0] = code;
    EXPECT_FALSE(DecodeFrame(WithBody(FrameType::kGoodbye, body)).ok());
  }
  Holds holds;
  RouteState state;
  frame = Encode(Message(state));
  body.assign(BodyOf(frame).begin(), BodyOf(frame).end());
  body[8] = 9;
  EXPECT_FALSE(DecodeFrame(WithBody(FrameType::kRouteState, body)).ok());
}

TEST(Codec, LongTextsAreCutBeforeTheyAreSent) {
  Goodbye goodbye{Error(Code::kInternal, std::string(100'000, 'x'))};
  const Frame frame = Encode(Message(goodbye));
  EXPECT_LE(frame.size_bytes(), kMaxGreetingBytes);
  const Result<Message> decoded = DecodeFrame(frame, {.hello_only = true});
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(std::get<Goodbye>(*decoded).why.message().size(), kMaxErrorBytes);

  Hello hello;
  hello.name = std::string(1000, 'n');
  hello.password.resize(1000);
  EXPECT_TRUE(DecodeFrame(Encode(Message(hello)), {.hello_only = true}).ok());
}

// Messages that need protocol 3.
std::vector<Message> LaterMessages() {
  OpenRoute open;
  open.decode_stages = 1;
  Begin begin;
  begin.epoch = 1;
  Holds holds;
  holds.stage = 1;
  Work work;
  work.first_stage = 1;
  return {open, begin, holds, work};
}

TEST(Codec, EveryFrameBearsTheOldestVersionThatCanSayIt) {
  Random random(6);
  for (size_t kind = 0; kind < kKinds; ++kind) {
    const Frame frame = Encode(SampleMessage(kind, random, 3, 1));
    const uint16_t oldest = kind < MessageKinds(1)   ? 1
                            : kind < MessageKinds(3) ? kKvTransferProtocol
                            : kind < MessageKinds(4) ? kFindKvProtocol
                            : kind < MessageKinds(6) ? kGroupProtocol
                            : kind < MessageKinds(7) ? kAheadProtocol
                                                     : kDrafterProtocol;
    EXPECT_EQ(ParseHeader(HeadOf(frame), {})->version, oldest) << NameOf(frame.type);
  }
  for (const Message& message : LaterMessages()) {
    EXPECT_EQ(ParseHeader(HeadOf(Encode(Message(message))), {})->version, kKvTransferProtocol);
  }
  OpenRoute grouped;
  grouped.groups.emplace_back();
  Work job;
  job.job = 1;
  RouteState lost;
  lost.lost.value.low = 1;
  EXPECT_EQ(ParseHeader(HeadOf(Encode(Message(grouped))), {})->version, kAheadProtocol);
  for (const Message& message : {Message(job), Message(lost)}) {
    EXPECT_EQ(ParseHeader(HeadOf(Encode(Message(message))), {})->version, kGroupProtocol);
  }
  OpenRoute open;
  open.kv_encoding = RowEncoding::kQ8;
  KvRows rows;
  rows.encoding = RowEncoding::kQ8;
  for (const Message& message : {Message(open), Message(rows)}) {
    EXPECT_EQ(ParseHeader(HeadOf(Encode(Message(message))), {})->version, kFindKvProtocol);
  }
  Begin begin;
  begin.draft_kind = 1;
  Work work;
  work.segments.resize(2);
  work.segments[1].draft_count = 1;
  work.segments[1].tokens = {4, 5};
  Done done;
  done.results.resize(2);
  done.results[1].is_accepted = true;
  for (const Message& message : {Message(begin), Message(work), Message(done)}) {
    EXPECT_EQ(ParseHeader(HeadOf(Encode(Message(message))), {})->version, kDraftProtocol);
  }
  Work ahead = work;
  ahead.segments[1].tokens = {5};
  Work edited = work;
  edited.segments[1].wanted = Wanted::kLastLogits;
  Done gathered;
  gathered.hops.emplace_back().gather_bytes = 1;
  for (const Message& message : {Message(ahead), Message(edited), Message(gathered)}) {
    EXPECT_EQ(ParseHeader(HeadOf(Encode(Message(message))), {})->version, kAheadProtocol);
  }
  Done sent;
  sent.hops.emplace_back().gathers = 1;
  PartRows blocks;
  blocks.encoding = PartEncoding::kBlocks;
  for (const Message& message : {Message(sent), Message(blocks)}) {
    EXPECT_EQ(ParseHeader(HeadOf(Encode(Message(message))), {})->version, kBlocksProtocol);
  }
  Hello hello;
  hello.instance.assign(16, 5);
  EXPECT_EQ(ParseHeader(HeadOf(Encode(Message(hello))), {})->version, 2);
  EXPECT_TRUE(Same(DecodeFrame(Encode(Message(hello))).value(), Message(hello)));
  // The first protocol lacks it.
  const Result<Message> cut = DecodeFrame(Encode(Message(hello), {.version = 1}));
  EXPECT_TRUE(std::get<Hello>(*cut).instance.empty());
}

TEST(Codec, AnInstanceInTheFirstProtocolIsRefused) {
  Hello hello;
  hello.instance.assign(16, 5);
  const Frame frame = EncodeNewest(hello);
  const FrameHeader header = MakeHeader(FrameType::kHello, 1, BodyOf(frame), {}, false);
  EXPECT_THAT(Decode(header, BodyOf(frame), {}).error().message(), HasSubstr("20 bytes more"));
}

TEST(Codec, FirstAndLastWordsOfALaterVersionAreUnderstood) {
  Hello hello;
  hello.oldest_protocol = 7;
  hello.newest_protocol = kNewestProtocol + 1;
  const Frame frame = EncodeNewest(hello);
  std::vector<uint8_t> body(BodyOf(frame).begin(), BodyOf(frame).end());
  body.insert(body.end(), {1, 2, 3});  // additional fields
  const FrameHeader header = MakeHeader(FrameType::kHello, kNewestProtocol + 1, body, {}, false);
  const Result<Message> decoded = Decode(header, body, {});
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(std::get<Hello>(*decoded).oldest_protocol, 7);
}

}  // namespace
}  // namespace aster::wire
