// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The drafter, as a person names it, and the smaller model where that is one. Must not
// know what is asked, nor the command line.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "draft/proposers.h"
#include "engine/request.h"
#include "open/model_options.h"
#include "open/reporter.h"

namespace aster::open {

struct DraftOptions {
  std::string draft;  // "mtp", "ngram", or a model; empty: no drafts
  uint32_t most = 4;

  bool wanted() const { return !draft.empty(); }
  engine::DraftOptions ForEngine() const;
  // Whether a model in these files can be drafted for so; an error says why not.
  Status CheckFor(const gguf::ModelFiles& files) const;
};

// The drafters on this machine, with the draft model where the options name one.
class Drafts {
 public:
  // `files` are those of the model that answers, and `model` its options: both models' memories are
  // as large. The reporter is told how far it is.
  static Result<std::unique_ptr<Drafts>> Load(const DraftOptions& flags,
                                              const gguf::ModelFiles& files,
                                              const ModelOptions& model, Reporter& reporter);

  // `answers`: null where it is on other machines. Outlived by all that is here.
  engine::ProposerSource& For(engine::LocalModel* answers);

 private:
  std::unique_ptr<gguf::ModelFiles> files_;    // of the smaller model
  std::unique_ptr<engine::LocalModel> model_;  // or null
  std::unique_ptr<draft::Proposers> proposers_;
};

// "drafts: 71.4 % of 120 accepted, 2.10 tokens/step"; nothing where there were no steps.
std::string DescribeDrafts(const engine::DraftCounts& counts);

}  // namespace aster::open
