// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/member_peer.h"

#include "base/clock.h"
#include "node/call_member.h"

namespace aster::node {
namespace {

// A healthy node takes milliseconds, and other nodes may have the weights too.
constexpr int64_t kReachNs = 3 * kNsPerSecond / 2;

}  // namespace

Result<rpc::ControlClient*> MemberPeer::Reach() {
  if (client_) return client_.get();
  auto reached = TRY(ReachMember(identity_, member_, kReachNs));
  held_ = std::move(reached.answer.models);
  client_ = std::move(reached.client);
  return client_.get();
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
