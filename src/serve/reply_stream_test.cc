// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/reply_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"

namespace aster::serve {
namespace {

constexpr size_t kLimit = 1000;

class ReplyStreamTest : public testing::Test {
 protected:
  ReplyStream::Options Options(bool in_chunks) const {
    return {.request_id = "r", .in_chunks = in_chunks, .limit_bytes = kLimit};
  }
  std::string Take(ReplyStream& stream) const {
    std::string output;
    stream.TakeOutput(output);
    return output;
  }

  net::Waker waker_;
};

// A client that reads too slowly loses the rest, with chunks and with HTTP/1.0 alike.
TEST_F(ReplyStreamTest, UnreadRepliesAreBounded) {
  for (const bool in_chunks : {true, false}) {
    SCOPED_TRACE(in_chunks);
    ReplyStream stream(Options(in_chunks), waker_);
    stream.Begin(200, "text/plain");
    Take(stream);
    for (int i = 0; i < 4; ++i) stream.Write(std::string(200, 'x'));
    stream.Write(std::string(kLimit, 'x'));
    EXPECT_FALSE(stream.is_gone());
    stream.Write("more");
    EXPECT_TRUE(stream.is_gone());
    stream.Write("more");
    EXPECT_EQ(Take(stream), "");
  }
}

// However fast a client reads, it cannot have read the beginning of a piece before its end.
TEST_F(ReplyStreamTest, OnePieceMayBeLarger) {
  for (const bool in_chunks : {true, false}) {
    SCOPED_TRACE(in_chunks);
    ReplyStream stream(Options(in_chunks), waker_);
    stream.Begin(200, "text/plain");
    Take(stream);
    stream.Write(std::string(10 * kLimit, 'x'));
    EXPECT_EQ(std::ranges::count(Take(stream), 'x'), 10 * kLimit);
    {
      // Several events that are written at once.
      const ReplyStream::OnePiece whole(stream);
      for (int i = 0; i < 4; ++i) {
        const ReplyStream::OnePiece part(stream);
        stream.Write(std::string(2 * kLimit, 'x'));
      }
    }
    EXPECT_EQ(std::ranges::count(Take(stream), 'x'), 8 * kLimit);
    stream.Write(std::string(2 * kLimit, 'x'));
    EXPECT_FALSE(stream.is_gone());
    {
      const ReplyStream::OnePiece late(stream);
      stream.Write("more");
    }
    EXPECT_TRUE(stream.is_gone());
  }
}

TEST_F(ReplyStreamTest, AReadingClientGetsAllThereIs) {
  for (const bool in_chunks : {true, false}) {
    SCOPED_TRACE(in_chunks);
    ReplyStream stream(Options(in_chunks), waker_);
    stream.Begin(200, "text/plain");
    std::string all;
    for (int i = 0; i < 100; ++i) {
      stream.Write(std::string(kLimit / 2, 'x'));
      all += Take(stream);
    }
    stream.End();
    EXPECT_FALSE(stream.is_gone());
    EXPECT_EQ(std::ranges::count(all.substr(all.find("\r\n\r\n")), 'x'), 100 * kLimit / 2);
    EXPECT_EQ(stream.keeps_alive(), in_chunks);
  }
}

// A whole reply is in memory anyway, whatever its size.
TEST_F(ReplyStreamTest, AWholeReplyMayBeLarger) {
  ReplyStream stream(Options(true), waker_);
  stream.Send(200, "text/plain", std::string(10 * kLimit, 'x'));
  EXPECT_FALSE(stream.is_gone());
  EXPECT_THAT(Take(stream), testing::EndsWith(std::string(10 * kLimit, 'x')));
}

// The first one comes within a second, whatever the writer does; then less often, and not after
// writes.
TEST_F(ReplyStreamTest, KeepAlivesAreSentByThemselves) {
  constexpr int64_t kTurnNs = 250 * kNsPerMs;
  ReplyStream stream(Options(false), waker_);
  stream.SetKeepAlive({.content_type = "text/event-stream", .headers = {}, .bytes = ": alive\n\n"});
  int64_t now_ns = 0;
  for (; Take(stream).empty(); now_ns += kTurnNs) {
    ASSERT_LT(now_ns, kNsPerSecond);
    stream.SendKeepAlive(now_ns);
  }
  EXPECT_EQ(stream.status(), 200);
  const auto quiet_turns = [&] {
    int turns = 0;
    for (stream.SendKeepAlive(now_ns); Take(stream).empty(); ++turns)
      stream.SendKeepAlive(now_ns += kTurnNs);
    return turns;
  };
  EXPECT_THAT(quiet_turns(), testing::AllOf(testing::Gt(15), testing::Lt(24)));
  stream.Write("a word");
  EXPECT_EQ(Take(stream), "a word");
  EXPECT_THAT(quiet_turns(), testing::Gt(15));
  stream.SetKeepAlive({});
  stream.SendKeepAlive(now_ns + 100 * kNsPerSecond);
  EXPECT_EQ(Take(stream), "");
}

TEST_F(ReplyStreamTest, AHeaderCanBeAddedBeforeItBegins) {
  for (const bool is_whole : {true, false}) {
    SCOPED_TRACE(is_whole);
    ReplyStream stream(Options(true), waker_);
    stream.AddHeader("X-Response-Id", "resp_1");
    if (is_whole) {
      stream.Send(200, "text/plain", "a");
    } else {
      stream.Begin(200, "text/plain");
    }
    EXPECT_THAT(Take(stream), testing::HasSubstr("X-Response-Id: resp_1\r\n"));
  }
}

}  // namespace
}  // namespace aster::serve
