// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A node with misbehaving peers: it stays up, reports why it closes connections, allocates no
// memory for bytes that never come, and still talks to other nodes.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "base/random.h"
#include "net/cluster_for_test.h"
#include "net/handshake.h"
#include "net/hostile_peer_for_test.h"
#include "net/tcp_network.h"

namespace aster::net {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class HostileTest : public ::testing::Test {
 protected:
  // It still runs, and talks to well-behaved peers.
  void ExpectStillGood() {
    const auto bob = cluster_.Start("bob");
    bob->Introduce(ann_->self(), ann_->addresses());
    ASSERT_TRUE(bob->Send(ann_->self(), wire::CloseRoute{77}).ok());
    for (;;) {
      const Event event = Next(*ann_);
      if (event.from != bob->self() || event.kind != Event::Kind::kMessage) continue;
      EXPECT_EQ(RouteOf(event), 77U);
      break;
    }
  }
  std::string address() const { return ann_->addresses().front(); }
  Introduction EveIntroduction() {
    const Credentials& eve = cluster_.CredentialsOf("eve");
    return {.node = eve.node,
            .name = "eve",
            .arithmetic = 1,
            .max_frame_bytes = 1 << 20,
            .credit_bytes = 1 << 20,
            .password = eve.password};
  }
  // An authenticated peer.
  HostilePeer Eve() {
    HostilePeer eve(address());
    eve.Send(MakeHello(EveIntroduction()));
    const std::optional<wire::Message> hello = eve.ReceiveMore();
    CHECK(hello && std::holds_alternative<wire::Hello>(*hello));
    CHECK(Next(*ann_).kind == Event::Kind::kUp);
    return eve;
  }
  std::string DownReason() {
    const Event down = Next(*ann_);
    return down.kind == Event::Kind::kDown ? down.why.error().message() : "";
  }

  TestCluster cluster_{false};
  std::unique_ptr<TcpNetwork> ann_ = cluster_.Start("ann", [](TcpOptions& options) {
    options.max_frame_bytes = 64 << 20;
    options.credit_bytes = 1 << 20;
    options.max_unauthenticated = 8;
    options.heartbeat_ns = 50 * kNsPerMs;
  });
};

TEST_F(HostileTest, Garbage) {
  Random random(1);
  for (int i = 0; i < 20; ++i) {
    HostilePeer eve(address());
    std::vector<uint8_t> bytes(1 + random.NextBelow(5000));
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.NextU32());
    bytes.resize(std::max<size_t>(bytes.size(), wire::kHeaderBytes));
    eve.SendBytes(bytes);
    EXPECT_THAT(eve.GoodbyeReason(), HasSubstr("another program"));
  }
  HostilePeer browser(address());
  browser.SendBytes(AsBytes("GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: x\r\n\r\n"));
  EXPECT_TRUE(browser.IsHungUpOn());
  ExpectStillGood();
}

TEST_F(HostileTest, GarbageAfterHello) {
  HostilePeer eve = Eve();
  eve.SendBytes(std::vector<uint8_t>(100, 0xff));
  EXPECT_THAT(DownReason(), HasSubstr("does not speak this protocol"));
  EXPECT_THAT(eve.GoodbyeReason(), HasSubstr("does not speak this protocol"));
  ExpectStillGood();
}

TEST_F(HostileTest, FramesReplayedBeforeHello) {
  wire::Work work;
  work.rows.resize(1000);
  for (const wire::Message& message :
       {wire::Message(work), wire::Message(wire::OpenRoute{}), wire::Message(wire::Begin{}),
        wire::Message(wire::Ping{1}), wire::Message(wire::Credit{1})}) {
    HostilePeer eve(address());
    eve.Send(message);
    EXPECT_THAT(eve.GoodbyeReason(), HasSubstr("before Hello"));
  }
  EXPECT_FALSE(ann_->Receive(ann_->clock().NowNs())) << "nothing of that came through";
  ExpectStillGood();
}

TEST_F(HostileTest, GiantLengthsCostNothing) {
  const auto announce = [](uint32_t body_bytes, uint64_t payload_bytes) {
    wire::FrameHeader header = wire::MakeHeader(wire::FrameType::kWork, 1, {}, {}, false);
    header.body_bytes = body_bytes;
    header.payload_bytes = payload_bytes;
    std::vector<uint8_t> bytes(wire::kHeaderBytes);
    wire::WriteHeader(header, bytes.data());
    return bytes;
  };
  for (const auto& [body, payload] : {std::pair<uint32_t, uint64_t>(0xffffffff, 0),
                                      {0, ~uint64_t{0}},
                                      {100, uint64_t{65} << 20}}) {
    HostilePeer eve = Eve();
    eve.SendBytes(announce(body, payload));
    EXPECT_THAT(DownReason(), HasSubstr("are taken at most"));
    EXPECT_TRUE(eve.IsHungUpOn());
  }
  // Allowed sizes that are never sent: memory is allocated as bytes come.
  std::vector<HostilePeer> waiting;
  for (int i = 0; i < 5; ++i) {
    HostilePeer stranger(address());
    stranger.SendBytes(announce(wire::kMaxGreetingBytes, 0));
    waiting.push_back(std::move(stranger));
  }
  HostilePeer eve = Eve();
  eve.SendBytes(announce(0, 60 << 20));
  ExpectStillGood();
}

TEST_F(HostileTest, WithoutDescriptorsItWarnsOnceAndTakesConnectionsLater) {
  HostilePeer eve = Eve();
  Mutex mu;
  CondVar warned;
  int warnings = 0;
  log::SetSink([&](std::string_view line) {
    if (line.find("cannot take a connection") == line.npos) return;
    const MutexLock lock(mu);
    ++warnings;
    warned.NotifyAll();
  });
  // Its descriptor is the last one.
  const Endpoint endpoint = Resolve(ParseHostPort(address()).value())->front();
  Socket late(socket(endpoint.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(late.descriptor()) + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_EQ(connect(late.descriptor(), reinterpret_cast<const sockaddr*>(&endpoint.address),
                    endpoint.size),
            0);
  {
    const MutexLock lock(mu);
    while (warnings == 0) warned.Wait(mu);
  }
  // Many rounds of the loop, with a connection that waits.
  for (uint64_t i = 0; i < 500; ++i) {
    eve.Send(wire::CloseRoute{i});
    EXPECT_EQ(RouteOf(Next(*ann_)), i);
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ExpectStillGood();
  log::SetSink({});
  EXPECT_EQ(warnings, 1);
}

TEST_F(HostileTest, DamagedFrames) {
  HostilePeer eve = Eve();
  wire::Work work;
  work.rows.resize(1000);
  wire::Frame frame = wire::Encode(std::move(work));
  frame.payload[500] ^= 1;
  eve.SendBytes(frame.head);
  eve.SendBytes(frame.payload);
  EXPECT_THAT(DownReason(), HasSubstr("damaged on the way"));
  EXPECT_THAT(eve.GoodbyeReason(), HasSubstr("damaged on the way"));
}

TEST_F(HostileTest, ASecondHelloAndCreditThatWasNeverUsed) {
  {
    HostilePeer eve = Eve();
    eve.Send(MakeHello(EveIntroduction()));
    EXPECT_THAT(DownReason(), HasSubstr("a second Hello"));
  }
  HostilePeer eve = Eve();
  eve.Send(wire::Credit{1});
  EXPECT_THAT(DownReason(), HasSubstr("claims to have consumed 1 bytes, where 0"));
}

TEST_F(HostileTest, MoreThanItsCredit) {
  HostilePeer eve = Eve();
  for (int i = 0; i < 40; ++i) {
    wire::Work work;
    work.rows.resize(100'000);
    eve.Send(std::move(work));
  }
  EXPECT_THAT(eve.GoodbyeReason(), HasSubstr("more than its credit of 1048576"));
  // Messages within the limit are delivered.
  int messages = 0;
  for (;;) {
    const Event event = Next(*ann_);
    if (event.kind == Event::Kind::kDown) break;
    ++messages;
  }
  EXPECT_EQ(messages, 10);
}

TEST_F(HostileTest, AnsweringForOthers) {
  // A peer knows the password and takes the identity of another, which is told and can connect
  // again.
  Introduction own = EveIntroduction();
  own.node = ann_->self();
  HostilePeer eve(address());
  eve.Send(MakeHello(own));
  EXPECT_THAT(eve.GoodbyeReason(), HasSubstr("this node's own identity"));
}

TEST_F(HostileTest, FarAwayVersions) {
  wire::Hello hello = MakeHello(EveIntroduction());
  hello.oldest_protocol = 105;
  hello.newest_protocol = 106;
  HostilePeer eve(address());
  eve.Send(hello);
  EXPECT_THAT(eve.GoodbyeReason(), HasSubstr("speaks protocols 1 to "));
  hello.oldest_protocol = 1;
  HostilePeer newer(address());
  newer.Send(hello);
  ASSERT_TRUE(newer.ReceiveMore().has_value()) << "one version in common is enough";
}

TEST_F(HostileTest, TheOldestStrangerGoesWhenThereAreTooMany) {
  std::vector<HostilePeer> strangers;
  for (int i = 0; i < 30; ++i) strangers.emplace_back(address());
  EXPECT_TRUE(strangers.front().IsHungUpOn());
  ExpectStillGood();
}

TEST_F(HostileTest, ManyRequestsWithoutReadingTheReplies) {
  HostilePeer eve = Eve();
  // More replies than the sockets can hold: at some point the connection is closed.
  const wire::Frame ping = wire::Encode(wire::Ping{1});
  std::vector<uint8_t> many;
  for (int i = 0; i < 1000; ++i) many.insert(many.end(), ping.head.begin(), ping.head.end());
  for (int i = 0; i < 400; ++i) eve.SendBytes(many);
  EXPECT_THAT(DownReason(), HasSubstr("does not read the answers"));
}

TEST(Deadlines, APeerWithoutHelloInTimeIsDisconnected) {
  for (const bool has_tls : {false, true}) {
    TestCluster cluster(has_tls);
    const auto ann =
        cluster.Start("ann", [](TcpOptions& options) { options.handshake_ns = 100 * kNsPerMs; });
    HostilePeer silent(ann->addresses().front());
    HostilePeer half(ann->addresses().front());
    half.SendBytes(AsBytes("A"));
    HostilePeer slow(ann->addresses().front());
    const wire::Frame hello = wire::Encode(wire::Hello{});
    for (size_t i = 0; i < hello.head.size(); ++i) {
      slow.SendBytes(Bytes(hello.head).subspan(i, 1));
      SystemClock().SleepFor(3 * kNsPerMs);
    }
    const std::string farewell = silent.GoodbyeReason();
    if (!has_tls) {
      EXPECT_THAT(farewell, HasSubstr("it does not say Hello within 100 ms"));
    }
    EXPECT_TRUE(half.IsHungUpOn());
    EXPECT_TRUE(slow.IsHungUpOn());
  }
}

TEST(Deadlines, APeerThatDoesNotAnswerAHelloIsDown) {
  // A listener that accepts connections and does nothing else.
  const Socket listener = Listen(Resolve(ParseHostPort("127.0.0.1:0").value()).value()[0]).value();
  TestCluster cluster(false);
  const auto ann =
      cluster.Start("ann", [](TcpOptions& options) { options.handshake_ns = 100 * kNsPerMs; });
  ann->Introduce({{5, 5}}, {LocalEndpoint(listener)->ToText()});
  EXPECT_THAT(Next(*ann).why.error().message(), HasSubstr("does not say Hello within 100 ms"));
}

// A node in a process of its own; it first sends its address and then replies to every CloseRoute.
pid_t StartProcess(TestCluster& cluster, std::string& address) {
  int ends[2];
  CHECK(pipe2(ends, O_CLOEXEC) == 0);
  const Credentials credentials = cluster.CredentialsOf("bob");
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    const auto bob = cluster.Start("bob");
    const std::string where = bob->addresses().front() + "\n";
    CHECK(write(ends[1], where.data(), where.size()) == static_cast<ssize_t>(where.size()));
    for (;;) {
      const Event event = Next(*bob);
      if (event.kind == Event::Kind::kMessage) {
        CHECK(bob->Send(event.from, wire::Message(event.message)).ok());
      }
    }
  }
  close(ends[1]);
  for (char c = 0; read(ends[0], &c, 1) == 1 && c != '\n';) address += c;
  close(ends[0]);
  return child;
}

class ProcessTest : public ::testing::TestWithParam<int> {};

TEST_P(ProcessTest, APeerThatIsKilledOrStoppedIsDown) {
  TestCluster cluster(true);
  std::string address;
  const pid_t child = StartProcess(cluster, address);
  const auto ann = cluster.Start("ann", [](TcpOptions& options) {
    options.heartbeat_ns = 100 * kNsPerMs;
    options.silence_ns = 1500 * kNsPerMs;
  });
  const wire::NodeId bob = NodeIdOfCertificate(cluster.CredentialsOf("bob").certificate).value();
  ann->Introduce(bob, {address});
  ASSERT_EQ(Next(*ann).kind, Event::Kind::kUp);
  ASSERT_TRUE(ann->Send(bob, wire::CloseRoute{3}).ok());
  EXPECT_EQ(RouteOf(Next(*ann)), 3U);
  ASSERT_EQ(kill(child, GetParam()), 0);
  const Event down = Next(*ann);
  EXPECT_EQ(down.kind, Event::Kind::kDown);
  EXPECT_THAT(down.why.error().message(),
              AnyOf(HasSubstr("without a word"), HasSubstr("nothing was heard for")));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

INSTANTIATE_TEST_SUITE_P(Signals, ProcessTest, ::testing::Values(SIGKILL, SIGSTOP));

}  // namespace
}  // namespace aster::net
