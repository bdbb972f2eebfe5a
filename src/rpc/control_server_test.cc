// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Every call between a real client and a real server, over TLS on loopback.

#include "rpc/control_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rpc/rpc_for_test.h"
#include "rpc/samples_for_test.h"

namespace aster::rpc {
namespace {

class Control : public testing::Test {
 protected:
  void SetUp() override {
    server_ = StartServer(desk_, service_);
    client_ = MakeClient(laptop_, address(), desk_.node);
  }
  const std::string& address() const { return server_->addresses().front(); }

  const ClusterForTest cluster_;
  const cluster::Identity desk_ = cluster_.NewNode("desk");
  const cluster::Identity laptop_ = cluster_.NewNode("laptop");
  ServiceForTest service_;
  std::unique_ptr<ControlServer> server_;
  std::unique_ptr<ControlClient> client_;
};

TEST_F(Control, Exchanges) {
  service_.exchange = [&](const NodeId& from, const Gossip& gossip) -> Result<Gossip> {
    EXPECT_EQ(from, laptop_.node);
    EXPECT_EQ(gossip.members, SampleGossip().members);
    EXPECT_EQ(gossip.revocations_serial, SampleGossip().revocations_serial);
    EXPECT_EQ(gossip.revocations, SampleGossip().revocations);
    return Gossip{.members = {SampleMember(3)}, .revocations_serial = 9, .revocations = ""};
  };
  const Gossip reply = client_->Exchange(SampleGossip(), kPatienceNs).value();
  EXPECT_THAT(reply.members, testing::ElementsAre(SampleMember(3)));
  EXPECT_EQ(reply.revocations_serial, 9u);
  // A front end sends no record.
  service_.exchange = [&](const NodeId&, const Gossip& gossip) { return gossip; };
  EXPECT_TRUE(client_->Exchange({}, kPatienceNs).value().members.empty());
}

TEST_F(Control, Describes) {
  service_.describe = [] { return SampleDescription(); };
  service_.status = [] { return SampleStatus(); };
  EXPECT_EQ(client_->Describe(kPatienceNs).value(), SampleDescription());
  EXPECT_EQ(client_->GetStatus(kPatienceNs).value(), SampleStatus());
}

TEST_F(Control, Drains) {
  service_.drain = [&](const NodeId& from, const DrainRequest& request) -> Status {
    EXPECT_EQ(from, laptop_.node);
    EXPECT_EQ(request.signature, "signed");
    if (!request.is_drained) return Error(Code::kPermissionDenied, "not by you");
    return Ok();
  };
  EXPECT_TRUE(client_->Drain({.is_drained = true, .signature = "signed"}, kPatienceNs).ok());
  const Status refused = client_->Drain({.is_drained = false, .signature = "signed"}, kPatienceNs);
  EXPECT_EQ(refused.error().code(), Code::kPermissionDenied);
}

TEST_F(Control, JoinNeedsNoCertificate) {
  service_.join = [](const cluster::JoinRequest& request) -> Result<cluster::JoinReply> {
    EXPECT_EQ(request.invitation, SampleJoinRequest().invitation);
    EXPECT_EQ(request.name, SampleJoinRequest().name);
    EXPECT_EQ(request.certificate_request, SampleJoinRequest().certificate_request);
    EXPECT_EQ(request.proof, SampleJoinRequest().proof);
    return SampleJoinReply();
  };
  const auto stranger = MakeClient({}, address());
  const cluster::JoinReply reply = stranger->Join(SampleJoinRequest(), kPatienceNs).value();
  EXPECT_EQ(reply.cluster_name, SampleJoinReply().cluster_name);
  EXPECT_EQ(reply.ca_certificate, SampleJoinReply().ca_certificate);
  EXPECT_EQ(reply.certificate, SampleJoinReply().certificate);
  EXPECT_EQ(reply.revocations, SampleJoinReply().revocations);
  EXPECT_EQ(reply.proof, SampleJoinReply().proof);
}

TEST_F(Control, EverythingElseNeedsOne) {
  service_.describe = [] { return SampleDescription(); };
  const auto stranger = MakeClient({}, address());
  for (const Error& error :
       {stranger->Describe(kPatienceNs).error(), stranger->GetStatus(kPatienceNs).error(),
        stranger->Exchange({}, kPatienceNs).error(), stranger->Measure(1, kPatienceNs).error(),
        stranger->FetchManifest({}).error(), stranger->Drain({}, kPatienceNs).error(),
        stranger->FetchTensor({}, "t", 0, [](Bytes) { return Ok(); }).error()}) {
    EXPECT_EQ(error.code(), Code::kUnauthenticated);
    EXPECT_THAT(error.message(), testing::HasSubstr("no certificate of this cluster"));
  }
}

TEST_F(Control, ErrorsComeThroughWithTheAddress) {
  service_.describe = []() -> Result<cluster::Description> { return NotFound("it is\nnot here"); };
  const Error error = client_->Describe(kPatienceNs).error();
  EXPECT_EQ(error.code(), Code::kNotFound);
  EXPECT_EQ(error.message(), address() + ": it is\\nnot here");
}

}  // namespace
}  // namespace aster::rpc
