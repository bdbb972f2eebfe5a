// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/join.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/log.h"
#include "base/process_limits.h"
#include "cluster/signature.h"
#include "crypto/secrets.h"

namespace aster::cluster {
namespace {

constexpr int64_t kMinuteNs = 60 * kNsPerSecond;
constexpr size_t kMaxRequestBytes = 16 << 10;
// Certificates begin a day before they are made; an hour less.
constexpr int64_t kMaxBehindS = 23 * 3600;

std::string Proof(const std::vector<uint8_t>& secret, std::span<const std::string_view> parts) {
  return std::string(AsText(ProofOf(secret, parts)));
}

std::string RequestProof(const std::vector<uint8_t>& secret, const JoinRequest& request) {
  const std::array<std::string_view, 4> parts = {"asterism join request 1", request.invitation,
                                                 request.name, request.certificate_request};
  return Proof(secret, parts);
}

std::string ReplyProof(const std::vector<uint8_t>& secret, const JoinRequest& request,
                       const JoinReply& reply) {
  const std::array<std::string_view, 6> parts = {"asterism join reply 1", request.proof,
                                                 reply.cluster_name,      reply.ca_certificate,
                                                 reply.certificate,       reply.revocations};
  return Proof(secret, parts);
}

// Names that differ only in case are too easily confused.
bool IsSameName(std::string_view a, std::string_view b) {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, small, small);
}

// If the machine's clock is so far behind, the certificate would not be valid there yet. The
// invitation stays valid.
Status CheckClock(const JoinRequest& request, int64_t wall_s) {
  const int64_t behind_s = wall_s - request.wall_s;
  if (request.wall_s == 0 || behind_s < kMaxBehindS) return Ok();
  return FailedPrecondition(
      fmt::format("the clock of the machine that joins is {} hours behind the inviting machine's: "
                  "set it, and use the same code again",
                  behind_s / 3600));
}

}  // namespace

Result<Joining> Joining::Begin(const InviteCode& code, const std::string& name, int64_t wall_s) {
  TRY(CheckNewNodeName(name));
  ForbidCoreDumps();
  std::string key = TRY(net::MakePrivateKey());
  JoinRequest request;
  request.invitation = code.Id();
  request.name = name;
  request.wall_s = wall_s;
  request.certificate_request = TRY(net::MakeRequest(key, name));
  request.proof = RequestProof(code.Secret(), request);
  return Joining(code, std::move(key), std::move(request));
}

Result<Identity> Joining::Finish(const JoinReply& reply, int64_t wall_s) const {
  const std::string proof = ReplyProof(code_.Secret(), request_, reply);
  if (!crypto::EqualSecrets(AsBytes(proof), AsBytes(reply.proof))) {
    return Error(Code::kPermissionDenied,
                 "the machine that answered does not know the code: it is not the one that made "
                 "the invitation, or a third machine stands in between; nothing was joined");
  }
  TRY(Revocations::Parse(reply.revocations, reply.ca_certificate));
  Identity identity =
      TRY(MakeIdentity(reply.ca_certificate, reply.certificate, key_, wall_s)
              .In("the inviting machine's answer (are the clocks of both machines right?)"));
  if (identity.name != request_.name || identity.cluster_name != reply.cluster_name)
    return DataLoss("the inviting machine gave another name than was asked for");
  return identity;
}

Result<JoinReply> Admission::Admit(const JoinRequest& request) {
  const int64_t wall_s = clock_.WallNs() / kNsPerSecond;
  if (request.invitation.size() > 64 || request.certificate_request.size() > kMaxRequestBytes)
    return InvalidArgument("the request to join is longer than one can be");
  const Authority authority = TRY(home_.LoadAuthority());
  const Result<Invitation> open = home_.FindInvitation(request.invitation, wall_s);
  if (!open.ok()) {
    TRY(CountUnknown());
    return open.error();
  }
  const Invitation invitation = TRY(
      home_.ProveInvitation(request.invitation, wall_s, [&](const std::vector<uint8_t>& secret) {
        const std::string proof = RequestProof(secret, request);
        return crypto::EqualSecrets(AsBytes(proof), AsBytes(request.proof));
      }));
  TRY(CheckClock(request, wall_s));
  TRY(CheckNodeName(request.name));
  const Revocations revocations = TRY(home_.LoadRevocations(authority.certificate));
  TRY(CheckNameIsFree(request.name, revocations));
  JoinReply reply;
  reply.ca_certificate = authority.certificate;
  reply.cluster_name = TRY(net::DescribeCertificate(authority.certificate)).name;
  reply.certificate =
      TRY(CertifyNode(authority, request.certificate_request, request.name, wall_s));
  reply.revocations = revocations.text();
  reply.proof = ReplyProof(invitation.secret, request, reply);
  // Last, so that a request that fails for another reason does not use up the invitation.
  if (!TRY(home_.TakeInvitation(request.invitation, wall_s)))
    return NotFound("the invitation was used by another machine at this moment");
  Remember({TRY(net::NodeIdOfCertificate(reply.certificate)), request.name, {}});
  return reply;
}

Status Admission::CountUnknown() {
  const MutexLock lock(mu_);
  const int64_t now_ns = clock_.NowNs();
  if (now_ns - minute_begin_ns_ >= kMinuteNs) {
    minute_begin_ns_ = now_ns;
    unknown_requests_ = 0;
  }
  if (++unknown_requests_ <= kMaxUnknownPerMinute) return Ok();
  return ResourceExhausted("too many attempts to join without an invitation; try in a minute");
}

void Admission::Remember(const KnownPeer& peer) const {
  // Reserves the name, though no node has seen the new one yet. If storing fails, the join is still
  // valid.
  const Status stored = home_.StorePeers({peer});
  if (!stored.ok()) {
    log::Warn("the machine that joined could not be recorded",
              {{"node", peer.name}, {"why", stored.error().message()}});
  }
}

Status Admission::CheckNameIsFree(const std::string& name, const Revocations& revocations) const {
  const Identity own = TRY(home_.LoadIdentity(clock_.WallNs() / kNsPerSecond));
  const auto taken = [](std::string_view as, const NodeId& by) {
    return Error(Code::kAlreadyExists,
                 fmt::format("a node called {} is in the cluster already ({}); choose another name "
                             "with --name, or revoke the old one first",
                             as, by.ToText()));
  };
  if (IsSameName(own.name, name)) return taken(own.name, own.node);
  for (const KnownPeer& peer : TRY(home_.LoadPeers())) {
    if (IsSameName(peer.name, name) && !revocations.Contains(peer.node))
      return taken(peer.name, peer.node);
  }
  return Ok();
}

}  // namespace aster::cluster
