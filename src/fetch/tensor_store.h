// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Weights from other machines, kept on this one's disk: what a slice needs and is not there is
// fetched, checked by its content hash, and kept. A process may be killed at any byte; the next one
// goes on from there. docs/fetch.md tells how the folder looks. Must not know how peers are
// reached, nor memory.
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
  // Files of this machine that hold some layers, perhaps of this model: what they have is not kept
  // twice.
  std::vector<PartHere> here = {};
  FetchOptions fetching = {};
  // Asked before anything but the manifest is fetched, with the model's files without their data.
  std::function<Status(const gguf::ModelFiles& layout)> check = {};
  // Hashes what is there once more, however trustworthy it looks.
  bool verify = false;
};

struct Ensured {
  // Holds the tensors of the slice; others only where they stand in files that are here anyway.
  std::shared_ptr<const gguf::ModelFiles> files;
  uint64_t received_bytes = 0;
  std::vector<std::string> notes = {};  // for people: who sent wrong bytes
};

// All that is there and verified of a model: to tell and to serve others.
struct KeptModel {
  std::shared_ptr<const rpc::ModelManifest> manifest;
  std::shared_ptr<const gguf::ModelFiles> files;
};

struct StoreOptions {
  std::string folder;
  // How long another writer of the same model may do nothing before it is not waited for.
  int64_t lock_patience_ns = 60 * kNsPerSecond;
  // What a crash may cost, and how seldom the disk is waited for.
  uint64_t sync_bytes = uint64_t{64} << 20;
  // Left to everybody else on the disk.
  uint64_t spare_disk_bytes = uint64_t{64} << 20;
};

// Safe for concurrent use, by several processes too: one at a time writes a model.
class TensorStore {
 public:
  // $XDG_CACHE_HOME/asterism/weights.
  static Result<std::string> DefaultFolder();

  // The clock outlives it. The folder is made when it is needed.
  TensorStore(StoreOptions options, Clock& clock) : options_(std::move(options)), clock_(clock) {}

  // Waits for peers and the disk.
  Result<Ensured> Ensure(const EnsureRequest& request);

  // NotFound where nothing is known of that model. Reads the manifest and opens the files: keep
  // what it answers while it is used. What is fetched later is not in it.
  Result<KeptModel> Find(const Hash128& fingerprint) const;
  // What the model's file is called where it came from; nothing where none of it is known.
  std::string NameOf(const Hash128& fingerprint) const;
  // What the model consists of, though none of it may be there; null where no peer has told yet.
  std::shared_ptr<const rpc::ModelManifest> FindManifest(const Hash128& fingerprint) const;
  // Of which something may be there.
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
