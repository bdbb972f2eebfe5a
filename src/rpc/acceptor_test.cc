// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "rpc/acceptor.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>

namespace aster::rpc {
namespace {

constexpr int kForEverMs = 60'000;

net::Endpoint AnyPort() { return net::Resolve(net::ParseHostPort("127.0.0.1:0").value())->front(); }

// Keeps the connections that it gets, as gRPC does.
class Acceptors : public testing::Test {
 protected:
  void Start(const AcceptorOptions& options) {
    acceptor_ = std::make_unique<Acceptor>(options);
    endpoint_ = acceptor_->Listen(AnyPort()).value();
    ASSERT_TRUE(acceptor_
                    ->Start([this](int, int connection) {
                      const MutexLock lock(mu_);
                      taken_.emplace_back(connection);
                      changed_.NotifyAll();
                    })
                    .ok());
  }
  net::Socket Connect() const {
    net::Socket socket = net::BeginConnect(endpoint_).value();
    EXPECT_TRUE(Happens(socket, POLLOUT));
    return socket;
  }
  void WaitForTaken(size_t count) {
    const MutexLock lock(mu_);
    while (taken_.size() < count) changed_.Wait(mu_);
  }
  static void Send(const net::Socket& socket, size_t size) {
    const std::string bytes(size, 'x');
    ASSERT_EQ(send(socket.descriptor(), bytes.data(), size, MSG_NOSIGNAL),
              static_cast<ssize_t>(size));
  }
  static bool Happens(const net::Socket& socket, short event, int patience_ms = kForEverMs) {
    pollfd polled{.fd = socket.descriptor(), .events = event, .revents = 0};
    return poll(&polled, 1, patience_ms) == 1;
  }

  net::Endpoint endpoint_;
  Mutex mu_;
  CondVar changed_;
  std::vector<net::Socket> taken_ GUARDED_BY(mu_);
  std::unique_ptr<Acceptor> acceptor_;
};

TEST_F(Acceptors, EndTheOldestOfTooManyStrangers) {
  Start({.max_unauthenticated = 2, .patience_ns = 3600 * kNsPerSecond});
  const net::Socket first = Connect();
  WaitForTaken(1);
  const net::Socket second = Connect();
  WaitForTaken(2);
  EXPECT_FALSE(Happens(first, POLLIN, 0));
  const net::Socket third = Connect();
  EXPECT_TRUE(Happens(first, POLLIN));  // closed
  EXPECT_FALSE(Happens(second, POLLIN, 0));
}

TEST_F(Acceptors, EndStrangersWhoTakeTooLong) {
  Start({.patience_ns = 50 * kNsPerMs});
  EXPECT_TRUE(Happens(Connect(), POLLIN));
}

// For example, a header without an end for gRPC's parser.
TEST_F(Acceptors, EndStrangersWhoSendTooMuch) {
  Start({.patience_ns = 3600 * kNsPerSecond, .max_bytes = 1000});
  const net::Socket silent = Connect();
  const net::Socket talkative = Connect();
  Send(talkative, 1000);
  EXPECT_FALSE(Happens(talkative, POLLIN, 50));
  Send(talkative, 1);
  EXPECT_TRUE(Happens(talkative, POLLIN));
  EXPECT_FALSE(Happens(silent, POLLIN, 0));
}

TEST_F(Acceptors, LeaveNodesAlone) {
  Start({.max_unauthenticated = 1, .patience_ns = 50 * kNsPerMs, .max_bytes = 1000});
  const net::Socket node = Connect();
  acceptor_->Admit(RemotePeer::Of(net::LocalEndpoint(node).value()));
  WaitForTaken(1);
  acceptor_->Admit(RemotePeer::Of(net::LocalEndpoint(node).value()));
  Send(node, 2000);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Happens(Connect(), POLLIN));
  EXPECT_FALSE(Happens(node, POLLIN, 0));
}

TEST_F(Acceptors, NoticeWhatItsNewOwnerHasEnded) {
  Start({.max_unauthenticated = 2, .patience_ns = 3600 * kNsPerSecond});
  const net::Socket kept = Connect();
  WaitForTaken(1);
  for (size_t i = 2; i < 10; ++i) {
    const net::Socket ended = Connect();
    WaitForTaken(i);
    const MutexLock lock(mu_);
    shutdown(taken_.back().descriptor(), SHUT_RDWR);
    EXPECT_TRUE(Happens(ended, POLLIN));
  }
  EXPECT_FALSE(Happens(kept, POLLIN, 0));
}

TEST_F(Acceptors, TakeConnectionsAgainOnceThereAreDescriptors) {
  Start({});
  const net::Socket waiting(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(waiting.descriptor()) + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const int connected = connect(
      waiting.descriptor(), reinterpret_cast<const sockaddr*>(&endpoint_.address), endpoint_.size);
  ASSERT_TRUE(connected == 0 || errno == EINPROGRESS);
  // After this time the acceptor has most likely failed to accept it.
  EXPECT_TRUE(Happens(waiting, POLLOUT));
  SystemClock().SleepFor(50 * kNsPerMs);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  WaitForTaken(1);
}

TEST(RemotePeers, AreReadAsGrpcWritesThem) {
  const auto of = [](std::string_view text) {
    return RemotePeer::Of(net::Resolve(net::ParseHostPort(text).value())->front());
  };
  EXPECT_EQ(RemotePeer::FromText("ipv4:192.168.0.7:7777"), of("192.168.0.7:7777"));
  EXPECT_EQ(RemotePeer::FromText("ipv4:192.168.0.7:7777"), of("[::ffff:192.168.0.7]:7777"));
  EXPECT_EQ(RemotePeer::FromText("ipv6:%5B::1%5D:80"), of("[::1]:80"));
  EXPECT_EQ(RemotePeer::FromText("ipv6:[::1]:80"), of("[::1]:80"));
  EXPECT_EQ(RemotePeer::FromText("ipv6:%5Bfe80::1%25lo%5D:80"), of("[fe80::1]:80"));
  EXPECT_NE(RemotePeer::FromText("ipv6:%5B::1%5D:80"), of("[::1]:81"));
  EXPECT_NE(RemotePeer::FromText("ipv6:%5B::1%5D:80"), of("[::2]:80"));
  for (const char* bad : {"", "unix:/tmp/x", "ipv4:", "ipv4:1.2.3:4", "ipv4:host:1", "ipv6:%5B"})
    EXPECT_FALSE(RemotePeer::FromText(bad)) << bad;
}

}  // namespace
}  // namespace aster::rpc
