// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Counts how often the experts of this machine's models were chosen, and keeps the counts in a
// folder. They decide which experts are on every node of a group. Must not know routes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/mutex.h"
#include "model/parts/expert_use.h"
#include "model/shape/shape.h"

namespace aster::stage {

// Safe for concurrent use.
class ExpertUses {
 public:
  // Without a folder nothing is kept.
  explicit ExpertUses(std::string folder) : folder_(std::move(folder)) {}
  ~ExpertUses() { Save(); }
  ExpertUses(const ExpertUses&) = delete;
  ExpertUses& operator=(const ExpertUses&) = delete;

  // The counts of a model with experts, which the caller adds to.
  std::shared_ptr<model::ExpertUse> Of(const Hash128& fingerprint, const model::Shape& shape)
      EXCLUDES(mu_);
  // The experts that are on every node of the model's groups (ExpertUse::MostUsed); nothing if none
  // were counted. The answer stays the same until the process ends, so that nodes need not load
  // other experts whenever a route is opened.
  std::vector<uint16_t> Replicated(const Hash128& fingerprint, uint32_t count) EXCLUDES(mu_);
  // Writes the counts. If that fails, they are lost for the next run.
  void Save() EXCLUDES(mu_);

 private:
  struct Counted {
    std::shared_ptr<model::ExpertUse> use;  // null: none is known
    uint64_t saved_choices = 0;
  };

  std::string PathOf(const std::string& model) const;
  Counted& Find(const std::string& model) REQUIRES(mu_);

  const std::string folder_;
  Mutex mu_;
  std::map<std::string, Counted> counted_ GUARDED_BY(mu_);  // by fingerprint
  std::map<std::pair<std::string, uint32_t>, std::vector<uint16_t>> replicated_ GUARDED_BY(mu_);
};

}  // namespace aster::stage
