// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Programs that find each other by multicast over loopback.

#include "discovery/discovery.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstdlib>
#include <set>

namespace aster::discovery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kPatienceNs = 30 * kNsPerSecond;

IpAddress Ip(const char* text) {
  IpAddress ip;
  ip.is_v6 = std::string_view(text).find(':') != std::string_view::npos;
  EXPECT_EQ(inet_pton(ip.is_v6 ? AF_INET6 : AF_INET, text, ip.bytes.data()), 1) << text;
  return ip;
}

LinkAddress LinkAt(const char* address, uint32_t prefix_bits, bool is_loopback = false) {
  return {.interface_index = 1,
          .address = Ip(address),
          .prefix_bits = prefix_bits,
          .is_loopback = is_loopback};
}

TEST(LinkAddresses, KnowTheirNeighbours) {
  const LinkAddress v4 = LinkAt("192.168.1.7", 22);
  EXPECT_TRUE(v4.IsNeighbour(Ip("192.168.3.255")));
  EXPECT_FALSE(v4.IsNeighbour(Ip("192.168.4.1")));
  EXPECT_FALSE(v4.IsNeighbour(Ip("fd00::1")));
  const LinkAddress v6 = LinkAt("fd00::2", 64);
  EXPECT_TRUE(v6.IsNeighbour(Ip("fd00::ffff:0:0:1")));
  EXPECT_FALSE(v6.IsNeighbour(Ip("fd00:0:0:1::1")));
}

TEST(LinkAddresses, HaveThePortThatListensThere) {
  using discovery_internal::PortOn;
  const LinkAddress v4 = LinkAt("192.168.1.7", 24), v6 = LinkAt("fd00::2", 64);
  EXPECT_EQ(PortOn(v4, {"0.0.0.0:7424", "[::]:7425"}), 7424);
  EXPECT_EQ(PortOn(v6, {"0.0.0.0:7424", "[::]:7425"}), 7425);
  EXPECT_EQ(PortOn(v4, {"127.0.0.1:7424"}), std::nullopt);
  EXPECT_EQ(PortOn(v4, {"127.0.0.1:7424", "192.168.1.7:1"}), 1);
}

TEST(LinkAddresses, AreChosenWhereTheProgramListens) {
  using discovery_internal::ChooseLinks;
  const LinkAddress loopback = LinkAt("127.0.0.1", 8, true), home = LinkAt("192.168.1.7", 24),
                    office = LinkAt("10.0.0.7", 8);
  const std::vector<LinkAddress> all = {loopback, home, office};
  EXPECT_THAT(ChooseLinks(all, {"0.0.0.0:7424"}), ElementsAre(home, office));
  EXPECT_THAT(ChooseLinks(all, {"10.0.0.7:7424"}), ElementsAre(office));
  EXPECT_THAT(ChooseLinks(all, {"127.0.0.1:7424"}), ElementsAre(loopback));
  EXPECT_THAT(ChooseLinks({loopback}, {"0.0.0.0:7424"}), ElementsAre(loopback));
  EXPECT_EQ(ChooseLinks(all, {}), all);
}

TEST(PortFromEnvironment, IsOffOrANumber) {
  const auto with = [](const char* value) {
    setenv("ASTER_DISCOVERY", value, 1);
    auto port = PortFromEnvironment();
    unsetenv("ASTER_DISCOVERY");
    return port;
  };
  EXPECT_EQ(with("").value(), kUsualPort);
  EXPECT_EQ(with("off").value(), std::nullopt);
  EXPECT_EQ(with("7000").value(), 7000);
  for (const char* wrong : {"on", "0", "65536", "7000x", "-1"}) {
    const auto port = with(wrong);
    ASSERT_FALSE(port.ok()) << wrong;
    EXPECT_THAT(port.error().message(), HasSubstr("UDP port"));
  }
}

// The found addresses; safe for concurrent use.
class Found {
 public:
  void Add(const std::string& address) {
    const MutexLock lock(mu_);
    addresses_.insert(address);
    changed_.NotifyAll();
  }
  std::set<std::string> Get() {
    const MutexLock lock(mu_);
    return addresses_;
  }
  bool Await(const std::string& address) {
    SystemClock clock;
    const int64_t deadline_ns = clock.NowNs() + kPatienceNs;
    const MutexLock lock(mu_);
    while (!addresses_.contains(address)) {
      if (!clock.WaitUntil(changed_, mu_, deadline_ns)) return false;
    }
    return true;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  std::set<std::string> addresses_ GUARDED_BY(mu_);
};

class Discoveries : public testing::Test {
 protected:
  void SetUp() override {
    const auto link = Link::Open(LinkAt("127.0.0.1", 8, true), kPort);
    if (!link.ok()) GTEST_SKIP() << "no multicast on loopback here: " << link.error().message();
    link->Send(AsBytes("hello"));
    std::vector<uint8_t> buffer(100);
    const int64_t deadline_ns = clock_.NowNs() + kNsPerSecond;
    while (!link->Receive(buffer)) {
      if (clock_.NowNs() > deadline_ns) GTEST_SKIP() << "multicast does not come back on loopback";
      clock_.SleepFor(kNsPerMs);
    }
  }

  std::unique_ptr<Discovery> Run(DiscoveryOptions options, Found& found) {
    options.port = kPort;
    options.on_found = [&found](const std::string& address) { found.Add(address); };
    return Discovery::Start(std::move(options), clock_).value();
  }

  // Concurrent tests on the same machine use other labels.
  static constexpr uint16_t kPort = 45353;
  const std::string home_ = ClusterLabel(DrawInstance());
  const std::string secret_ = InvitationLabel(AsBytes(DrawInstance()));
  SystemClock clock_;
};

TEST_F(Discoveries, FindEachOther) {
  Found by_desk, by_lap, by_stranger;
  const auto desk =
      Run({.listening = {"127.0.0.1:1001"}, .offers = {home_}, .wanted = {home_}}, by_desk);
  const auto lap =
      Run({.listening = {"127.0.0.1:1002"}, .offers = {home_}, .wanted = {home_}}, by_lap);
  const std::string elsewhere = ClusterLabel("elsewhere");
  const auto stranger = Run(
      {.listening = {"127.0.0.1:1003"}, .offers = {elsewhere}, .wanted = {elsewhere}}, by_stranger);
  EXPECT_TRUE(by_desk.Await("127.0.0.1:1002"));
  EXPECT_TRUE(by_lap.Await("127.0.0.1:1001"));
  EXPECT_THAT(by_stranger.Get(), testing::IsEmpty());
  EXPECT_EQ(by_desk.Get().size(), 1U);
}

TEST_F(Discoveries, AnswerQuestionsThatNameAnInvitation) {
  Found by_desk, by_other, by_lap;
  const auto desk = Run({.listening = {"127.0.0.1:1001"},
                         .offers = {},
                         .hidden = [this] { return std::vector{secret_}; }},
                        by_desk);
  const auto other = Run({.offers = {}, .wanted = {InvitationLabel(AsBytes("another"))}}, by_other);
  const auto lap = Run({.offers = {}, .wanted = {secret_}}, by_lap);
  EXPECT_TRUE(by_lap.Await("127.0.0.1:1001"));
  EXPECT_THAT(by_other.Get(), testing::IsEmpty());
}

TEST_F(Discoveries, StopHearingAFloodForTheRestOfTheSecond) {
  Found by_desk, by_lap;
  const auto flooding = Link::Open(LinkAt("127.0.0.1", 8, true), kPort).value();
  const auto desk =
      Run({.listening = {"127.0.0.1:1001"}, .offers = {home_}, .wanted = {home_}}, by_desk);
  const std::vector<uint8_t> junk(500, 0xc0);
  for (int i = 0; i < 20'000; ++i) flooding.Send(junk);
  const auto lap =
      Run({.listening = {"127.0.0.1:1002"}, .offers = {home_}, .wanted = {home_}}, by_lap);
  EXPECT_TRUE(by_desk.Await("127.0.0.1:1002"));
}

TEST(Links, AreFoundInOrder) {
  const auto links = FindLinks();
  ASSERT_TRUE(links.ok());
  EXPECT_TRUE(std::ranges::is_sorted(*links));
  for (const LinkAddress& link : *links) {
    EXPECT_TRUE(link.IsNeighbour(link.address));
    EXPECT_NE(link.interface_index, 0U);
  }
}

}  // namespace
}  // namespace aster::discovery
