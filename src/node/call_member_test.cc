// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/call_member.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <latch>

#include "net/socket.h"
#include "rpc/rpc_for_test.h"
#include "rpc/samples_for_test.h"

namespace aster::node {
namespace {

// An hour is longer than any test.
constexpr int64_t kForeverNs = 3600 * kNsPerSecond;

// Stalled machines, or unreachable networks: connections are accepted, and nothing is answered.
class SilentPlaces {
 public:
  std::string Add() {
    const auto any = net::Resolve(net::ParseHostPort("127.0.0.1:0").value())->front();
    listeners_.push_back(net::Listen(any).value());
    return net::LocalEndpoint(listeners_.back())->ToText();
  }

 private:
  std::deque<net::Socket> listeners_;
};

cluster::Description Told(const std::string& version) {
  cluster::Description description = rpc::SampleDescription();
  description.version = version;
  return description;
}

class CallMemberTest : public testing::Test {
 protected:
  CallMemberTest() {
    service_.describe = [this]() -> Result<cluster::Description> {
      ++described_;
      return Told("there");
    };
    member_.node = lap_.node;
    member_.name = "lap";
  }

  const rpc::ClusterForTest cluster_;
  const cluster::Identity desk_ = cluster_.NewNode("desk"), lap_ = cluster_.NewNode("lap"),
                          other_ = cluster_.NewNode("other");
  rpc::ServiceForTest service_;
  std::atomic<int> described_ = 0;
  SilentPlaces silent_;
  cluster::Member member_;
};

TEST_F(CallMemberTest, AddressesThatAreSilentAreNotWaitedFor) {
  const auto server = rpc::StartServer(lap_, service_);
  for (int i = 0; i < 6; ++i) member_.control_addresses.push_back(silent_.Add());
  member_.control_addresses.push_back(server->addresses().front());
  const auto reached = ReachMember(desk_, member_, kForeverNs);
  ASSERT_TRUE(reached.ok()) << reached.error().message();
  EXPECT_EQ(reached->answer.version, "there");
  // Later calls go to this address only, and only once.
  std::atomic<int> asked = 0;
  service_.status = [&]() -> Result<cluster::NodeStatus> {
    ++asked;
    return FailedPrecondition("not now");
  };
  const auto status = CallMember(
      desk_, member_, [](rpc::ControlClient& client) { return client.GetStatus(); }, kForeverNs);
  EXPECT_EQ(status.error().code(), Code::kFailedPrecondition);
  EXPECT_EQ(asked, 1);
}

TEST_F(CallMemberTest, AllAddressesAreAskedAtOnceWhereTheFirstFails) {
  std::latch all(5);
  const auto [answered, errors] = CallFastestAddress(
      6, kForeverNs,
      [&](size_t) {
        return rpc::ControlClient::Make(
            {.identity = desk_, .address = "127.0.0.1:1", .expect = {}});
      },
      [&](rpc::ControlClient&, size_t i) -> Result<bool> {
        if (i > 0) all.arrive_and_wait();
        return Error(Code::kDeadlineExceeded, std::to_string(i));
      });
  EXPECT_FALSE(answered);
  ASSERT_EQ(errors.size(), 6u);
  EXPECT_EQ(errors.back().message(), "5");
}

TEST_F(CallMemberTest, AnotherMachineAtAnAddressIsNotTheOneThatIsAsked) {
  rpc::ServiceForTest elsewhere;
  elsewhere.describe = []() -> Result<cluster::Description> { return Told("elsewhere"); };
  const auto server = rpc::StartServer(lap_, service_), wrong = rpc::StartServer(other_, elsewhere);
  member_.control_addresses = {wrong->addresses().front(), server->addresses().front()};
  EXPECT_EQ(ReachMember(desk_, member_, kForeverNs)->answer.version, "there");
}

TEST_F(CallMemberTest, AMemberThatRefusesIsNotCalledAtOtherAddresses) {
  service_.describe = [this]() -> Result<cluster::Description> {
    ++described_;
    return Error(Code::kPermissionDenied, "revoked");
  };
  const auto server = rpc::StartServer(lap_, service_);
  member_.control_addresses = {server->addresses().front(), "127.0.0.1:1"};
  EXPECT_EQ(ReachMember(desk_, member_, kForeverNs).error().code(), Code::kPermissionDenied);
  EXPECT_EQ(described_, 1);
}

TEST_F(CallMemberTest, AMemberWithoutAnAddressIsNotReached) {
  EXPECT_EQ(ReachMember(desk_, member_, kForeverNs).error().code(), Code::kUnavailable);
  const auto asked =
      CallMember(desk_, member_, [](rpc::ControlClient& client) { return client.GetStatus(); });
  EXPECT_THAT(asked.error().message(), testing::HasSubstr("lap has no address"));
}

}  // namespace
}  // namespace aster::node
