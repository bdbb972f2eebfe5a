// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Calls another node on the control plane. Every call has a deadline. Must not know what the
// answers are for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "cluster/identity.h"
#include "rpc/control_service.h"

namespace aster::rpc {

struct ControlClientOptions {
  // Nullopt: a joining machine has no certificate, can check no other's, and may call only Join.
  std::optional<cluster::Identity> identity;
  std::string address;           // HOST:PORT
  std::optional<NodeId> expect;  // calls fail if another node is there
};

struct LinkMeasurement {
  uint64_t round_trip_ns = 0;  // the shortest of a few
  double bytes_per_s = 0;      // towards this machine; 0 if no bytes were requested
};

// Safe for concurrent use. Connects at the first call, and again after a failure.
class ControlClient {
 public:
  static Result<std::unique_ptr<ControlClient>> Make(ControlClientOptions options);
  virtual ~ControlClient() = default;

  // Calls fail from now on, those in flight at once. Safe for concurrent use.
  virtual void Cancel() = 0;

  static constexpr int64_t kCallNs = 5 * kNsPerSecond;
  static constexpr int64_t kSilenceNs = 5 * kNsPerSecond;  // between pieces of a stream

  virtual Result<cluster::JoinReply> Join(const cluster::JoinRequest& request,
                                          int64_t timeout_ns = kCallNs) = 0;
  virtual Result<Gossip> Exchange(const Gossip& gossip, int64_t timeout_ns = kCallNs) = 0;
  virtual Result<cluster::Description> Describe(int64_t timeout_ns = kCallNs) = 0;
  virtual Result<cluster::NodeStatus> GetStatus(int64_t timeout_ns = kCallNs) = 0;
  // A few empty round trips, then `bytes` towards this machine.
  virtual Result<LinkMeasurement> Measure(uint64_t bytes, int64_t timeout_ns = kCallNs) = 0;
  // The direction to this machine has become slow: the node should measure the other one.
  virtual Status TellSlowLink(int64_t timeout_ns = kCallNs) = 0;
  virtual Result<ModelManifest> FetchManifest(const Hash128& fingerprint) = 0;
  // Ends when the sink fails, with its error, or when nothing comes for kSilenceNs.
  virtual Status FetchTensor(const Hash128& fingerprint, std::string_view tensor, uint64_t offset,
                             const ByteSink& sink) = 0;
  virtual Result<SessionReceipt> PutSession(const SessionPart& part,
                                            int64_t timeout_ns = kCallNs) = 0;
  virtual Status OfferWeights(const WeightsOffer& offer, int64_t timeout_ns = kCallNs) = 0;
  virtual Status Drain(const DrainRequest& request, int64_t timeout_ns = kCallNs) = 0;
};

}  // namespace aster::rpc
