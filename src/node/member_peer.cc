// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/member_peer.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "net/nearest.h"

namespace aster::node {
namespace {

// A node that is well takes milliseconds, and others may have the weights too.
constexpr int64_t kReachNs = 3 * kNsPerSecond / 2;

}  // namespace

Result<rpc::ControlClient*> MemberPeer::Reach() {
  if (client_) return client_.get();
  Error why(Code::kUnavailable, fmt::format("node {} has no address", member_.name));
  const SystemClock clock;
  for (const std::string& address : net::NearestAddressesFirst(member_.control_addresses, clock)) {
    auto client = TRY(rpc::ControlClient::Make(
        {.identity = identity_, .address = address, .expect = member_.node}));
    auto answer = client->Describe(kReachNs);
    if (answer.ok()) {
      held_ = std::move(answer->models);
      client_ = std::move(client);
      return client_.get();
    }
    why = answer.error();
  }
  return why;
}

Result<std::vector<cluster::HeldModel>> MemberPeer::Held() {
  TRY(Reach());
  return held_;
}

Result<rpc::ModelManifest> MemberPeer::FetchManifest(const Hash128& fingerprint) {
  return TRY(Reach())->FetchManifest(fingerprint);
}

Status MemberPeer::FetchTensor(const Hash128& fingerprint, std::string_view tensor, uint64_t offset,
                               const rpc::ByteSink& sink) {
  return TRY(Reach())->FetchTensor(fingerprint, tensor, offset, sink);
}

}  // namespace aster::node
