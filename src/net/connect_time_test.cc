// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/connect_time.h"

#include <gtest/gtest.h>

#include "net/socket.h"

namespace aster::net {
namespace {

constexpr int64_t kTimeoutNs = 10 * kNsPerSecond;

TEST(ConnectTime, NoAcceptIsNeeded) {
  const SystemClock clock;
  const Socket listener = Listen(Resolve({.host = "127.0.0.1", .port = "0"})->front()).value();
  const auto time_ns = ConnectTime(LocalEndpoint(listener)->ToText(), clock, kTimeoutNs);
  ASSERT_TRUE(time_ns.ok()) << time_ns.error().message();
  EXPECT_GT(*time_ns, 0);
  EXPECT_LT(*time_ns, kTimeoutNs);
}

TEST(ConnectTime, NothingWhereNothingListens) {
  const SystemClock clock;
  std::string address;
  {
    const Socket listener = Listen(Resolve({.host = "127.0.0.1", .port = "0"})->front()).value();
    address = LocalEndpoint(listener)->ToText();
  }
  EXPECT_FALSE(ConnectTime(address, clock, kTimeoutNs).ok());
  EXPECT_FALSE(ConnectTime("no address", clock, kTimeoutNs).ok());
}

}  // namespace
}  // namespace aster::net
