// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The drafter that the user names, and its model if it is a draft model. Must not know requests,
// nor the command line.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "draft/proposers.h"
#include "engine/request.h"
#include "open/cluster_options.h"
#include "open/model_options.h"
#include "open/remote_drafts.h"
#include "open/reporter.h"

namespace aster::open {

struct DraftOptions {
  // "mtp", "ngram", a model, "node:" and a node's name, or "auto"; empty: no drafts.
  std::string draft;
  uint32_t most = 4;
  bool keeps_looking = false;  // for drafters of the cluster that come later

  bool wanted() const { return !draft.empty(); }
  // The node whose drafters may be used; empty: all of the cluster; nullopt: none.
  std::optional<std::string> NodeToAsk() const;
  engine::DraftOptions ForEngine() const;
  // Whether a model in these files can have this drafter; an error says why not.
  Status CheckFor(const gguf::ModelFiles& files) const;
};

// Whether a drafter of blocks can draft for the model in these files.
Status CheckBlockDrafter(const gguf::ModelFiles& drafter, const gguf::ModelFiles& files);

// The drafters on this machine, with the draft model if the options name one.
class Drafts {
 public:
  // `files` and `model` are the files and options of the model that answers; the draft model gets a
  // KV cache of the same size. `cluster`: how the cluster is reached, if its nodes draft. The
  // reporter shows progress.
  static Result<std::unique_ptr<Drafts>> Load(const DraftOptions& flags,
                                              const gguf::ModelFiles& files,
                                              const ModelOptions& model,
                                              const ClusterOptions& cluster, Reporter& reporter);

  // `answers`: the model that answers; null if it is on other machines. It outlives everything
  // here, as does `network`, which is needed with --cluster, and whose owner calls OnEvent.
  engine::ProposerSource& For(engine::LocalModel* answers, net::Network* network = nullptr);
  // Returns whether there may be new draft tokens.
  bool OnEvent(const net::Event& event) { return remote_ != nullptr && remote_->OnEvent(event); }
  // A drafter of blocks to load together with the model that answers; or null.
  const std::shared_ptr<const gguf::ModelFiles>& drafter() const { return drafter_; }
  // Counters of drafters on other machines.
  std::vector<drafting::RemoteDraftCounts> remote_counts() const {
    return remote_ == nullptr ? std::vector<drafting::RemoteDraftCounts>() : remote_->counts();
  }

 private:
  std::unique_ptr<gguf::ModelFiles> files_;          // of the draft model
  std::unique_ptr<engine::LocalModel> model_;        // null: no draft model
  std::shared_ptr<const gguf::ModelFiles> drafter_;  // a drafter of blocks, or null
  std::unique_ptr<draft::Proposers> proposers_;
  std::unique_ptr<RemoteDrafts> remote_;  // null: none
};

// "drafts: 71.4 % of 120 draft tokens accepted, 2.10 tokens a step"; empty without steps.
std::string DescribeDrafts(const engine::DraftCounts& counts);

}  // namespace aster::open
