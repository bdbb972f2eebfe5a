// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "net/memory_stream_for_test.h"

namespace aster::net {
namespace {

class NoOwner final : public Connection::Owner {
 public:
  Status OnHello(Connection& /*connection*/) override { return Ok(); }
  void OnMessage(Connection& /*connection*/, wire::Message /*message*/,
                 uint64_t /*cost*/) override {}
};

// A peer that has connected and sends nothing yet.
class SilentPeer : public testing::Test {
 protected:
  void SetUp() override {
    connection_.Start(std::make_unique<MemoryStream>(unread_, [](Bytes) { return size_t{0}; }));
  }
  Status StepAfter(int64_t pause_ns) {
    clock_.AdvanceBy(pause_ns);
    return connection_.Step(true, true);
  }

  const uint8_t unread_[1] = {};
  const ConnectionOptions options_;
  VirtualClock clock_;
  NoOwner owner_;
  Connection connection_{options_,     clock_,
                         owner_,       std::make_shared<Outbox>(clock_, size_t{1} << 20),
                         std::nullopt, "there"};
};

TEST_F(SilentPeer, SaysHelloInTheStatedTime) {
  EXPECT_TRUE(StepAfter(options_.handshake_ns - 1).ok());
  EXPECT_THAT(StepAfter(1).error().message(),
              testing::HasSubstr("does not say Hello within 5000 ms"));
}

TEST_F(SilentPeer, HasAsMuchMoreTimeAsThisMachineStoodStill) {
  EXPECT_TRUE(StepAfter(1 * kNsPerSecond).ok());
  connection_.IgnorePause(60 * kNsPerSecond);
  EXPECT_EQ(connection_.deadline_ns(), 60 * kNsPerSecond + options_.handshake_ns);
  EXPECT_TRUE(StepAfter(60 * kNsPerSecond + options_.handshake_ns - 1 * kNsPerSecond - 1).ok());
  EXPECT_FALSE(StepAfter(1).ok());
}

}  // namespace
}  // namespace aster::net
