// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The calls between nodes of a cluster besides computing: members, descriptions, weights. Plain
// values and the two sides of a call. Must not know gRPC, nor who answers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/result.h"
#include "cluster/description.h"
#include "cluster/join.h"
#include "cluster/member.h"

namespace aster::rpc {

using cluster::NodeId;

// One side's message in an exchange. A front end has no record of its own: it sends none.
struct Gossip {
  std::vector<cluster::Member> members;
  uint64_t revocations_serial = 0;             // of the sender's list
  std::string revocations;                     // the list, if the receiver's is (or may be) older
  std::vector<std::string> certificates = {};  // PEM: of members that the receiver may not know
  // Sums over the sender's records, which show where the two sides differ. Empty: from a front end,
  // or from an older program; these want all records.
  std::vector<uint32_t> buckets = {};
  std::vector<NodeId> wanted = {};  // members whose certificates the sender lacks
};

// One file of a model, as another machine needs it to make an equal one: everything before the
// tensors' bytes, and the hashes of these.
struct FileManifest {
  std::string name;  // without folders
  uint64_t file_bytes = 0;
  std::vector<uint8_t> header;    // the file up to its tensor data
  std::vector<Hash128> contents;  // content hashes of its tensors, in the file's order
};
struct ModelManifest {
  Hash128 fingerprint;
  std::vector<FileManifest> files;
};

// A part of a session's file that moves to another machine (disk/session_file.h).
struct SessionPart {
  Hash128 content;   // of the whole file
  std::string name;  // the session's name there
  uint64_t total_bytes = 0;
  uint64_t offset = 0;
  std::vector<uint8_t> data;
  bool is_last = false;
  Hash128 transfer;  // random for each command that sends one
};
struct SessionReceipt {
  uint64_t received_bytes = 0;  // offset of the next part
  bool is_kept = false;         // it is complete and has its name
  Hash128 transfer;             // the transfer that brought it
};

// Addresses of a machine without a node that has a model's files and uses the nodes.
struct WeightsOffer {
  Hash128 fingerprint;
  std::vector<std::string> addresses;  // HOST:PORT, the best first
};

// Takes a node out of use, or puts it back.
struct DrainRequest {
  bool is_drained = false;
  std::string signature;  // cluster/drain_order.h; empty: from the node's own machine
};

// Receives the next bytes of a reply; an error ends the call.
using ByteSink = std::function<Status(Bytes piece)>;

// The answering side. Called by many threads at once, and only for callers that Admit accepts
// (except Join).
class ControlService {
 public:
  virtual ~ControlService() = default;

  // An error refuses a caller with a certificate of this cluster, for example a revoked node.
  virtual Status Admit(const NodeId& from) = 0;

  virtual Result<cluster::JoinReply> Join(const cluster::JoinRequest& request) = 0;
  virtual Result<Gossip> Exchange(const NodeId& from, const Gossip& gossip) = 0;
  virtual Result<cluster::Description> Describe() = 0;
  virtual Result<cluster::NodeStatus> GetStatus() = 0;
  virtual Result<ModelManifest> FetchManifest(const Hash128& fingerprint) = 0;
  // The bytes of a tensor from `offset` on, in pieces of any size.
  virtual Status FetchTensor(const Hash128& fingerprint, std::string_view tensor, uint64_t offset,
                             const ByteSink& sink) = 0;
  // The node reports that the direction to it has become slow.
  virtual void OnSlowLink(const NodeId& /*from*/) {}
  // Receives the next bytes of a session. An error at once if it could not be kept in the end.
  virtual Result<SessionReceipt> PutSession(const NodeId& /*from*/, const SessionPart& /*part*/) {
    return FailedPrecondition("this node takes no sessions");
  }
  // For a while the node may fetch weights of this model from the caller.
  virtual Status OfferWeights(const NodeId& /*from*/, const WeightsOffer& /*offer*/) {
    return FailedPrecondition("this node fetches no weights");
  }
  virtual Status Drain(const NodeId& /*from*/, const DrainRequest& /*request*/) {
    return FailedPrecondition("this is no node that can be drained");
  }
};

}  // namespace aster::rpc
