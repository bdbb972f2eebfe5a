// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/link_meter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "net/delaying_proxy.h"
#include "net/socket.h"
#include "rpc/rpc_for_test.h"

namespace aster::node {
namespace {

cluster::Member Living(uint64_t number) {
  cluster::Member member;
  member.node = {{.low = number, .high = 3}};
  member.state = cluster::MemberState::kAlive;
  return member;
}

uint64_t NothingReceived(const cluster::NodeId&) { return 0; }

// The members as node `self` of `count` sees them, itself first.
std::vector<cluster::Member> SeenBy(uint64_t self, uint64_t count) {
  std::vector<cluster::Member> members = {Living(self)};
  for (uint64_t i = 0; i < count; ++i) {
    if (i != self) members.push_back(Living(i));
  }
  return members;
}

TEST(LinkMeter, RatesOfAFewNodesAreMeasuredHoweverManyThereAre) {
  std::map<cluster::NodeId, int> asked;
  for (uint64_t self = 0; self < 32; ++self) {
    const auto sampled = SampledPeers(SeenBy(self, 32), 8);
    EXPECT_EQ(sampled.size(), 8u);
    EXPECT_FALSE(sampled.contains(Living(self).node));
    for (const cluster::NodeId& node : sampled) ++asked[node];
  }
  ASSERT_EQ(asked.size(), 32u);
  for (const auto& [node, times] : asked) EXPECT_EQ(times, 8);
}

TEST(LinkMeter, InASmallClusterAllLivingNodesAreMeasured) {
  std::vector<cluster::Member> members = SeenBy(2, 5);
  EXPECT_EQ(SampledPeers(members, 8).size(), 4u);
  members.back().state = cluster::MemberState::kDead;
  EXPECT_EQ(SampledPeers(members, 8).size(), 3u);
  EXPECT_TRUE(SampledPeers({}, 8).empty());
}

// The system accepts connections for a stalled process; when it resumes, its link is not a slow
// one.
TEST(LinkMeter, AStalledNodeHasNoRate) {
  const auto address = net::Resolve(net::ParseHostPort("127.0.0.1:0").value())->front();
  const net::Socket silent = net::Listen(address).value();
  const cluster::Identity identity = rpc::ClusterForTest().NewNode("desk");
  std::vector<cluster::Member> members = {Living(1), Living(2)};
  members[1].control_addresses = {net::LocalEndpoint(silent)->ToText()};
  std::atomic<int> looks = 0;
  const auto rates = std::make_shared<net::PathRates>();
  SystemClock clock;
  LinkMeter meter(identity,
                  [&] {
                    ++looks;
                    return members;
                  },
                  NothingReceived, rates, clock, {.measure_ns = 100 * kNsPerMs});
  ASSERT_TRUE(meter.Start().ok());
  // The second round begins when the first one has measured.
  while (looks < 2) clock.SleepFor(10 * kNsPerMs);
  EXPECT_EQ(rates->Of("127.0.0.1"), 0);
  EXPECT_EQ(meter.Of(members[1].node).bytes_per_s, 0);
}

// desk measures; lap is behind a link.
class MeteredLink : public testing::Test {
 protected:
  MeteredLink() {
    members_[0].node = desk_.node;
    members_[1].node = lap_.node;
    members_[1].control_addresses = {link_->address()};
    service_.on_slow_link = [this](const cluster::NodeId& from) {
      if (from == desk_.node) is_slow_reported_ = true;
    };
  }

  std::unique_ptr<LinkMeter> Start(LinkMeterOptions options) {
    options.bytes = 200'000;
    auto meter = std::make_unique<LinkMeter>(
        desk_, [this] { return members_; }, [this](const auto&) { return received_.load(); },
        rates_, clock_, options);
    EXPECT_TRUE(meter->Start().ok());
    return meter;
  }
  // Waits until the rate is as `is_so` wants it.
  void Await(const LinkMeter& meter, bool (*is_so)(double)) {
    while (!is_so(meter.Of(lap_.node).bytes_per_s)) clock_.SleepFor(10 * kNsPerMs);
  }
  static bool IsSlow(double rate) { return rate > 0 && rate < 400'000; }
  static bool IsFast(double rate) { return rate > 2'000'000; }

  static constexpr net::LinkOptions kSlow{.delay_ns = 0, .rate_bytes_per_s = 200'000};
  const rpc::ClusterForTest cluster_;
  const cluster::Identity desk_ = cluster_.NewNode("desk"), lap_ = cluster_.NewNode("lap");
  rpc::ServiceForTest service_;
  const std::unique_ptr<rpc::ControlServer> server_ = rpc::StartServer(lap_, service_);
  const std::unique_ptr<net::DelayingProxy> link_ =
      net::DelayingProxy::Start(server_->addresses().front(), {}).value();
  std::vector<cluster::Member> members_ = {Living(1), Living(2)};
  std::atomic<uint64_t> received_ = 0;
  std::atomic<bool> is_slow_reported_ = false;  // lap knows that the direction from it is slow
  const std::shared_ptr<net::PathRates> rates_ = std::make_shared<net::PathRates>();
  SystemClock clock_;
};

// The network or a machine is busy during the first measurement.
TEST_F(MeteredLink, OneBadMeasurementDoesNotStay) {
  link_->SetLink(kSlow);
  LinkMeterOptions options;
  options.confirm_ns = 10 * kNsPerMs;
  const auto meter = Start(options);
  Await(*meter, IsSlow);
  link_->SetLink({});
  Await(*meter, IsFast);
  EXPECT_EQ(rates_->Of("127.0.0.1"), meter->Of(lap_.node).bytes_per_s);
}

TEST_F(MeteredLink, TwoBadMeasurementsCount) {
  LinkMeterOptions options;
  options.confirm_ns = options.again_ns = kNsPerMs;
  const auto meter = Start(options);
  Await(*meter, IsFast);
  link_->SetLink(kSlow);
  Await(*meter, IsSlow);
}

// The link was measured once, and would not be again for half an hour.
TEST_F(MeteredLink, ThatIsUsedAndBecomesSlowIsKnown) {
  LinkMeterOptions options;
  options.confirm_ns = options.again_ns;
  options.probe_ns = kNsPerMs;
  options.used_bytes = 1;
  const auto meter = Start(options);
  Await(*meter, IsFast);
  link_->SetLink(kSlow);
  while (!IsSlow(meter->Of(lap_.node).bytes_per_s)) {
    received_ += 100;
    clock_.SleepFor(10 * kNsPerMs);
  }
  EXPECT_LT(rates_->Of("127.0.0.1"), 400'000);
  while (!is_slow_reported_) clock_.SleepFor(10 * kNsPerMs);
}

// A short measurement of a slow link does not fix its rate for ever.
TEST_F(MeteredLink, OfASlowLinkEachLookCounts) {
  LinkMeterOptions options;
  options.confirm_ns = options.again_ns;
  options.probe_ns = kNsPerMs;
  options.used_bytes = 1;
  options.probe_bytes = 50'000;
  options.probe_share = 0;
  const auto meter = Start(options);
  Await(*meter, IsFast);
  const auto await_below = [&](double rate) {
    while (meter->Of(lap_.node).bytes_per_s >= rate) {
      received_ += 100;
      clock_.SleepFor(10 * kNsPerMs);
    }
  };
  link_->SetLink(kSlow);
  await_below(400'000);
  // The link becomes half as fast.
  link_->SetLink({.delay_ns = 0, .rate_bytes_per_s = kSlow.rate_bytes_per_s / 2});
  await_below(130'000);
}

// Lap has found that the direction to it is slow; nothing uses the direction from it.
TEST_F(MeteredLink, IsProbedIfTheOtherEndReportsItSlow) {
  LinkMeterOptions options;
  options.confirm_ns = options.again_ns;
  const auto meter = Start(options);
  Await(*meter, IsFast);
  link_->SetLink(kSlow);
  meter->Doubt(lap_.node);
  Await(*meter, IsSlow);
}

// The bytes of a short measurement would wait too long behind the activations.
TEST_F(MeteredLink, ThatIsFullCarriesWhatComesOverIt) {
  LinkMeterOptions options;
  options.confirm_ns = options.again_ns;
  options.probe_ns = kNsPerMs;
  options.used_bytes = 1;
  options.probe_bytes = 10'000;
  const auto meter = Start(options);
  Await(*meter, IsFast);
  link_->Unplug();
  while (!IsSlow(meter->Of(lap_.node).bytes_per_s)) {
    received_ += 1000;
    clock_.SleepFor(10 * kNsPerMs);
  }
}

TEST_F(MeteredLink, ThatIsUsedHasARateWithoutBeingSampled) {
  LinkMeterOptions options;
  options.sampled = 0;
  options.probe_ns = kNsPerMs;
  const auto meter = Start(options);
  while (meter->Of(lap_.node).round_trip_ns == 0) clock_.SleepFor(10 * kNsPerMs);
  EXPECT_EQ(meter->Of(lap_.node).bytes_per_s, 0);
  received_ = options.used_bytes;
  Await(*meter, IsFast);
}

}  // namespace
}  // namespace aster::node
