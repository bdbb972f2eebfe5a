// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The drafter, as a person names it, and the smaller model where that is one. Must not
// know what is asked, nor the command line.
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
  // Whether drafters of the cluster may be used, and of which node; empty: of all.
  std::optional<std::string> NodeToAsk() const;
  engine::DraftOptions ForEngine() const;
  // Whether a model in these files can be drafted for so; an error says why not.
  Status CheckFor(const gguf::ModelFiles& files) const;
};

// The drafters on this machine, with the draft model where the options name one.
class Drafts {
 public:
  // `files` are those of the model that answers, and `model` its options: both models' memories are
  // as large. The reporter is told how far it is.
  // `cluster` says through whom the cluster is reached, where its nodes are to draft.
  static Result<std::unique_ptr<Drafts>> Load(const DraftOptions& flags,
                                              const gguf::ModelFiles& files,
                                              const ModelOptions& model,
                                              const ClusterOptions& cluster, Reporter& reporter);

  // `answers`: null where it is on other machines. Outlives all that is here, as does `network`,
  // which is needed where `cluster` wanted its nodes, and whose owner calls OnEvent.
  engine::ProposerSource& For(engine::LocalModel* answers, net::Network* network = nullptr);
  // Whether there may be other draft tokens now.
  bool OnEvent(const net::Event& event) { return remote_ != nullptr && remote_->OnEvent(event); }
  // Of drafters on other machines.
  std::vector<drafting::RemoteDraftCounts> remote_counts() const {
    return remote_ == nullptr ? std::vector<drafting::RemoteDraftCounts>() : remote_->counts();
  }

 private:
  std::unique_ptr<gguf::ModelFiles> files_;    // of the smaller model
  std::unique_ptr<engine::LocalModel> model_;  // or null
  std::unique_ptr<draft::Proposers> proposers_;
  std::unique_ptr<RemoteDrafts> remote_;  // or null
};

// "drafts: 71.4 % of 120 accepted, 2.10 tokens/step"; nothing where there were no steps.
std::string DescribeDrafts(const engine::DraftCounts& counts);

}  // namespace aster::open
