// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What nodes of a cluster ask each other beside computing: who is there, what are you, give me
// weights. Plain values and the two sides of a call. Must not know gRPC, nor what answers.
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

// What one side of an exchange tells the other. A front end has no record of its own: it sends
// none.
struct Gossip {
  std::vector<cluster::Member> members;
  uint64_t revocations_serial = 0;  // of the list that the sender has
  std::string revocations;          // the list, where the receiver's is (or may be) older
  std::vector<std::string> certificates = {};  // PEM: of members that the receiver may not know
  // Sums over the sender's records, by which both find where they differ. Empty: of a front end, or
  // of an older program; each wants all records.
  std::vector<uint32_t> buckets = {};
  std::vector<NodeId> wanted = {};  // members whose certificates the sender lacks
};

// One file of a model as another machine needs it to make an equal one: everything before the
// tensors' bytes, and what those bytes must be.
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

// Bytes of a session's file on their way to another machine (disk/session_file.h).
struct SessionPart {
  Hash128 content;   // of the whole file
  std::string name;  // that the session is to have there
  uint64_t total_bytes = 0;
  uint64_t offset = 0;
  std::vector<uint8_t> data;
  bool is_last = false;
  Hash128 transfer;  // drawn anew by each command that sends one
};
struct SessionReceipt {
  uint64_t received_bytes = 0;  // what comes next begins here
  bool is_kept = false;         // it is whole and has its name
  Hash128 transfer;             // that has brought what is kept
};

// Where a machine that asks, and runs no node, answers for a model of which it has the files.
struct WeightsOffer {
  Hash128 fingerprint;
  std::vector<std::string> addresses;  // HOST:PORT, the best first
};

// That a node gets no layers from now on, or gets them again.
struct DrainRequest {
  bool is_drained = false;
  std::string signature;  // cluster/drain_order.h; empty: the node's own machine asks
};

// Takes the next bytes of an answer; an error ends the call.
using ByteSink = std::function<Status(Bytes piece)>;

// The answering side. Called by many threads at once, and only for callers that Admit lets in
// (Join: for everybody).
class ControlService {
 public:
  virtual ~ControlService() = default;

  // An error refuses a caller whose certificate is of this cluster: a revoked one.
  virtual Status Admit(const NodeId& from) = 0;

  virtual Result<cluster::JoinReply> Join(const cluster::JoinRequest& request) = 0;
  virtual Result<Gossip> Exchange(const NodeId& from, const Gossip& gossip) = 0;
  virtual Result<cluster::Description> Describe() = 0;
  virtual Result<cluster::NodeStatus> GetStatus() = 0;
  virtual Result<ModelManifest> FetchManifest(const Hash128& fingerprint) = 0;
  // The bytes of a tensor from `offset` on, in pieces of any size.
  virtual Status FetchTensor(const Hash128& fingerprint, std::string_view tensor, uint64_t offset,
                             const ByteSink& sink) = 0;
  // The next bytes of a session. Refused where it could not be kept in the end.
  // The way to that node has become slow, it says.
  virtual void HearOfSlowLink(const NodeId& /*from*/) {}
  virtual Result<SessionReceipt> PutSession(const NodeId& /*from*/, const SessionPart& /*part*/) {
    return FailedPrecondition("this node takes no sessions");
  }
  // Of the caller itself: weights of this model may be fetched there for a while.
  virtual Status OfferWeights(const NodeId& /*from*/, const WeightsOffer& /*offer*/) {
    return FailedPrecondition("this node fetches no weights");
  }
  virtual Status Drain(const NodeId& /*from*/, const DrainRequest& /*request*/) {
    return FailedPrecondition("this is no node that can be drained");
  }
};

}  // namespace aster::rpc
