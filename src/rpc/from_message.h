// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Converts protobuf messages, which any machine may have sent, to our values: an error if a message
// is invalid. Must not know how messages are sent.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "rpc/limits.h"
#include "rpc/to_message.h"

namespace aster::rpc {

Hash128 FromMessage(const v1::Hash& message);
Result<cluster::JoinRequest> FromMessage(const v1::JoinRequest& message);
Result<cluster::JoinReply> FromMessage(const v1::JoinReply& message);
Result<Gossip> FromMessage(const v1::Gossip& message);
Result<cluster::Description> FromMessage(const v1::Description& message);
Result<cluster::NodeStatus> FromMessage(const v1::NodeStatus& message);
Result<SessionPart> FromMessage(const v1::SessionPart& message);
Result<SessionReceipt> FromMessage(const v1::SessionReceipt& message);
Result<WeightsOffer> FromMessage(const v1::WeightsOffer& message);
inline Status FromMessage(const v1::WeightsOfferReply& /*message*/) { return Ok(); }
Result<DrainRequest> FromMessage(const v1::DrainRequest& message);
inline Status FromMessage(const v1::DrainReply& /*message*/) { return Ok(); }

// Puts a manifest together. Memory grows with received bytes, not with announced ones. Not for
// concurrent use.
class ManifestReader {
 public:
  explicit ManifestReader(const Hash128& fingerprint) { manifest_.fingerprint = fingerprint; }

  Status Add(const v1::ManifestPart& part);
  // Call it once; an error if something is missing.
  Result<ModelManifest> Finish();

 private:
  Status BeginFile(const v1::ManifestPart& part);
  Status CheckFileIsWhole() const;

  ModelManifest manifest_;
  uint64_t header_bytes_ = 0;   // announced for the last file
  uint64_t content_count_ = 0;  // likewise
  // That may still be announced.
  uint64_t header_bytes_left_ = kMaxHeaderBytes;
  uint64_t contents_left_ = kMaxContents;
};

}  // namespace aster::rpc
