// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/tcp_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "base/random.h"
#include "net/cluster_for_test.h"

namespace aster::net {
namespace {

using ::testing::HasSubstr;
using wire::NodeId;

// Tests that run with and without certificates.
class TcpNetworkTest : public ::testing::TestWithParam<bool> {
 protected:
  TestCluster cluster_{GetParam()};
};

TEST_P(TcpNetworkTest, MessagesGoBothWaysInOrder) {
  const auto ann = cluster_.Start("ann");
  const auto bob = cluster_.Start("bob");
  ann->Introduce(bob->self(), bob->addresses());
  ASSERT_EQ(Next(*ann).kind, Event::Kind::kUp);
  ASSERT_EQ(Next(*bob).kind, Event::Kind::kUp);
  for (uint64_t i = 0; i < 200; ++i) {
    ASSERT_TRUE(ann->Send(bob->self(), wire::CloseRoute{i}).ok());
    // Bob was reached, so he can reply.
    ASSERT_TRUE(bob->Send(ann->self(), wire::CloseRoute{1000 + i}).ok());
  }
  for (uint64_t i = 0; i < 200; ++i) {
    const Event at_bob = Next(*bob);
    EXPECT_EQ(at_bob.from, ann->self());
    EXPECT_EQ(RouteOf(at_bob), i);
    EXPECT_EQ(RouteOf(Next(*ann)), 1000 + i);
  }
}

TEST_P(TcpNetworkTest, ManyMessagesOfRandomSizesArriveWhole) {
  const auto ann = cluster_.Start("ann");
  const auto bob = cluster_.Start("bob");
  ann->Introduce(bob->self(), bob->addresses());
  bob->Introduce(ann->self(), ann->addresses());
  constexpr int kCount = 60;
  const auto talk = [&](TcpNetwork& self, TcpNetwork& other, uint64_t seed) {
    Random random(seed);
    for (int i = 0; i < kCount; ++i) {
      wire::Work work;
      work.rows.resize(random.NextBelow(4) == 0 ? random.NextBelow(1 << 20)
                                                : random.NextBelow(5000));
      for (size_t k = 0; k < work.rows.size(); k += 97) {
        work.rows[k] = static_cast<uint8_t>(random.NextU32());
      }
      work.route = Hash64Of(work.rows);
      ASSERT_TRUE(self.Send(other.self(), std::move(work)).ok());
    }
  };
  const auto listen = [&](TcpNetwork& self) {
    for (int i = 0; i < kCount;) {
      const Event event = Next(self);
      if (event.kind == Event::Kind::kUp) continue;
      ASSERT_EQ(event.kind, Event::Kind::kMessage);
      const auto& work = std::get<wire::Work>(event.message);
      ASSERT_EQ(work.route, Hash64Of(work.rows));
      ++i;
    }
  };
  std::thread ann_talks([&] { talk(*ann, *bob, 1); });
  std::thread bob_talks([&] { talk(*bob, *ann, 2); });
  std::thread ann_listens([&] { listen(*ann); });
  listen(*bob);
  ann_talks.join();
  bob_talks.join();
  ann_listens.join();
}

// A receiving thread moves the bytes itself for a while, and sleeps again.
TEST_P(TcpNetworkTest, AReceiverMayPump) {
  const auto ann = cluster_.Start("ann");
  const auto bob = cluster_.Start("bob");
  ann->Introduce(bob->self(), bob->addresses());
  ASSERT_EQ(Next(*bob).kind, Event::Kind::kUp);
  ASSERT_EQ(Next(*ann).kind, Event::Kind::kUp);
  constexpr uint64_t kCount = 300;
  std::thread echo([&] {
    for (uint64_t i = 0; i < kCount; ++i)
      EXPECT_TRUE(ann->Send(bob->self(), wire::CloseRoute{RouteOf(Next(*ann))}).ok());
  });
  const auto pumped = [&] {
    std::optional<Event> event;
    while (!event) {
      EXPECT_TRUE(bob->Pump());
      event = bob->Receive(0);
    }
    return *std::move(event);
  };
  for (uint64_t i = 0; i < kCount; ++i) {
    ASSERT_TRUE(bob->Send(ann->self(), wire::CloseRoute{i}).ok());
    EXPECT_EQ(RouteOf(i % 10 < 8 ? pumped() : Next(*bob)), i);
  }
  echo.join();
  // A node that connects while another thread pumps is heard, too.
  const auto eve = cluster_.Start("eve");
  eve->Introduce(bob->self(), bob->addresses());
  EXPECT_EQ(pumped().from, eve->self());
}

TEST_P(TcpNetworkTest, WhatIsSentBeforeTheConnectionIsThereArrives) {
  const auto ann = cluster_.Start("ann");
  const auto bob = cluster_.Start("bob");
  // The first address is unreachable.
  ann->Introduce(bob->self(), {"127.0.0.1:1", bob->addresses().front()});
  for (uint64_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(ann->Send(bob->self(), wire::CloseRoute{i}).ok());
  }
  EXPECT_EQ(Next(*bob).kind, Event::Kind::kUp);
  for (uint64_t i = 0; i < 10; ++i) EXPECT_EQ(RouteOf(Next(*bob)), i);
}

TEST_P(TcpNetworkTest, ANodeThatGoesIsDownAndMayComeBack) {
  const auto ann = cluster_.Start("ann");
  auto bob = cluster_.Start("bob");
  ann->Introduce(bob->self(), bob->addresses());
  ASSERT_EQ(Next(*ann).kind, Event::Kind::kUp);
  const std::vector<std::string> addresses = bob->addresses();
  const NodeId bob_id = bob->self();
  bob.reset();
  const Event down = Next(*ann);
  ASSERT_EQ(down.kind, Event::Kind::kDown);
  EXPECT_EQ(down.from, bob_id);
  EXPECT_THAT(down.why.error().message(), HasSubstr("bob"));
  EXPECT_THAT(down.why.error().message(), HasSubstr("says: this node stops"));
  EXPECT_FALSE(NextWithin(*ann, 50 * kNsPerMs)) << "the end was reported twice";

  ASSERT_TRUE(ann->Send(bob_id, wire::CloseRoute{1}).ok());
  const Event again = Next(*ann);
  ASSERT_EQ(again.kind, Event::Kind::kDown);
  EXPECT_THAT(again.why.error().message(), HasSubstr("no program listens there"));

  bob = cluster_.Start("bob", [&](TcpOptions& options) { options.listen = addresses; });
  ASSERT_TRUE(ann->Send(bob_id, wire::CloseRoute{2}).ok());
  EXPECT_EQ(Next(*ann).kind, Event::Kind::kUp);
  EXPECT_EQ(Next(*bob).kind, Event::Kind::kUp);
  EXPECT_EQ(RouteOf(Next(*bob)), 2U);
}

TEST_P(TcpNetworkTest, StrangersAndOneself) {
  const auto ann = cluster_.Start("ann");
  EXPECT_THAT(ann->Send(NodeId{{7, 7}}, wire::CloseRoute{1}).error().message(),
              HasSubstr("introduce it first"));
  ASSERT_TRUE(ann->Send(ann->self(), wire::CloseRoute{5}).ok());
  EXPECT_EQ(RouteOf(Next(*ann)), 5U);
  EXPECT_FALSE(ann->Receive(ann->clock().NowNs()));
}

TEST_P(TcpNetworkTest, TheNodeThatWasMeantMustBeThere) {
  const auto ann = cluster_.Start("ann");
  const auto bob = cluster_.Start("bob");
  const NodeId cid{{3, 3}};
  ann->Introduce(cid, bob->addresses());
  const Event down = Next(*ann);
  ASSERT_EQ(down.kind, Event::Kind::kDown);
  EXPECT_EQ(down.from, cid);
  EXPECT_THAT(down.why.error().message(),
              HasSubstr("node " + bob->self().ToText() + " is there, where 00000000"));
}

TEST_P(TcpNetworkTest, AnotherArithmeticIsRefusedWithBothValues) {
  const auto ann = cluster_.Start("ann");
  const auto bob = cluster_.Start("bob", [](TcpOptions& options) { options.arithmetic = 9; });
  ann->Introduce(bob->self(), bob->addresses());
  const Event down = Next(*ann);
  ASSERT_EQ(down.kind, Event::Kind::kDown);
  EXPECT_THAT(down.why.error().message(), HasSubstr("computes with arithmetic 9"));
  EXPECT_THAT(down.why.error().message(), HasSubstr("with 1"));
}

TEST_P(TcpNetworkTest, RevokedNodesAreRefusedAndHangUp) {
  const auto bob = cluster_.Start("bob");
  const NodeId bob_id = bob->self();
  std::atomic<bool> is_revoked = true;
  const auto ann = cluster_.Start("ann", [&](TcpOptions& options) {
    options.admit = [&](const NodeId& node) -> Status {
      if (node == bob_id && is_revoked) {
        return Error(Code::kPermissionDenied, "node bob was revoked");
      }
      return Ok();
    };
  });
  bob->Introduce(ann->self(), ann->addresses());
  const Event refused = Next(*bob);
  ASSERT_EQ(refused.kind, Event::Kind::kDown);
  EXPECT_THAT(refused.why.error().message(), HasSubstr("says: node bob was revoked"));
  is_revoked = false;
  bob->Introduce(ann->self(), ann->addresses());
  EXPECT_EQ(Next(*bob).kind, Event::Kind::kUp);
  EXPECT_EQ(Next(*ann).kind, Event::Kind::kUp);
  ann->Disconnect(bob_id, Error(Code::kPermissionDenied, "node bob was revoked again"));
  EXPECT_EQ(Next(*ann).kind, Event::Kind::kDown);
  EXPECT_THAT(Next(*bob).why.error().message(), HasSubstr("revoked again"));
}

TEST_P(TcpNetworkTest, AReaderThatStopsHoldsTheSenderBack) {
  const auto ann =
      cluster_.Start("ann", [](TcpOptions& options) { options.max_queue_bytes = 4 << 20; });
  const auto bob = cluster_.Start("bob", [](TcpOptions& options) {
    options.credit_bytes = 1 << 20;
    options.max_frame_bytes = 1 << 20;
  });
  ann->Introduce(bob->self(), bob->addresses());
  ASSERT_EQ(Next(*ann).kind, Event::Kind::kUp);
  Status status = Ok();
  int sent = 0;
  while (status.ok() && sent < 1000) {
    wire::Work work;
    work.rows.resize(100'000);
    status = ann->Send(bob->self(), std::move(work));
    sent += status.ok();
  }
  // At most the peer's credit and the queue are sent.
  EXPECT_LE(sent, 53);
  EXPECT_GE(sent, 41);
  EXPECT_THAT(status.error().message(), HasSubstr("reads nothing"));
  const Event down = Next(*ann);
  EXPECT_EQ(down.kind, Event::Kind::kDown);
}

TEST_P(TcpNetworkTest, CreditComesBackAsMessagesAreTaken) {
  const auto ann = cluster_.Start("ann");
  const auto bob = cluster_.Start("bob", [](TcpOptions& options) {
    options.credit_bytes = 300'000;
    options.max_frame_bytes = 4 << 20;
  });
  ann->Introduce(bob->self(), bob->addresses());
  ASSERT_EQ(Next(*bob).kind, Event::Kind::kUp);
  // Frames larger than the whole credit, too.
  const size_t sizes[] = {100'000, 250'000, 2'000'000, 10, 400'000};
  for (int i = 0; i < 50; ++i) {
    wire::Work work;
    work.rows.resize(sizes[i % 5]);
    ASSERT_TRUE(ann->Send(bob->self(), std::move(work)).ok());
  }
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(std::get<wire::Work>(Next(*bob).message).rows.size(), sizes[i % 5]);
  }
}

TEST_P(TcpNetworkTest, AMessageThatIsTooLargeIsAnErrorAndNoMore) {
  const auto ann = cluster_.Start("ann");
  const auto bob =
      cluster_.Start("bob", [](TcpOptions& options) { options.max_frame_bytes = 100'000; });
  ann->Introduce(bob->self(), bob->addresses());
  ASSERT_EQ(Next(*ann).kind, Event::Kind::kUp);
  wire::Work work;
  work.rows.resize(200'000);
  const Status status = ann->Send(bob->self(), std::move(work));
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message(), HasSubstr("where the other side takes 100000"));
  ASSERT_TRUE(ann->Send(bob->self(), wire::CloseRoute{1}).ok());
  EXPECT_EQ(Next(*bob).kind, Event::Kind::kUp);
  EXPECT_EQ(RouteOf(Next(*bob)), 1U);
}

TEST_P(TcpNetworkTest, HeartbeatsKeepIdleConnectionsAndMeasureThem) {
  const auto quick = [](TcpOptions& options) {
    options.heartbeat_ns = 20 * kNsPerMs;
    options.silence_ns = 10 * kNsPerSecond;
  };
  const auto ann = cluster_.Start("ann", quick);
  const auto bob = cluster_.Start("bob", quick);
  ann->Introduce(bob->self(), bob->addresses());
  ASSERT_EQ(Next(*ann).kind, Event::Kind::kUp);
  const int64_t deadline_ns = ann->clock().NowNs() + 60 * kNsPerSecond;
  while (ann->Peers().front().round_trip_ns == 0 && ann->clock().NowNs() < deadline_ns) {
    EXPECT_FALSE(NextWithin(*ann, 50 * kNsPerMs));
  }
  EXPECT_GT(ann->Peers().front().round_trip_ns, 0);
  EXPECT_TRUE(ann->Peers().front().is_up);
}

TEST_P(TcpNetworkTest, BothAddressFamilies) {
  const auto v6 = cluster_.TryStart(
      "bob", [](TcpOptions& options) { options.listen = {"127.0.0.1:0", "[::1]:0"}; });
  if (!v6.ok()) GTEST_SKIP() << "no IPv6 on this machine: " << v6.error().message();
  ASSERT_EQ((*v6)->addresses().size(), 2U);
  const auto ann = cluster_.Start("ann");
  ann->Introduce((*v6)->self(), {(*v6)->addresses()[1]});
  EXPECT_EQ(Next(*ann).kind, Event::Kind::kUp);
}

TEST_P(TcpNetworkTest, BothIntroduceEachOtherAtOnce) {
  for (int round = 0; round < 10; ++round) {
    const auto ann = cluster_.Start("ann");
    const auto bob = cluster_.Start("bob");
    std::thread introducer([&] { ann->Introduce(bob->self(), bob->addresses()); });
    bob->Introduce(ann->self(), ann->addresses());
    introducer.join();
    ASSERT_TRUE(ann->Send(bob->self(), wire::CloseRoute{1}).ok());
    ASSERT_TRUE(bob->Send(ann->self(), wire::CloseRoute{2}).ok());
    EXPECT_EQ(Next(*bob).kind, Event::Kind::kUp);
    EXPECT_EQ(RouteOf(Next(*bob)), 1U);
    EXPECT_EQ(Next(*ann).kind, Event::Kind::kUp);
    EXPECT_EQ(RouteOf(Next(*ann)), 2U);
  }
}

INSTANTIATE_TEST_SUITE_P(Plain, TcpNetworkTest, ::testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Tls, TcpNetworkTest, ::testing::Values(true));

TEST(TcpNetwork, AnOpenPortNeedsCertificates) {
  TestCluster local(false);
  const auto open =
      local.TryStart("ann", [](TcpOptions& options) { options.listen = {"0.0.0.0:0"}; });
  ASSERT_FALSE(open.ok());
  EXPECT_THAT(open.error().message(), HasSubstr("aster cluster init"));
  TestCluster trusted(true);
  EXPECT_TRUE(
      trusted.TryStart("ann", [](TcpOptions& options) { options.listen = {"0.0.0.0:0"}; }).ok());
  // A node with only a password does not connect to other machines either.
  const auto ann = local.Start("ann");
  ann->Introduce(NodeId{{4, 4}}, {"192.0.2.1:7777"});
  EXPECT_THAT(Next(*ann).why.error().message(), HasSubstr("that is another machine"));
}

TEST(TcpNetwork, CertificatesOfAnotherClusterAreRefusedOnBothSides) {
  TestCluster home(true);
  TestCluster other(true);
  const auto ann = home.Start("ann");
  const auto eve = other.Start("eve");
  eve->Introduce(ann->self(), ann->addresses());
  const Event down = Next(*eve);
  ASSERT_EQ(down.kind, Event::Kind::kDown);
  EXPECT_THAT(down.why.error().message(), HasSubstr("certificate"));
  EXPECT_FALSE(NextWithin(*ann, 50 * kNsPerMs)) << "nothing happened at the other side";
  // A peer without TLS, but with a password, is refused, too.
  TestCluster local(false);
  const auto bob = local.Start("bob");
  bob->Introduce(ann->self(), ann->addresses());
  EXPECT_EQ(Next(*bob).kind, Event::Kind::kDown);
}

TEST(TcpNetwork, AnotherPasswordIsRefused) {
  TestCluster home(false);
  TestCluster other(false);
  const auto ann = home.Start("ann");
  const auto eve = other.Start("eve");
  eve->Introduce(ann->self(), ann->addresses());
  EXPECT_THAT(Next(*eve).why.error().message(), HasSubstr("wrong password"));
  EXPECT_FALSE(NextWithin(*ann, 50 * kNsPerMs));
}

TEST(TcpNetwork, NoNetworkStartsWithoutCredentials) {
  EXPECT_THAT(TcpNetwork::Start({}).error().message(), HasSubstr("neither certificates"));
  TcpOptions options;
  options.credentials.password.resize(31);
  EXPECT_FALSE(TcpNetwork::Start(std::move(options)).ok());
}

}  // namespace
}  // namespace aster::net
