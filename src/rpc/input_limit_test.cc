// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "rpc/input_limit.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>
#include <vector>

namespace aster::rpc {
namespace {

constexpr int kComesMs = 60'000;
constexpr int kQuietMs = 100;
constexpr uint32_t kMaxBytes = 100'000;
constexpr size_t kSegmentBytes = 1 << 16;
constexpr size_t kSentBytes = 1'000'000;

bool Happens(const net::Socket& socket, short event, int patience_ms) {
  pollfd polled{.fd = socket.descriptor(), .events = event, .revents = 0};
  return poll(&polled, 1, patience_ms) == 1;
}

class InputLimits : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto endpoint = net::Resolve(net::ParseHostPort(GetParam()).value()).value().front();
    auto listener = net::Listen(endpoint);
    if (!listener.ok()) GTEST_SKIP() << "no such address here: " << GetParam();
    listener_ = *std::move(listener);
    KeepStarts(listener_);
    sender_ = net::BeginConnect(net::LocalEndpoint(listener_).value()).value();
    ASSERT_TRUE(Happens(listener_, POLLIN, kComesMs));
    receiver_ = net::Accept(listener_).value();
  }
  // Sends and receives until nothing has come for patience_ms.
  void Exchange(int patience_ms) {
    const std::string bytes(kSegmentBytes, 'x');
    std::vector<char> piece(kSegmentBytes);
    for (;;) {
      ssize_t sent = 1;
      while (sent > 0 && sent_ < kSentBytes) {
        sent = send(sender_.descriptor(), bytes.data(), std::min(bytes.size(), kSentBytes - sent_),
                    MSG_NOSIGNAL);
        if (sent > 0) sent_ += static_cast<size_t>(sent);
      }
      if (received_ == kSentBytes || !Happens(receiver_, POLLIN, patience_ms)) return;
      const ssize_t received = recv(receiver_.descriptor(), piece.data(), piece.size(), 0);
      ASSERT_GT(received, 0);
      received_ += static_cast<size_t>(received);
    }
  }

  net::Socket listener_;
  net::Socket sender_;
  net::Socket receiver_;
  size_t sent_ = 0;
  size_t received_ = 0;
};

TEST_P(InputLimits, HoldUntilTheyEnd) {
  if (!LimitInput(receiver_, kMaxBytes)) GTEST_SKIP() << "this system cannot limit input";
  Exchange(kQuietMs);
  EXPECT_GT(sent_, kMaxBytes + kSegmentBytes);
  EXPECT_GT(received_, kMaxBytes);
  EXPECT_LE(received_, kMaxBytes + kSegmentBytes);

  EndInputLimit(receiver_);
  Exchange(kComesMs);
  EXPECT_EQ(received_, kSentBytes);
}

TEST_P(InputLimits, LetSmallerInputThrough) {
  if (!LimitInput(receiver_, kSentBytes)) GTEST_SKIP() << "this system cannot limit input";
  Exchange(kComesMs);
  EXPECT_EQ(received_, kSentBytes);
}

INSTANTIATE_TEST_SUITE_P(, InputLimits, testing::Values("127.0.0.1:0", "[::1]:0"),
                         [](const auto& address) { return address.index == 0 ? "IPv4" : "IPv6"; });

}  // namespace
}  // namespace aster::rpc
