// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Errors if another machine than expected answers, or none.

#include "rpc/control_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "net/socket.h"
#include "rpc/rpc_for_test.h"
#include "rpc/samples_for_test.h"

namespace aster::rpc {
namespace {

using testing::AllOf;
using testing::HasSubstr;

net::Endpoint Loopback(const std::string& address) {
  return net::Resolve(net::ParseHostPort(address).value()).value().front();
}

class Client : public testing::Test {
 protected:
  void SetUp() override {
    service_.describe = [] { return SampleDescription(); };
  }

  const ClusterForTest cluster_{"home"};
  const ClusterForTest other_cluster_{"work"};
  const cluster::Identity desk_ = cluster_.NewNode("desk");
  const cluster::Identity laptop_ = cluster_.NewNode("laptop");
  ServiceForTest service_;
};

TEST_F(Client, RefusesNodesOfOtherClusters) {
  const auto server = StartServer(desk_, service_);
  const std::string& address = server->addresses().front();
  const auto client = MakeClient(other_cluster_.NewNode("laptop"), address);
  const Error error = client->Describe(kPatienceNs).error();
  EXPECT_EQ(error.code(), Code::kUnauthenticated);
  EXPECT_THAT(error.message(), AllOf(HasSubstr(address), HasSubstr("'desk'"), HasSubstr("'work'")));
}

TEST_F(Client, IsRefusedWithACertificateOfAnotherCluster) {
  const auto server = StartServer(desk_, service_);
  cluster::Identity liar = other_cluster_.NewNode("laptop");
  liar.ca_certificate = desk_.ca_certificate;
  const auto client = MakeClient(liar, server->addresses().front());
  EXPECT_FALSE(client->Describe(kPatienceNs).ok());
  EXPECT_FALSE(client->Join(SampleJoinRequest(), kPatienceNs).ok());
}

TEST_F(Client, RefusesAnotherNodeThanExpected) {
  const auto server = StartServer(desk_, service_);
  const std::string& address = server->addresses().front();
  const auto client = MakeClient(laptop_, address, laptop_.node);
  const Error error = client->Describe(kPatienceNs).error();
  EXPECT_EQ(error.code(), Code::kUnauthenticated);
  EXPECT_THAT(error.message(), AllOf(HasSubstr(address), HasSubstr(desk_.node.ToText()),
                                     HasSubstr(laptop_.node.ToText())));
}

TEST_F(Client, ReportsThatNothingListens) {
  const std::string address = [&] { return StartServer(desk_, service_)->addresses().front(); }();
  const auto client = MakeClient(laptop_, address);
  const Error error = client->Describe(kPatienceNs).error();
  EXPECT_EQ(error.code(), Code::kUnavailable);
  EXPECT_THAT(error.message(), AllOf(HasSubstr(address), HasSubstr("no program listens there")));
}

TEST_F(Client, ReportsThatNothingAnswers) {
  // The system accepts connections for a listener that does nothing.
  const net::Socket silent = net::Listen(Loopback("127.0.0.1:0")).value();
  const std::string address = net::LocalEndpoint(silent)->ToText();
  const Error error = MakeClient(laptop_, address)->Describe(200 * kNsPerMs).error();
  EXPECT_EQ(error.code(), Code::kDeadlineExceeded);
  EXPECT_THAT(error.message(), AllOf(HasSubstr(address), HasSubstr("reachable")));
}

TEST_F(Client, SaysThatWhatAnswersIsNoNode) {
  const net::Socket listener = net::Listen(Loopback("127.0.0.1:0")).value();
  std::atomic<bool> is_over = false;
  std::thread other([&] {
    while (!is_over) {
      const Result<net::Socket> socket = net::Accept(listener);
      constexpr std::string_view kHello = "220 mail.example ready\r\n";
      if (socket.ok() && socket->is_open())
        send(socket->descriptor(), kHello.data(), kHello.size(), MSG_NOSIGNAL);
      std::this_thread::yield();
    }
  });
  const std::string address = net::LocalEndpoint(listener)->ToText();
  const Error error = MakeClient(laptop_, address)->Describe(kPatienceNs).error();
  EXPECT_EQ(error.code(), Code::kUnavailable);
  EXPECT_THAT(error.message(), HasSubstr(address));
  is_over = true;
  other.join();
}

TEST_F(Client, ConnectsAgainAtOnce) {
  auto server = StartServer(desk_, service_);
  const std::string address = server->addresses().front();
  const auto client = MakeClient(laptop_, address);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(client->Describe(kPatienceNs).ok());
    server.reset();
    EXPECT_FALSE(client->Describe(kPatienceNs).ok());
    EXPECT_FALSE(client->Describe(kPatienceNs).ok());
    server = StartServer(desk_, service_, address);
  }
}

TEST_F(Client, FindsNodesByName) {
  const auto server = StartServer(desk_, service_);
  const uint16_t port = cluster::ParseHostPort(server->addresses().front())->port;
  const std::string address = "localhost:" + std::to_string(port);
  EXPECT_TRUE(MakeClient(laptop_, address)->Describe(kPatienceNs).ok());
  const Error error = MakeClient(laptop_, "no-such-host.invalid:1")->Describe(kPatienceNs).error();
  EXPECT_THAT(error.message(), HasSubstr("no-such-host.invalid"));
}

TEST_F(Client, RefusesWhatIsNoAddress) {
  for (const char* address : {"", "desk", "desk:", ":1", "a b:1", "desk:99999"})
    EXPECT_FALSE(ControlClient::Make({.identity = {}, .address = address, .expect = {}}).ok());
}

TEST_F(Client, OneAtATimeListensAtAPort) {
  const auto server = StartServer(desk_, service_);
  const Error error =
      ControlServer::Start({.identity = laptop_, .listen = {server->addresses().front()}}, service_)
          .error();
  EXPECT_THAT(error.message(),
              AllOf(HasSubstr(server->addresses().front()), HasSubstr("another program")));
  EXPECT_FALSE(ControlServer::Start({.identity = laptop_, .listen = {}}, service_).ok());
  EXPECT_FALSE(ControlServer::Start({.identity = laptop_, .listen = {"x"}}, service_).ok());
}

TEST_F(Client, ListensAtSeveralAddresses) {
  std::vector<std::string> listen = {"127.0.0.1:0", "127.0.0.2:0"};
  // Not every machine has IPv6.
  if (net::Listen(Loopback("[::1]:0")).ok()) listen.push_back("[::1]:0");
  const auto server = ControlServer::Start({.identity = desk_, .listen = listen}, service_).value();
  ASSERT_EQ(server->addresses().size(), listen.size());
  for (const std::string& address : server->addresses())
    EXPECT_TRUE(MakeClient(laptop_, address)->Describe(kPatienceNs).ok()) << address;
}

}  // namespace
}  // namespace aster::rpc
