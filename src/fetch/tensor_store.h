// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Weights of other machines on this one's disk: a slice's missing tensors are fetched, checked by
// their content hash, and stored. A process may be killed at any byte; the next one resumes there.
// docs/fetch.md describes the folder. Must not know how peers are reached, nor memory.
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
#include "base/files.h"
#include "base/result.h"
#include "fetch/parts.h"
#include "fetch/stored_model.h"
#include "fetch/tensor_fetcher.h"
#include "fetch/weight_peer.h"
#include "model/parts/slice.h"

namespace aster::fetch {

struct EnsureRequest {
  Hash128 fingerprint;
  model::Slice slice;
  std::vector<std::shared_ptr<WeightPeer>> peers = {};  // the best first
  // Files of this machine with some layers, perhaps of this model: their tensors are not stored
  // twice.
  std::vector<PartHere> here = {};
  FetchOptions fetching = {};
  // Called before anything but the manifest is fetched, with the model's files without their data.
  std::function<Status(const gguf::ModelFiles& layout)> check = {};
  // Hashes the stored data again, even if they count as verified.
  bool verify = false;
};

struct Ensured {
  // Holds the tensors of the slice; others only if they are in files of this machine.
  std::shared_ptr<const gguf::ModelFiles> files;
  uint64_t received_bytes = 0;
  std::vector<std::string> notes = {};  // for users: which peers sent wrong bytes
};

// All stored and verified data of a model: to describe it and to serve others.
struct KeptModel {
  std::shared_ptr<const rpc::ModelManifest> manifest;
  std::shared_ptr<const gguf::ModelFiles> files;
};

struct StoreOptions {
  std::string folder;
  // How long another writer of the same model may be inactive before this one stops waiting.
  int64_t lock_patience_ns = 60 * kNsPerSecond;
  // The most bytes that a crash can lose; larger values wait for the disk less often.
  uint64_t sync_bytes = uint64_t{64} << 20;
  // Free space that others on the disk keep.
  uint64_t spare_disk_bytes = uint64_t{64} << 20;
};

// Safe for concurrent use, also by several processes: one at a time writes a model.
class TensorStore {
 public:
  // $XDG_CACHE_HOME/asterism/weights.
  static Result<std::string> DefaultFolder();

  // The clock outlives it. The folder is made when it is needed.
  TensorStore(StoreOptions options, Clock& clock) : options_(std::move(options)), clock_(clock) {}

  // Waits for peers and the disk.
  Result<Ensured> Ensure(const EnsureRequest& request);

  // NotFound if nothing is known of that model. Reads the manifest and opens the files: keep the
  // result while it is used. Data fetched later are not in it.
  Result<KeptModel> Find(const Hash128& fingerprint) const;
  // The name of the model's file where it came from; empty if unknown.
  std::string NameOf(const Hash128& fingerprint) const;
  // The model's manifest, even if no data are stored; null if no peer has sent it yet.
  std::shared_ptr<const rpc::ModelManifest> FindManifest(const Hash128& fingerprint) const;
  // Models that may have stored data.
  std::vector<Hash128> Fingerprints() const;

 private:
  std::string FolderOf(const Hash128& fingerprint) const;
  Result<FileLock> AwaitLock(const std::string& folder, const std::stop_token& stop);
  Result<rpc::ModelManifest> FetchManifest(const EnsureRequest& request);
  Result<StoredModel> OpenOrKeep(const EnsureRequest& request,
                                 std::optional<rpc::ModelManifest> fetched);
  Result<StoredModel> FetchMissing(const EnsureRequest& request, const StoredModel& model,
                                   std::span<const TensorPlace> places, Ensured& ensured);

  const StoreOptions options_;
  Clock& clock_;
};

}  // namespace aster::fetch
