// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A cluster's identities and a service whose answers a test chooses. Must not know gRPC.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "cluster/identity.h"
#include "net/certificate.h"
#include "rpc/control_client.h"
#include "rpc/control_server.h"

namespace aster::rpc {

class ClusterForTest {
 public:
  explicit ClusterForTest(std::string name = "home")
      : authority_(cluster::MakeClusterAuthority(name, WallS()).value()) {}

  cluster::Identity NewNode(const std::string& name) const {
    const std::string key = net::MakePrivateKey().value();
    const std::string request = net::MakeRequest(key, name).value();
    const std::string certificate =
        cluster::CertifyNode(authority_, request, name, WallS()).value();
    return cluster::MakeIdentity(authority_.certificate, certificate, key, WallS()).value();
  }

 private:
  static int64_t WallS() { return SystemClock().WallNs() / kNsPerSecond; }

  const cluster::Authority authority_;
};

// A call without a function is refused.
class ServiceForTest : public ControlService {
 public:
  std::function<Status(const NodeId&)> admit;
  std::function<Result<cluster::JoinReply>(const cluster::JoinRequest&)> join;
  std::function<Result<Gossip>(const NodeId&, const Gossip&)> exchange;
  std::function<Result<cluster::Description>()> describe;
  std::function<Result<cluster::NodeStatus>()> status;
  std::function<Result<ModelManifest>(const Hash128&)> manifest;
  std::function<Status(const Hash128&, std::string_view, uint64_t, const ByteSink&)> tensor;

  std::function<Status(const NodeId&, const DrainRequest&)> drain;
  std::function<void(const NodeId&)> on_slow_link;

  void OnSlowLink(const NodeId& from) override {
    if (on_slow_link) on_slow_link(from);
  }

  Status Drain(const NodeId& from, const DrainRequest& request) override {
    return drain ? drain(from, request) : Refused();
  }
  Status Admit(const NodeId& from) override { return admit ? admit(from) : Ok(); }
  Result<cluster::JoinReply> Join(const cluster::JoinRequest& request) override {
    return join ? join(request) : Refused();
  }
  Result<Gossip> Exchange(const NodeId& from, const Gossip& gossip) override {
    return exchange ? exchange(from, gossip) : Refused();
  }
  Result<cluster::Description> Describe() override { return describe ? describe() : Refused(); }
  Result<cluster::NodeStatus> GetStatus() override { return status ? status() : Refused(); }
  Result<ModelManifest> FetchManifest(const Hash128& fingerprint) override {
    return manifest ? manifest(fingerprint) : Refused();
  }
  Status FetchTensor(const Hash128& fingerprint, std::string_view name, uint64_t offset,
                     const ByteSink& sink) override {
    return tensor ? tensor(fingerprint, name, offset, sink) : Refused();
  }

 private:
  static Error Refused() { return FailedPrecondition("the test has no answer to this"); }
};

inline std::unique_ptr<ControlServer> StartServer(const cluster::Identity& identity,
                                                  ControlService& service,
                                                  const std::string& listen = "127.0.0.1:0") {
  return ControlServer::Start({.identity = identity, .listen = {listen}}, service).value();
}

inline std::unique_ptr<ControlClient> MakeClient(std::optional<cluster::Identity> identity,
                                                 const std::string& address,
                                                 std::optional<NodeId> expect = {}) {
  return ControlClient::Make(
             {.identity = std::move(identity), .address = address, .expect = expect})
      .value();
}

// A machine that is busy with other tests is late, not unreachable.
inline constexpr int64_t kPatienceNs = 60 * kNsPerSecond;

}  // namespace aster::rpc
