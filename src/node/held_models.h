// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The models of which this machine has files: their descriptions, for plans and for users, and
// their bytes, for machines without these files. Must not know the callers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "cluster/description.h"
#include "fetch/parts.h"
#include "gguf/fingerprint.h"
#include "gguf/model_files.h"
#include "stage/file_slice_source.h"

namespace aster::node {

struct HeldFiles {
  cluster::HeldModel description;
  std::shared_ptr<const gguf::ModelFiles> files;
  gguf::Fingerprint fingerprint;
};

// The layers that the files hold, and their bytes.
Result<cluster::HeldModel> DescribeModel(const gguf::ModelFiles& files, const Hash128& fingerprint);

// Safe for concurrent use.
class HeldModels {
 public:
  // Reads every byte once, unless a cache has the hashes.
  Result<std::shared_ptr<const HeldFiles>> Add(const std::vector<std::string>& paths,
                                               ThreadPool& pool,
                                               const gguf::FingerprintOptions& options)
      EXCLUDES(mu_);

  // Null if no file here is of that model.
  std::shared_ptr<const HeldFiles> Find(const Hash128& fingerprint) const EXCLUDES(mu_);
  std::vector<cluster::HeldModel> Describe() const EXCLUDES(mu_);
  void AddTo(stage::FileSliceSource& source) const EXCLUDES(mu_);
  // The models of which this machine has only some layers.
  std::vector<fetch::PartHere> Parts() const EXCLUDES(mu_);

 private:
  mutable Mutex mu_;
  std::vector<std::shared_ptr<const HeldFiles>> held_ GUARDED_BY(mu_);
};

}  // namespace aster::node
