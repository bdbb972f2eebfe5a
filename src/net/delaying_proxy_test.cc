// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/delaying_proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/cluster_for_test.h"

namespace aster::net {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class ProxyTest : public ::testing::Test {
 protected:
  // Another one, for which a peer that is silent for this long has failed.
  void StartAnn(int64_t silence_ns) {
    ann_ = cluster_.Start("impatient-ann", [&](TcpOptions& options) {
      options.heartbeat_ns = 100 * kNsPerMs;
      options.silence_ns = silence_ns;
    });
  }
  void Connect(const LinkOptions& link) {
    proxy_ = DelayingProxy::Start(bob_->addresses().front(), link).value();
    ann_->Introduce(bob_->self(), {proxy_->address()});
    ASSERT_EQ(Next(*ann_).kind, Event::Kind::kUp);
    ASSERT_EQ(Next(*bob_).kind, Event::Kind::kUp);
  }
  // The time there and back.
  int64_t RoundTripNs(size_t payload_bytes) {
    const int64_t start_ns = ann_->clock().NowNs();
    wire::Work work;
    work.rows.resize(payload_bytes);
    EXPECT_TRUE(ann_->Send(bob_->self(), std::move(work)).ok());
    EXPECT_EQ(Next(*bob_).kind, Event::Kind::kMessage);
    EXPECT_TRUE(bob_->Send(ann_->self(), wire::CloseRoute{1}).ok());
    EXPECT_EQ(Next(*ann_).kind, Event::Kind::kMessage);
    return ann_->clock().NowNs() - start_ns;
  }

  TestCluster cluster_{true};
  std::unique_ptr<TcpNetwork> ann_ = cluster_.Start("ann");
  std::unique_ptr<TcpNetwork> bob_ = cluster_.Start("bob");
  std::unique_ptr<DelayingProxy> proxy_;
};

TEST_F(ProxyTest, LatencyIsAddedBothWays) {
  Connect({.delay_ns = 20 * kNsPerMs});
  EXPECT_GE(RoundTripNs(10), 40 * kNsPerMs);
}

TEST_F(ProxyTest, TheRateIsLimited) {
  Connect({.rate_bytes_per_s = 10'000'000});
  EXPECT_GE(RoundTripNs(2'000'000), 200 * kNsPerMs);
}

TEST_F(ProxyTest, ACutIsReportedToBothEnds) {
  Connect({});
  proxy_->Cut();
  EXPECT_EQ(Next(*ann_).kind, Event::Kind::kDown);
  EXPECT_EQ(Next(*bob_).kind, Event::Kind::kDown);
  // A message connects them again.
  ASSERT_TRUE(ann_->Send(bob_->self(), wire::CloseRoute{4}).ok());
  EXPECT_EQ(Next(*bob_).kind, Event::Kind::kUp);
  EXPECT_EQ(RouteOf(Next(*bob_)), 4U);
}

TEST_F(ProxyTest, APulledCableIsNoticedInTheStatedTime) {
  StartAnn(1500 * kNsPerMs);
  Connect({});
  const int64_t start_ns = ann_->clock().NowNs();
  proxy_->Unplug();
  ASSERT_TRUE(ann_->Send(bob_->self(), wire::CloseRoute{4}).ok());
  const Event down = Next(*ann_);
  ASSERT_EQ(down.kind, Event::Kind::kDown);
  EXPECT_THAT(down.why.error().message(), HasSubstr("nothing was heard for"));
  EXPECT_GE(ann_->clock().NowNs() - start_ns, 1300 * kNsPerMs);
}

TEST_F(ProxyTest, ALargeFrameOnASlowLinkIsNoSilence) {
  constexpr int64_t kSilenceNs = 6 * kNsPerSecond;  // longer than the pauses of a busy machine
  StartAnn(kSilenceNs);
  Connect({.rate_bytes_per_s = 1'000'000});
  // Longer than the silence of a failed peer, in one direction only.
  EXPECT_GE(RoundTripNs(7'600'000), kSilenceNs + kNsPerSecond);
}

}  // namespace
}  // namespace aster::net
