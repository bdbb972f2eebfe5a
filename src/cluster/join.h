// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How a machine joins a cluster: both sides, as messages. Must not know how they are sent: neither
// side relies on a secure transport.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"
#include "cluster/home.h"
#include "cluster/invite_code.h"

namespace aster::cluster {

struct JoinRequest {
  std::string invitation;  // its id
  std::string name;        // the wanted name of the node
  std::string certificate_request;
  std::string proof;
  // The machine's clock, seconds since 1970; 0: unknown, from older programs. Not proven: changing
  // it in transit can only prevent the join.
  int64_t wall_s = 0;
};

struct JoinReply {
  std::string cluster_name;
  std::string ca_certificate;
  std::string certificate;
  std::string revocations;
  std::string proof;
};

// The joining side. Not for concurrent use.
class Joining {
 public:
  // Makes a key, which leaves this object only as part of the identity.
  static Result<Joining> Begin(const InviteCode& code, const std::string& name, int64_t wall_s = 0);

  const JoinRequest& request() const { return request_; }

  // Uses nothing of the reply before its proof is checked.
  Result<Identity> Finish(const JoinReply& reply, int64_t wall_s) const;

 private:
  Joining(const InviteCode& code, std::string key, JoinRequest request)
      : code_(code), key_(std::move(key)), request_(std::move(request)) {}

  InviteCode code_;
  std::string key_;
  JoinRequest request_;
};

// The admitting side: the machine with the authority. Safe for concurrent use.
class Admission {
 public:
  // Requests without a known invitation, per minute: no honest use needs more, and each is cheap.
  static constexpr int kMaxUnknownPerMinute = 20;

  Admission(const Home& home, const Clock& clock) : home_(home), clock_(clock) {}

  Result<JoinReply> Admit(const JoinRequest& request);

 private:
  Status CountUnknown();
  Status CheckNameIsFree(const std::string& name, const Revocations& revocations) const;
  void Remember(const KnownPeer& peer) const;

  const Home& home_;
  const Clock& clock_;
  Mutex mu_;
  int64_t minute_begin_ns_ GUARDED_BY(mu_) = 0;
  int unknown_requests_ GUARDED_BY(mu_) = 0;
};

}  // namespace aster::cluster
