// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Slices from files of this machine, or else from the weights that other machines have: fetched
// into the store, then loaded as any file is. Must not know how machines find each other.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "fetch/tensor_store.h"
#include "fetch/weight_peer.h"
#include "stage/file_slice_source.h"
#include "stage/slice_source.h"

namespace aster::fetch {

// Machines that say they have (some of) this model, the best first. Never waits; called by threads
// that fetch.
using PeersWith =
    std::function<std::vector<std::shared_ptr<WeightPeer>>(const Hash128& fingerprint)>;

struct FetchingOptions {
  stage::FileSliceOptions loading = {};
  // Files of this machine that hold only some layers. Called by threads that fetch.
  std::function<std::vector<PartHere>()> parts_here = {};
  int64_t retry_pause_ns = FetchOptions{}.retry_pause_ns;
};

// Safe for concurrent use. Giving up what it loads takes no time; its own end waits for peers that
// are silent, as long as a call to one may be.
class FetchingSliceSource final : public stage::SliceSource {
 public:
  // All outlive it.
  FetchingSliceSource(stage::FileSliceSource& files, TensorStore& store, PeersWith peers_with,
                      FetchingOptions options = {});
  ~FetchingSliceSource() override;
  FetchingSliceSource(const FetchingSliceSource&) = delete;
  FetchingSliceSource& operator=(const FetchingSliceSource&) = delete;

  // A slice that is to be fetched is refused on its way, before its weights travel, where it does
  // not fit.
  Result<std::unique_ptr<stage::SliceLoading>> Start(const stage::SliceRequest& request) override
      EXCLUDES(mu_);
  kv::PageChunks* page_chunks() override { return files_.page_chunks(); }

 private:
  class Loading;
  // One slice on its way, shared by its owner and the thread that fetches.
  struct Fetch;

  void Run(Fetch& fetch);
  Status Reserve(Fetch& fetch, const gguf::ModelFiles& layout) EXCLUDES(mu_);
  // Takes leave of threads that are done, when all are.
  void Sweep() EXCLUDES(mu_);

  // Constant after construction.
  stage::FileSliceSource& files_;
  TensorStore& store_;
  const PeersWith peers_with_;
  const FetchingOptions options_;

  Mutex mu_;
  std::vector<std::pair<std::shared_ptr<Fetch>, std::thread>> fetches_ GUARDED_BY(mu_);
};

}  // namespace aster::fetch
