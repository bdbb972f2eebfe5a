// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/silence.h"

#include <gtest/gtest.h>

namespace aster::net {
namespace {

constexpr int64_t kLeastNs = 2 * kNsPerSecond;

// The peer is heard every `pause_ns` for `duration_ns`; returns the last time.
int64_t ReceiveEvery(Silence& silence, int64_t from_ns, int64_t pause_ns, int64_t duration_ns) {
  int64_t now_ns = from_ns;
  while (now_ns + pause_ns <= from_ns + duration_ns) silence.OnReceived(now_ns += pause_ns);
  return now_ns;
}

TEST(Silence, APeerThatSentRegularlyIsLostSoon) {
  Silence silence(kLeastNs, 0);
  EXPECT_EQ(silence.deadline_ns(), kLeastNs);
  const int64_t last_ns = ReceiveEvery(silence, 0, 500 * kNsPerMs, 100 * kNsPerSecond);
  EXPECT_EQ(silence.deadline_ns(), last_ns + kLeastNs);
}

TEST(Silence, ABusyPeerThatMakesLongPausesIsGivenMoreTime) {
  Silence silence(kLeastNs, 0);
  const int64_t last_ns = ReceiveEvery(silence, 0, 1500 * kNsPerMs, 15 * kNsPerSecond);
  EXPECT_EQ(silence.deadline_ns(), last_ns + 4500 * kNsPerMs);
  // The limit has an upper bound.
  silence.OnReceived(last_ns + 100 * kNsPerSecond);
  EXPECT_EQ(silence.limit_ns(), Silence::kMostTimes * kLeastNs);
}

TEST(Silence, PausesAreForgottenAfterAMinute) {
  Silence silence(kLeastNs, 0);
  silence.OnReceived(1 * kNsPerSecond);
  EXPECT_EQ(silence.limit_ns(), 3 * kNsPerSecond);
  int64_t now_ns = ReceiveEvery(silence, kNsPerSecond, 100 * kNsPerMs, Silence::kWindowNs);
  EXPECT_EQ(silence.limit_ns(), 3 * kNsPerSecond) << "it counts in the next window too";
  now_ns = ReceiveEvery(silence, now_ns, 100 * kNsPerMs, Silence::kWindowNs);
  EXPECT_EQ(silence.limit_ns(), kLeastNs);
}

TEST(Silence, PausesOfThisMachineAreNotThePeers) {
  Silence silence(kLeastNs, 0);
  silence.OnReceived(1);
  silence.IgnorePause(20 * kNsPerSecond);
  EXPECT_EQ(silence.deadline_ns(), 22 * kNsPerSecond + 1);
  silence.OnReceived(20 * kNsPerSecond + 2);
  EXPECT_EQ(silence.limit_ns(), kLeastNs);
}

}  // namespace
}  // namespace aster::net
