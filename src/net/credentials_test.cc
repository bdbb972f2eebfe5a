// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which peers are admitted if certificates decide: wrong ones of every kind, right ones of other
// owners, revoked nodes, and front ends, which share the certificate of their machine's node.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "net/cluster_for_test.h"
#include "net/handshake.h"
#include "net/hostile_peer_for_test.h"
#include "net/openssl_ptr.h"
#include "net/tcp_network.h"

namespace aster::net {
namespace {

using ::testing::HasSubstr;
using wire::NodeId;

constexpr int64_t kHourS = 3600;

int64_t NowS() { return SystemClock().WallNs() / kNsPerSecond; }

// What a TLS client shows. It accepts any server.
struct Shown {
  std::string certificate = {};  // empty: none
  std::string key = {};
  std::string issuer = {};  // sent along, as an intermediate certificate
  int version = TLS1_3_VERSION;
};

// The reason for which a node refuses such a client, as the client receives it; empty if none.
std::string RefusalOfShown(const std::string& address, const Shown& shown) {
  const Endpoint endpoint = Resolve(ParseHostPort(address).value()).value().front();
  const Socket socket = BeginConnect(endpoint).value();
  pollfd connected{socket.descriptor(), POLLOUT, 0};
  CHECK(poll(&connected, 1, 60'000) == 1);
  CHECK(fcntl(socket.descriptor(), F_SETFL, 0) == 0);  // blocking from here on
  const SslContextPtr context(SSL_CTX_new(TLS_method()));
  SSL_CTX_set_min_proto_version(context.get(), shown.version);
  SSL_CTX_set_max_proto_version(context.get(), shown.version);
  if (!shown.certificate.empty()) {
    const CertificatePtr certificate = ReadCertificate(shown.certificate, "test").value();
    const KeyPtr key = ReadKey(shown.key, "test").value();
    CHECK(SSL_CTX_use_certificate(context.get(), certificate.get()) == 1);
    CHECK(SSL_CTX_use_PrivateKey(context.get(), key.get()) == 1);
  }
  if (!shown.issuer.empty()) {
    CertificatePtr issuer = ReadCertificate(shown.issuer, "test").value();
    CHECK(SSL_CTX_add_extra_chain_cert(context.get(), issuer.release()) == 1);
  }
  const SslPtr ssl(SSL_new(context.get()));
  CHECK(SSL_set_fd(ssl.get(), socket.descriptor()) == 1);
  if (SSL_connect(ssl.get()) != 1) return TakeOpensslErrors();
  // In TLS 1.3 the client's handshake ends before the server has seen its certificate: the client
  // receives an alert, or nothing until it sends Hello.
  pollfd waiting{socket.descriptor(), POLLIN, 0};
  if (poll(&waiting, 1, 2000) == 0) return "";
  char byte = 0;
  size_t count = 0;
  if (SSL_read_ex(ssl.get(), &byte, 1, &count) == 1) return "";
  const std::string why = TakeOpensslErrors();
  return why.empty() ? "closed" : why;
}

class CertifiedTest : public ::testing::Test {
 protected:
  std::string address() const { return ann_->addresses().front(); }
  void ExpectStillGood() {
    const auto bob = cluster_.Start("bob");
    bob->Introduce(ann_->self(), ann_->addresses());
    ASSERT_TRUE(bob->Send(ann_->self(), wire::CloseRoute{77}).ok());
    EXPECT_EQ(Next(*ann_).kind, Event::Kind::kUp);
    EXPECT_EQ(RouteOf(Next(*ann_)), 77U);
  }
  NodeId NodeOf(const std::string& name) {
    return NodeIdOfCertificate(cluster_.CredentialsOf(name).certificate).value();
  }
  Introduction IntroductionOf(const std::string& name) {
    return {.node = NodeOf(name),
            .name = name,
            .arithmetic = 1,
            .max_frame_bytes = 1 << 20,
            .credit_bytes = 1 << 20,
            .password = {},
            .instance = {}};
  }
  // A front end on the machine with this name.
  std::unique_ptr<TcpNetwork> StartInstance(const std::string& name, uint8_t fill,
                                            bool listens = false) {
    return cluster_.Start(name, [&](TcpOptions& options) {
      options.credentials.instance.assign(kInstanceBytes, fill);
      if (!listens) options.listen.clear();
    });
  }

  TestCluster cluster_{true};
  std::unique_ptr<TcpNetwork> ann_ = cluster_.Start("ann");
};

TEST_F(CertifiedTest, WrongCertificatesOfEveryKindAreRefused) {
  const Credentials& eve = cluster_.CredentialsOf("eve");
  const auto certify = [&](int64_t begin_s, int64_t end_s) {
    return cluster_.CertifyKey(eve.key, "eve", {begin_s, end_s});
  };
  ASSERT_EQ(RefusalOfShown(address(), {eve.certificate, eve.key}), "") << "the right one is taken";
  EXPECT_THAT(RefusalOfShown(address(), {}), HasSubstr("certificate required"));
  EXPECT_THAT(RefusalOfShown(address(), {certify(NowS() - 2 * kHourS, NowS() - kHourS), eve.key}),
              HasSubstr("certificate expired"));
  EXPECT_THAT(RefusalOfShown(address(), {certify(NowS() + kHourS, NowS() + 2 * kHourS), eve.key}),
              HasSubstr("alert"));
  // A certificate of another cluster, one with a foreign authority sent along, and a self-signed
  // one.
  TestCluster other(true);
  const Credentials& stranger = other.CredentialsOf("ann");
  EXPECT_THAT(RefusalOfShown(address(), {stranger.certificate, stranger.key}), HasSubstr("alert"));
  EXPECT_THAT(RefusalOfShown(address(), {stranger.certificate, stranger.key, stranger.authority}),
              HasSubstr("alert"));
  const Validity validity{NowS() - kHourS, NowS() + kHourS};
  EXPECT_THAT(
      RefusalOfShown(address(), {MakeAuthority(eve.key, "test", validity).value(), eve.key}),
      HasSubstr("alert"));
  // A node that acts as an authority: its signatures are worth nothing.
  const std::string key = MakePrivateKey().value();
  const Result<std::string> forged =
      Certify(eve.certificate, eve.key, MakeRequest(key, "mallory").value(), "mallory", validity);
  if (forged.ok()) {
    EXPECT_THAT(RefusalOfShown(address(), {*forged, key, eve.certificate}), HasSubstr("alert"));
  }
  EXPECT_NE(RefusalOfShown(address(), {eve.certificate, eve.key, "", TLS1_2_VERSION}), "");
  EXPECT_FALSE(ann_->Receive(ann_->clock().NowNs())) << "no peer was accepted";
  ExpectStillGood();
}

TEST_F(CertifiedTest, AReplayedHelloIsWorthNothing) {
  // Eve, a member, sends bob's Hello: as the node, and as a front end on it.
  Introduction bob = IntroductionOf("bob");
  for (const bool is_instance : {false, true}) {
    if (is_instance) {
      bob.instance.assign(kInstanceBytes, 7);
      bob.node = InstanceOf(NodeOf("bob"), bob.instance);
    }
    HostilePeer eve(address(), cluster_.CredentialsOf("eve"));
    eve.Send(MakeHello(bob));
    EXPECT_THAT(eve.GoodbyeReason(), HasSubstr("and its certificate says"));
  }
  EXPECT_FALSE(ann_->Receive(ann_->clock().NowNs()));
  ExpectStillGood();
}

TEST_F(CertifiedTest, HalfOpenAndSlowPeersAreDisconnected) {
  ann_ = cluster_.Start("ann", [](TcpOptions& options) { options.handshake_ns = 200 * kNsPerMs; });
  HostilePeer silent(address(), cluster_.CredentialsOf("eve"));
  HostilePeer slow(address(), cluster_.CredentialsOf("eve"));
  const wire::Frame hello = wire::Encode(MakeHello(IntroductionOf("eve")));
  for (size_t i = 0; i + 1 < hello.head.size(); ++i) {
    slow.SendBytes(Bytes(hello.head).subspan(i, 1));
    SystemClock().SleepFor(4 * kNsPerMs);
  }
  EXPECT_THAT(silent.GoodbyeReason(), HasSubstr("does not say Hello within 200 ms"));
  EXPECT_TRUE(slow.IsHungUpOn());
  // Only the beginning of a TLS handshake.
  HostilePeer half(address());
  half.SendBytes(std::vector<uint8_t>{22, 3, 1, 2, 0, 1});
  EXPECT_TRUE(half.IsHungUpOn());
}

TEST_F(CertifiedTest, NodesOfTheFirstProtocolGetNothingElse) {
  HostilePeer old(address(), cluster_.CredentialsOf("bob"));
  wire::Hello hello = MakeHello(IntroductionOf("bob"));
  hello.newest_protocol = 1;
  old.Send(hello);
  ASSERT_EQ(Next(*ann_).kind, Event::Kind::kUp);
  ASSERT_TRUE(ann_->Send(NodeOf("bob"), wire::CloseRoute{5}).ok());
  // HostilePeer reads every version; checks that of the received frames.
  const std::optional<wire::Message> greeting = old.ReceiveMore();
  ASSERT_TRUE(greeting && std::holds_alternative<wire::Hello>(*greeting));
  EXPECT_EQ(old.last_version(), 1);
  const std::optional<wire::Message> message = old.ReceiveMore();
  ASSERT_TRUE(message && std::holds_alternative<wire::CloseRoute>(*message));
  EXPECT_EQ(old.last_version(), 1);
}

// --- Front ends.

TEST_F(CertifiedTest, FrontEndsAndTheirNodeAreThreeToOthers) {
  const auto node = cluster_.Start("bob");
  const auto first = StartInstance("bob", 1);
  const auto second = StartInstance("bob", 2);
  EXPECT_EQ(node->self(), NodeOf("bob"));
  EXPECT_EQ(first->self(), InstanceOf(NodeOf("bob"), std::vector<uint8_t>(kInstanceBytes, 1)));
  uint64_t route = 0;
  for (const auto& network : {&node, &first, &second}) {
    (*network)->Introduce(ann_->self(), ann_->addresses());
    ASSERT_TRUE((*network)->Send(ann_->self(), wire::CloseRoute{++route}).ok());
    const Event up = Next(*ann_);
    EXPECT_EQ(up.kind, Event::Kind::kUp);
    EXPECT_EQ(up.from, (*network)->self());
    EXPECT_EQ(RouteOf(Next(*ann_)), route);
  }
  for (const auto& network : {&node, &first, &second}) {
    ASSERT_TRUE(ann_->Send((*network)->self(), wire::CloseRoute{9}).ok());
    EXPECT_EQ(Next(**network).kind, Event::Kind::kUp);
    EXPECT_EQ(RouteOf(Next(**network)), 9U);
  }
  // When one leaves, the others stay.
  for (const PeerStatus& peer : ann_->Peers()) EXPECT_EQ(peer.machine, NodeOf("bob"));
}

TEST_F(CertifiedTest, FrontEndsThatLeaveAreForgotten) {
  auto front = StartInstance("bob", 1);
  front->Introduce(ann_->self(), ann_->addresses());
  EXPECT_EQ(Next(*ann_).kind, Event::Kind::kUp);
  EXPECT_EQ(ann_->Peers().size(), 1U);
  front.reset();
  EXPECT_EQ(Next(*ann_).kind, Event::Kind::kDown);
  EXPECT_TRUE(ann_->Peers().empty());
  // One with an address is kept: it may come back.
  const auto carol = cluster_.Start("carol");
  ann_->Introduce(carol->self(), carol->addresses());
  EXPECT_EQ(Next(*ann_).kind, Event::Kind::kUp);
  ann_->Disconnect(carol->self(), Error(Code::kAborted, "enough"));
  EXPECT_EQ(Next(*ann_).kind, Event::Kind::kDown);
  EXPECT_EQ(ann_->Peers().size(), 1U);
}

TEST_F(CertifiedTest, FrontEndsOfOneMachineLeaveRoomForOthers) {
  ann_ = cluster_.Start("ann", [](TcpOptions& options) {
    options.max_connections = 3;
    options.max_of_machine = 2;
  });
  const auto first = StartInstance("bob", 1);
  const auto second = StartInstance("bob", 2);
  for (const auto& network : {&first, &second}) {
    (*network)->Introduce(ann_->self(), ann_->addresses());
    EXPECT_EQ(Next(*ann_).kind, Event::Kind::kUp);
  }
  const auto third = StartInstance("bob", 3);
  third->Introduce(ann_->self(), ann_->addresses());
  EXPECT_THAT(Next(*third).why.error().message(), HasSubstr("2 programs of this machine"));
  const auto carol = cluster_.Start("carol");
  carol->Introduce(ann_->self(), ann_->addresses());
  EXPECT_EQ(Next(*ann_).from, carol->self());
}

TEST_F(CertifiedTest, AFrontEndTalksToTheNodeOfItsOwnMachine) {
  const auto front = StartInstance("ann", 1, /*listens=*/true);
  front->Introduce(ann_->self(), ann_->addresses());
  ASSERT_TRUE(front->Send(ann_->self(), wire::CloseRoute{1}).ok());
  EXPECT_EQ(Next(*ann_).from, front->self());
  EXPECT_EQ(RouteOf(Next(*ann_)), 1U);
  // A front end is reached where it listens, also by other nodes.
  const auto bob = cluster_.Start("bob");
  bob->Introduce(front->self(), front->addresses());
  EXPECT_EQ(Next(*bob).kind, Event::Kind::kUp);
  // A connection that is meant for the node does not accept its front end.
  const auto carol = cluster_.Start("carol");
  carol->Introduce(NodeOf("ann"), front->addresses());
  EXPECT_THAT(Next(*carol).why.error().message(), HasSubstr("its address has changed"));
}

TEST_F(CertifiedTest, ARevokedNodeTakesItsFrontEndsWithIt) {
  std::atomic<bool> is_revoked = false;
  const NodeId bob = NodeOf("bob");
  ann_ = cluster_.Start("ann", [&](TcpOptions& options) {
    options.admit = [&](const NodeId& node) -> Status {
      if (is_revoked && node == bob) return Error(Code::kPermissionDenied, "it was revoked");
      return Ok();
    };
  });
  const auto node = cluster_.Start("bob");
  const auto front = StartInstance("bob", 1);
  const auto carol = StartInstance("carol", 1);
  for (const auto& network : {&node, &front, &carol}) {
    (*network)->Introduce(ann_->self(), ann_->addresses());
    ASSERT_EQ(Next(*ann_).kind, Event::Kind::kUp);
    ASSERT_EQ(Next(**network).kind, Event::Kind::kUp);
  }
  is_revoked = true;
  ann_->Disconnect(bob, Error(Code::kPermissionDenied, "it was revoked"));
  std::set<NodeId> down;
  for (int i = 0; i < 2; ++i) {
    const Event event = Next(*ann_);
    EXPECT_EQ(event.kind, Event::Kind::kDown);
    down.insert(event.from);
  }
  EXPECT_EQ(down, (std::set<NodeId>{node->self(), front->self()}));
  for (const auto& network : {&node, &front}) {
    EXPECT_THAT(Next(**network).why.error().message(), HasSubstr("it was revoked"));
    // They cannot connect again, with any identity.
    (*network)->Introduce(ann_->self(), ann_->addresses());
    EXPECT_EQ(Next(**network).kind, Event::Kind::kDown);
  }
  const auto another = StartInstance("bob", 2);
  another->Introduce(ann_->self(), ann_->addresses());
  EXPECT_THAT(Next(*another).why.error().message(), HasSubstr("it was revoked"));
  ASSERT_TRUE(carol->Send(ann_->self(), wire::CloseRoute{3}).ok());
  EXPECT_EQ(RouteOf(Next(*ann_)), 3U);
}

}  // namespace
}  // namespace aster::net
