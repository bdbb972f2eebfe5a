// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Misbehaving callers: garbage, floods, no deadlines, giant messages, compression bombs.

#include "rpc/control_server.h"

#include <aster/cluster/v1/control.grpc.pb.h>
#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "net/socket.h"
#include "rpc/grpc_support.h"
#include "rpc/limits.h"
#include "rpc/rpc_for_test.h"
#include "rpc/samples_for_test.h"

namespace aster::rpc {
namespace {

using testing::HasSubstr;

namespace v1 = cluster::v1;

class Hostile : public testing::Test {
 protected:
  void SetUp() override {
    service_.describe = [] { return SampleDescription(); };
    service_.exchange = [](const NodeId&, const Gossip& gossip) { return gossip; };
  }
  const std::string& address() const { return server_->addresses().front(); }

  // A plain gRPC client, with a certificate of the cluster or none.
  std::unique_ptr<v1::Cluster::StubInterface> Raw(bool has_certificate = true) const {
    return v1::Cluster::NewStub(RawChannel(has_certificate));
  }
  std::shared_ptr<grpc::Channel> RawChannel(bool has_certificate) const {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = desk_.ca_certificate;
    if (has_certificate) {
      options.pem_private_key = laptop_.key;
      options.pem_cert_chain = laptop_.certificate;
    }
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride(desk_.node.value.ToHex() + ".aster");
    arguments.SetMaxSendMessageSize(-1);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);  // see client_channel.cc
    return grpc::CreateCustomChannel("ipv4:" + address(), grpc::SslCredentials(options), arguments);
  }
  net::Socket Connected() const {
    net::Socket socket =
        net::BeginConnect(net::Resolve(net::ParseHostPort(address()).value())->front()).value();
    pollfd waiting{.fd = socket.descriptor(), .events = POLLOUT, .revents = 0};
    poll(&waiting, 1, 60'000);
    return socket;
  }
  void ExpectItAnswers() {
    EXPECT_TRUE(MakeClient(laptop_, address())->Describe(kPatienceNs).ok());
  }

  const ClusterForTest cluster_;
  const cluster::Identity desk_ = cluster_.NewNode("desk");
  const cluster::Identity laptop_ = cluster_.NewNode("laptop");
  ServiceForTest service_;
  std::unique_ptr<ControlServer> server_ = StartServer(desk_, service_);
};

void SetPatience(grpc::ClientContext& context) { context.set_deadline(DeadlineIn(kPatienceNs)); }

TEST_F(Hostile, GarbageAndSilence) {
  std::vector<net::Socket> sockets;
  const std::vector<std::string> garbage = {
      "", "GET / HTTP/1.1\r\n\r\n", std::string("\x16\x03\x01\xff\xff", 5) + std::string(3000, 'x'),
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", std::string(100'000, '\0')};
  for (int i = 0; i < 8; ++i) {
    for (const std::string& bytes : garbage) {
      sockets.push_back(Connected());
      send(sockets.back().descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
  }
  ExpectItAnswers();
}

// gRPC stops listening for good when it has no descriptors left.
TEST_F(Hostile, AStrangerTakesNotTheControlPlaneAway) {
  const auto node = RawChannel(true);
  ASSERT_TRUE(node->WaitForConnected(DeadlineIn(kPatienceNs)));
  v1::Description reply;
  grpc::ClientContext context;
  SetPatience(context);
  ASSERT_TRUE(v1::Cluster::NewStub(node)->Describe(&context, {}, &reply).ok());
  std::vector<net::Socket> sockets;
  for (int i = 0; i < 200; ++i) sockets.push_back(Connected());
  // Of the silent connections only the last ones are still open.
  for (size_t i = 0; i + 32 < sockets.size(); ++i) {
    pollfd ended{.fd = sockets[i].descriptor(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&ended, 1, 60'000), 1) << i;
  }
  EXPECT_EQ(node->GetState(false), GRPC_CHANNEL_READY);
  ExpectItAnswers();
}

TEST_F(Hostile, StrangersWithoutACertificateDoNotStay) {
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int i = 0; i < 40; ++i) {
    channels.push_back(RawChannel(false));
    ASSERT_TRUE(channels.back()->WaitForConnected(DeadlineIn(kPatienceNs)));
  }
  for (size_t i = 0; i < 8; ++i) {
    while (channels[i]->GetState(false) == GRPC_CHANNEL_READY)
      ASSERT_TRUE(channels[i]->WaitForStateChange(GRPC_CHANNEL_READY, DeadlineIn(kPatienceNs)));
  }
  ExpectItAnswers();
}

// The hello of a program that knows nothing newer than TLS 1.2.
TEST_F(Hostile, OldTlsIsRefused) {
  std::string hello = "\x16\x03\x01" + std::string(1, 0) + "\x47" + "\x01" + std::string(2, 0) +
                      "\x43" + "\x03\x03" + std::string(32, 'r') + std::string(1, 0);
  hello += std::string("\x00\x04\xc0\x2b\xc0\x2c\x01\x00", 8);  // suites of ECDSA, no compression
  hello += std::string("\x00\x16", 2);                          // extensions:
  hello += std::string("\x00\x0a\x00\x04\x00\x02\x00\x17", 8);  // P-256,
  hello += std::string("\x00\x0d\x00\x04\x00\x02\x04\x03", 8);  // signatures by it
  hello += std::string("\x00\x0b\x00\x02\x01\x00", 6);          // and its points
  const net::Socket socket = Connected();
  ASSERT_EQ(send(socket.descriptor(), hello.data(), hello.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(hello.size()));
  pollfd answered{.fd = socket.descriptor(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&answered, 1, 60'000), 1);
  char kind = 0;
  const ssize_t received = recv(socket.descriptor(), &kind, 1, 0);
  EXPECT_TRUE(received <= 0 || kind == '\x15') << int{kind};  // closed, or an alert before that
}

TEST_F(Hostile, CallsWithoutADeadlineOrWithOneTooFarAway) {
  const auto raw = Raw();
  v1::Description reply;
  grpc::ClientContext never;
  grpc::Status status = raw->Describe(&never, {}, &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("deadline"));
  grpc::ClientContext tomorrow;
  tomorrow.set_deadline(DeadlineIn(86'400 * kNsPerSecond));
  EXPECT_EQ(raw->Describe(&tomorrow, {}, &reply).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  grpc::ClientContext soon;
  SetPatience(soon);
  EXPECT_TRUE(raw->Describe(&soon, {}, &reply).ok());
}

TEST_F(Hostile, GiantMessages) {
  std::atomic<bool> was_asked = false;
  service_.exchange = [&](const NodeId&, const Gossip& gossip) {
    was_asked = true;
    return gossip;
  };
  v1::Gossip giant;
  giant.set_revocations(std::string(20 << 20, 'x'));
  v1::Gossip reply;
  const auto node = Raw();
  grpc::ClientContext known;
  SetPatience(known);
  v1::Description description;
  EXPECT_TRUE(node->Describe(&known, {}, &description).ok());
  grpc::ClientContext context;
  SetPatience(context);
  EXPECT_EQ(node->Exchange(&context, giant, &reply).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  // A request of an unauthenticated caller is not even read.
  grpc::ClientContext of_a_stranger;
  SetPatience(of_a_stranger);
  EXPECT_EQ(Raw(false)->Exchange(&of_a_stranger, giant, &reply).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  v1::JoinRequest request;
  request.set_certificate_request(std::string(20 << 20, 'x'));
  v1::JoinReply join_reply;
  grpc::ClientContext joining;
  SetPatience(joining);
  // It is too long, or the connection ends because of the bytes received so far.
  EXPECT_FALSE(Raw(false)->Join(&joining, request, &join_reply).ok());
  EXPECT_FALSE(was_asked);
  ExpectItAnswers();
}

TEST_F(Hostile, MessagesThatWouldGrowWhenUnpacked) {
  v1::Gossip bomb;
  bomb.set_revocations(std::string(100'000, 'x'));
  for (const auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    grpc::ClientContext context;
    SetPatience(context);
    context.set_compression_algorithm(algorithm);
    v1::Gossip reply;
    EXPECT_FALSE(Raw()->Exchange(&context, bomb, &reply).ok());
  }
  ExpectItAnswers();
}

TEST_F(Hostile, ValuesThatCannotBe) {
  v1::Gossip gossip;
  gossip.add_members()->set_name("\x1b[2J");
  v1::Gossip reply;
  grpc::ClientContext context;
  SetPatience(context);
  const grpc::Status status = Raw()->Exchange(&context, gossip, &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message().find('\x1b'), std::string::npos);
  v1::FetchTensorRequest request;
  request.set_tensor(std::string(100'000, 'x'));
  grpc::ClientContext fetching;
  SetPatience(fetching);
  v1::Piece piece;
  const auto reader = Raw()->FetchTensor(&fetching, request);
  EXPECT_FALSE(reader->Read(&piece));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(Hostile, RevokedNodesAreAskedNothing) {
  service_.admit = [&](const NodeId& from) -> Status {
    EXPECT_EQ(from, laptop_.node);
    return Error(Code::kPermissionDenied, "laptop was revoked");
  };
  std::atomic<bool> was_asked = false;
  service_.exchange = [&](const NodeId&, const Gossip& gossip) {
    was_asked = true;
    return gossip;
  };
  const auto client = MakeClient(laptop_, address());
  for (const Error& error :
       {client->Exchange({}, kPatienceNs).error(), client->Describe(kPatienceNs).error(),
        client->Measure(0, kPatienceNs).error(), client->FetchManifest({}).error()}) {
    EXPECT_EQ(error.code(), Code::kPermissionDenied);
    EXPECT_THAT(error.message(), HasSubstr("laptop was revoked"));
  }
  EXPECT_FALSE(was_asked);
  // The change holds from the next call on, also on the existing connection.
  service_.admit = nullptr;
  EXPECT_TRUE(client->Exchange({}, kPatienceNs).ok());
}

TEST_F(Hostile, NoClientCanTakeAllCallSlots) {
  service_.tensor = [](const Hash128&, std::string_view, uint64_t, const ByteSink& sink) -> Status {
    const std::vector<uint8_t> bytes(100'000);
    for (;;) TRY(sink(bytes));
  };
  // Streams whose client reads only the first piece.
  const auto raw = Raw();
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReaderInterface<v1::Piece>>> readers;
  v1::Piece piece;
  for (int i = 0; i < kMaxCallsPerNode; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    SetPatience(*contexts.back());
    readers.push_back(raw->FetchTensor(contexts.back().get(), {}));
    ASSERT_TRUE(readers.back()->Read(&piece));
  }
  const Error error = MakeClient(laptop_, address())->Describe(kPatienceNs).error();
  EXPECT_EQ(error.code(), Code::kResourceExhausted);
  EXPECT_TRUE(MakeClient(cluster_.NewNode("tower"), address())->Describe(kPatienceNs).ok());
  for (const auto& context : contexts) context->TryCancel();
  for (const auto& reader : readers) {
    while (reader->Read(&piece)) {
    }
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  // Its slots are free as soon as the server has noticed.
  while (!MakeClient(laptop_, address())->Describe(kPatienceNs).ok()) std::this_thread::yield();
}

TEST_F(Hostile, ManyCallsAtOnce) {
  std::vector<std::thread> callers;
  const auto shared = MakeClient(laptop_, address());
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&, i] {
      const auto own = MakeClient(laptop_, address());
      for (int call = 0; call < 20; ++call) {
        ControlClient& client = call % 2 == 0 ? *own : *shared;
        Gossip gossip{.members = {SampleMember(i * 100 + call + 1)},
                      .revocations_serial = 0,
                      .revocations = ""};
        const Result<Gossip> reply = client.Exchange(gossip, kPatienceNs);
        if (reply.ok() && reply->members == gossip.members) ++good;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(good, 8 * 20);
}

}  // namespace
}  // namespace aster::rpc
