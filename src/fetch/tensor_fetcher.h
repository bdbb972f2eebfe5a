// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Gets tensors of one model from any peers, without trusting them: received bytes are hashed, and a
// peer that sends wrong ones is not asked again. Resumes where a fetch stopped. Must not know where
// the bytes are stored, nor which tensors make a slice.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "fetch/model_writer.h"
#include "fetch/weight_peer.h"
#include "gguf/content_hash.h"

namespace aster::fetch {

using FetchProgress = std::function<void(uint64_t done_bytes, uint64_t total_bytes)>;

struct FetchOptions {
  FetchProgress progress;
  std::stop_token stop;
  // The pause after all peers have failed.
  int64_t retry_pause_ns = 500 * kNsPerMs;
  // A peer that sends less than kLeastBytes in this time counts as silent.
  int64_t patience_ns = 30 * kNsPerSecond;
};

// Not for concurrent use.
class TensorFetcher {
 public:
  static constexpr uint64_t kLeastBytes = uint64_t{64} << 10;

  // Both outlive it.
  TensorFetcher(const StoredModel& model, ModelWriter& writer,
                std::vector<std::shared_ptr<WeightPeer>> peers, FetchOptions options, Clock& clock);

  // Fetches all of them, in this order.
  Status Fetch(std::span<const TensorPlace> places);

  // Bytes received from peers.
  uint64_t received_bytes() const { return received_bytes_; }
  // Messages for users after success: which peers sent wrong bytes.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Peer {
    std::shared_ptr<WeightPeer> peer;
    bool is_untrusted = false;
    std::string last_error;
  };
  // The state of one tensor.
  struct TensorFetch {
    const TensorPlace& place;
    gguf::ContentHasher hasher = {};
    bool had_prefix = false;           // some of it was already on the disk
    std::vector<size_t> senders = {};  // indices of peers that sent some of it
  };

  Status FetchOne(const TensorPlace& place);
  Status HashPrefix(TensorFetch& fetch);
  // From any peers, in turn, until it is complete. `alone`: from a single peer.
  Status FetchRest(TensorFetch& fetch, bool alone);
  Status FetchFromEachPeer(TensorFetch& fetch, bool alone, uint64_t& gained_bytes);
  // Returns only this machine's errors; the peer's are recorded with the peer.
  Status FetchFrom(TensorFetch& fetch, size_t peer_index);
  void Blame(const TensorFetch& fetch);
  Error NoPeerHas(const TensorPlace& place) const;
  Status CheckStop() const;
  // Sleeps, unless it is stopped.
  Status Pause();
  void Report();

  const StoredModel& model_;
  ModelWriter& writer_;
  std::vector<Peer> peers_;
  const FetchOptions options_;
  Clock& clock_;

  size_t preferred_ = 0;  // the last good peer
  uint64_t total_bytes_ = 0;
  uint64_t done_bytes_ = 0;  // of the tensors before the current one
  uint64_t here_bytes_ = 0;  // of the current one
  uint64_t received_bytes_ = 0;
  size_t damaged_count_ = 0;  // tensors that were wrong on this disk
  std::vector<std::string> notes_;
};

}  // namespace aster::fetch
