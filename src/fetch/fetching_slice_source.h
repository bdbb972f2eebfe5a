// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Slices from files of this machine, or from other machines' weights: fetched into the store, then
// loaded as any file is. Must not know how machines find each other.
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

// Machines that report to have (parts of) this model, the best first. Never blocks; called by
// fetching threads.
using PeersWith =
    std::function<std::vector<std::shared_ptr<WeightPeer>>(const Hash128& fingerprint)>;

struct FetchingOptions {
  stage::FileSliceOptions loading = {};
  // Files of this machine with only some layers. Called by fetching threads.
  std::function<std::vector<PartHere>()> parts_here = {};
  int64_t retry_pause_ns = FetchOptions{}.retry_pause_ns;
};

// Safe for concurrent use. Cancelling a load takes no time; the destructor waits for silent peers
// as long as a call to one may take.
class FetchingSliceSource final : public stage::SliceSource {
 public:
  // All outlive it.
  FetchingSliceSource(stage::FileSliceSource& files, TensorStore& store, PeersWith peers_with,
                      FetchingOptions options = {});
  ~FetchingSliceSource() override;
  FetchingSliceSource(const FetchingSliceSource&) = delete;
  FetchingSliceSource& operator=(const FetchingSliceSource&) = delete;

  // A slice that must be fetched and does not fit is refused before its weights are fetched.
  Result<std::unique_ptr<stage::SliceLoading>> Start(const stage::SliceRequest& request) override
      EXCLUDES(mu_);
  kv::PageChunks* page_chunks() override { return files_.page_chunks(); }

 private:
  class Loading;
  // A fetch in progress, shared by its owner and the fetching thread.
  struct Fetch;

  void Run(Fetch& fetch);
  Status Reserve(Fetch& fetch, const gguf::ModelFiles& layout) EXCLUDES(mu_);
  // Joins the threads once all of them are done.
  void JoinFinished() EXCLUDES(mu_);

  // Constant after construction.
  stage::FileSliceSource& files_;
  TensorStore& store_;
  const PeersWith peers_with_;
  const FetchingOptions options_;

  Mutex mu_;
  std::vector<std::pair<std::shared_ptr<Fetch>, std::thread>> fetches_ GUARDED_BY(mu_);
};

}  // namespace aster::fetch
