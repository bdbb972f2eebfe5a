// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whole nodes in one process, over loopback: what they know of each other, and when.

#include "node/daemon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>

#include "base/files.h"
#include "cluster/member_signature.h"
#include "net/certificate.h"
#include "node/cluster_view.h"

namespace aster::node {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int64_t kPatienceNs = 60 * kNsPerSecond;

int64_t WallS() { return SystemClock().WallNs() / kNsPerSecond; }

bool Eventually(const std::function<bool()>& holds) {
  SystemClock clock;
  const int64_t deadline_ns = clock.NowNs() + kPatienceNs;
  while (!holds()) {
    if (clock.NowNs() >= deadline_ns) return false;
    clock.SleepFor(20 * kNsPerMs);
  }
  return true;
}

class Daemons : public testing::Test {
 protected:
  // A machine that has joined the cluster.
  std::unique_ptr<cluster::Home> NewMachine(const std::string& name) {
    const std::string key = net::MakePrivateKey().value();
    const std::string certificate =
        cluster::CertifyNode(authority_, net::MakeRequest(key, name).value(), name, WallS())
            .value();
    const cluster::Identity identity =
        cluster::MakeIdentity(authority_.certificate, certificate, key, WallS()).value();
    auto home = std::make_unique<cluster::Home>(folder_.File(name));
    EXPECT_TRUE(home->Create(identity, authority_, "", false, WallS()).ok());
    return home;
  }

  static std::unique_ptr<Daemon> Run(const cluster::Home& home,
                                     const std::vector<std::string>& join = {}) {
    DaemonOptions options;
    options.version = "test";
    options.listen = "127.0.0.1:0";
    options.join = join;
    options.threads = 1;
    options.measure = false;
    options.memory_bytes = uint64_t{1} << 30;
    options.weights_folder = home.folder() + "-weights";
    return Daemon::Start(home, std::move(options)).value();
  }

  static size_t Alive(const Daemon& daemon) {
    const auto status = daemon.GetStatus();
    return static_cast<size_t>(
        std::ranges::count(status.members, cluster::MemberState::kAlive, &cluster::Member::state));
  }

  const TemporaryDirectory folder_ = TemporaryDirectory::Create().value();
  const cluster::Authority authority_ = cluster::MakeClusterAuthority("home", WallS()).value();
};

TEST_F(Daemons, FindEachOtherThroughOneThatBothKnow) {
  const auto desk_home = NewMachine("desk"), lap_home = NewMachine("lap"),
             shed_home = NewMachine("shed");
  const auto desk = Run(*desk_home);
  const auto lap = Run(*lap_home, desk->control_addresses());
  const auto shed = Run(*shed_home, desk->control_addresses());
  for (const Daemon* each : {desk.get(), lap.get(), shed.get()})
    EXPECT_TRUE(Eventually([&] { return Alive(*each) == 3; })) << each->identity().name;
}

TEST_F(Daemons, AreFoundByTheirMachineOnceTheyRun) {
  const auto desk_home = NewMachine("desk");
  const auto desk = Run(*desk_home);
  EXPECT_EQ(desk_home->LoadAddresses().value(), desk->control_addresses());
}

TEST_F(Daemons, KnowFormerAddressesOfOthers) {
  const auto desk_home = NewMachine("desk"), lap_home = NewMachine("lap");
  const auto desk = Run(*desk_home);
  auto lap = Run(*lap_home, desk->control_addresses());
  ASSERT_TRUE(Eventually([&] { return Alive(*lap) == 2; }));
  lap.reset();
  EXPECT_TRUE(Eventually([&] { return Alive(*desk) == 1; }));  // it left properly
  lap = Run(*lap_home);
  EXPECT_TRUE(Eventually([&] { return Alive(*lap) == 2 && Alive(*desk) == 2; }));
}

TEST_F(Daemons, AreOneOfAMachine) {
  const auto desk_home = NewMachine("desk");
  auto desk = Run(*desk_home);
  DaemonOptions options;
  options.listen = "127.0.0.1:0";
  options.measure = false;
  options.weights_folder = desk_home->folder() + "-weights";
  const auto second = Daemon::Start(*desk_home, options);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message(), HasSubstr("runs already"));
  desk.reset();
  EXPECT_TRUE(Daemon::Start(*desk_home, options).ok());
}

TEST_F(Daemons, ShowAFrontEndTheMembers) {
  const auto desk_home = NewMachine("desk"), lap_home = NewMachine("lap");
  const auto desk = Run(*desk_home);
  const auto lap = Run(*lap_home, desk->control_addresses());
  ASSERT_TRUE(Eventually([&] { return Alive(*desk) == 2; }));
  const auto view =
      ClusterView::Connect(desk->identity(), {"127.0.0.1:1", desk->control_addresses().front()});
  ASSERT_TRUE(view.ok()) << view.error().message();
  const auto nodes = (*view)->Look();
  ASSERT_TRUE(nodes.ok()) << nodes.error().message();
  ASSERT_THAT(*nodes, SizeIs(2));
  for (const NodeView& node : *nodes) {
    ASSERT_TRUE(node.description) << node.why;
    EXPECT_EQ(node.description->name, node.member.name);
    EXPECT_EQ(node.description->version, "test");
    EXPECT_EQ(node.description->core_count, 1u);
    EXPECT_EQ(node.status->node, node.member.node);
  }
}

TEST_F(Daemons, AreDrainedByTheirMachineAlone) {
  const auto desk_home = NewMachine("desk"), lap_home = NewMachine("lap");
  const auto desk = Run(*desk_home);
  const auto drain = [&](const cluster::Home& by, bool is_drained) {
    const cluster::Identity identity = by.LoadIdentity(WallS()).value();
    const auto client = rpc::ControlClient::Make({.identity = identity,
                                                  .address = desk->control_addresses().front(),
                                                  .expect = desk->identity().node})
                            .value();
    return client->Drain({.is_drained = is_drained, .signature = {}}, kPatienceNs);
  };
  const Status refused = drain(*lap_home, true);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message(), HasSubstr("has the cluster's key"));
  EXPECT_FALSE(desk->GetStatus().is_drained);
  EXPECT_TRUE(drain(*desk_home, true).ok());
  EXPECT_TRUE(desk->GetStatus().is_drained);
  EXPECT_EQ(desk->GetStatus().leaving, 0u);
  EXPECT_TRUE(drain(*desk_home, false).ok());
  EXPECT_FALSE(desk->GetStatus().is_drained);
}

TEST_F(Daemons, NoNodeAnswersForAnotherCluster) {
  const auto desk_home = NewMachine("desk");
  const auto desk = Run(*desk_home);
  const cluster::Authority other = cluster::MakeClusterAuthority("elsewhere", WallS()).value();
  const std::string key = net::MakePrivateKey().value();
  const std::string certificate =
      cluster::CertifyNode(other, net::MakeRequest(key, "spy").value(), "spy", WallS()).value();
  const auto view = ClusterView::Connect(
      cluster::MakeIdentity(other.certificate, certificate, key, WallS()).value(),
      desk->control_addresses());
  ASSERT_FALSE(view.ok());
  EXPECT_THAT(view.error().message(), HasSubstr(desk->control_addresses().front()));
}

TEST_F(Daemons, AreNotExpelledByAMember) {
  const auto desk_home = NewMachine("desk"), lap_home = NewMachine("lap"),
             spy_home = NewMachine("spy");
  const auto desk = Run(*desk_home);
  const auto lap = Run(*lap_home, desk->control_addresses());
  ASSERT_TRUE(Eventually([&] { return Alive(*desk) == 2 && Alive(*lap) == 2; }));
  const cluster::Identity spy = spy_home->LoadIdentity(WallS()).value();
  const auto client = rpc::ControlClient::Make({.identity = spy,
                                                .address = desk->control_addresses().front(),
                                                .expect = desk->identity().node})
                          .value();
  // False records claim that lap has left, with and without a signature, that it has another
  // address, and that nodes exist which do not.
  cluster::Member lie = desk->GetStatus().members.at(1);
  ASSERT_EQ(lie.name, "lap");
  lie.incarnation = cluster::kMaxIncarnation;
  rpc::Gossip gossip;
  for (const auto state : {cluster::MemberState::kLeft, cluster::MemberState::kAlive}) {
    for (const bool is_signed : {true, false}) {
      lie.state = state;
      lie.control_addresses = {"127.0.0.1:9"};
      lie.signature = is_signed ? cluster::SignMember(lie, spy.key).value() : "";
      gossip.members.push_back(lie);
    }
  }
  for (uint64_t i = 1; i <= 500; ++i) {
    lie.node = {{.low = i, .high = 1}};
    lie.name = "ghost-" + std::to_string(i);
    lie.signature = i % 2 == 0 ? cluster::SignMember(lie, spy.key).value() : "";
    gossip.members.push_back(lie);
  }
  // A record with lap's name for itself, as a node of an older version would send it.
  lie.node = spy.node;
  lie.name = "lap";
  lie.signature.clear();
  gossip.members.push_back(lie);
  for (const std::string& certificate : {std::string(), spy.certificate}) {
    gossip.certificates = {certificate};
    if (certificate.empty()) gossip.certificates.clear();
    ASSERT_TRUE(client->Exchange(gossip, kPatienceNs).ok());
  }
  const auto members = desk->GetStatus().members;
  ASSERT_THAT(members, SizeIs(2));
  EXPECT_EQ(members[1].node, lap->identity().node);
  EXPECT_EQ(members[1].state, cluster::MemberState::kAlive);
  EXPECT_EQ(members[1].control_addresses, lap->control_addresses());
}

TEST_F(Daemons, TellNoPathsOfTheirMachine) {
  const auto desk_home = NewMachine("desk");
  const auto desk = Run(*desk_home);
  const auto client = rpc::ControlClient::Make({.identity = desk->identity(),
                                                .address = desk->control_addresses().front(),
                                                .expect = {}})
                          .value();
  const Status fetched =
      client->FetchTensor(Hash128{1, 2}, "output.weight", 0, [](Bytes) { return Ok(); });
  ASSERT_FALSE(fetched.ok());
  EXPECT_EQ(fetched.error().code(), Code::kNotFound);
  EXPECT_THAT(fetched.error().message(), testing::Not(HasSubstr("/")));
}

// The command knew only the node through which it had joined.
TEST_F(Daemons, AreAllKnownToAMachineThatOnlyAsks) {
  const auto desk_home = NewMachine("desk"), lap_home = NewMachine("lap"),
             asker_home = NewMachine("asker");
  auto desk = Run(*desk_home);
  const auto lap = Run(*lap_home, desk->control_addresses());
  ASSERT_TRUE(Eventually([&] { return Alive(*desk) == 2; }));
  const cluster::Identity asker = asker_home->LoadIdentity(WallS()).value();
  const auto view = ClusterView::Connect(asker, desk->control_addresses()).value();
  ASSERT_TRUE(RememberMembers(*asker_home, view->members()).ok());
  EXPECT_THAT(asker_home->LoadAddresses().value(),
              testing::UnorderedElementsAre(desk->control_addresses().front(),
                                            lap->control_addresses().front()));
  desk.reset();
  EXPECT_TRUE(ClusterView::Connect(asker, asker_home->LoadAddresses().value()).ok());
}

TEST_F(Daemons, AskMoreAddressesThanAtOnce) {
  const auto desk_home = NewMachine("desk");
  const auto desk = Run(*desk_home);
  std::vector<std::string> addresses(20, "127.0.0.1:1");
  addresses.push_back(desk->control_addresses().front());
  EXPECT_TRUE(ClusterView::Connect(desk->identity(), addresses).ok());
}

TEST_F(Daemons, NoticeThatTheirAddressChanges) {
  const auto home = NewMachine("desk");
  const cluster::Identity identity = home->LoadIdentity(WallS()).value();
  SystemClock clock;
  std::atomic<bool> has_moved = false;
  cluster::Member self;
  self.node = identity.node;
  self.name = identity.name;
  MembershipOptions options;
  options.addresses = [&]() -> Result<OwnAddresses> {
    const std::string host = has_moved ? "192.168.7.9" : "192.168.0.7";
    return OwnAddresses{.control = {host + ":7424"}, .data = {host + ":7425"}};
  };
  Membership membership(*home, identity, self, std::move(options), clock);
  ASSERT_TRUE(membership.Start().ok());
  const auto is_at = [&](const std::string& address) {
    return membership.Members().front().control_addresses == std::vector{address};
  };
  EXPECT_TRUE(Eventually([&] { return is_at("192.168.0.7:7424"); }));
  has_moved = true;
  EXPECT_TRUE(Eventually([&] { return is_at("192.168.7.9:7424"); }));
  membership.Stop();
}

TEST_F(Daemons, SpreadRevocations) {
  const auto desk_home = NewMachine("desk"), lap_home = NewMachine("lap"),
             shed_home = NewMachine("shed");
  const auto desk = Run(*desk_home);
  const auto lap = Run(*lap_home, desk->control_addresses());
  const auto shed = Run(*shed_home, desk->control_addresses());
  ASSERT_TRUE(Eventually([&] { return Alive(*lap) == 3 && Alive(*shed) == 3; }));
  // As `aster cluster revoke` does it, beside the running node.
  const auto list = cluster::Revocations().With(shed->identity().node, WallS(), authority_.key);
  ASSERT_TRUE(list.ok()) << list.error().message();
  ASSERT_TRUE(desk_home->StoreRevocations(*list, authority_.certificate).ok());
  EXPECT_TRUE(Eventually([&] { return Alive(*desk) == 2 && Alive(*lap) == 2; }));
  const auto view = ClusterView::Connect(shed->identity(), lap->control_addresses());
  ASSERT_FALSE(view.ok());
  EXPECT_THAT(view.error().message(), HasSubstr("revoked"));
  // Still known after a restart.
  EXPECT_TRUE(lap_home->LoadRevocations(authority_.certificate)->Contains(shed->identity().node));
}

}  // namespace
}  // namespace aster::node
