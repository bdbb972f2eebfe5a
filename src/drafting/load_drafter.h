// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Loads the drafters that a node has for others. Must not know the command line.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "drafting/draft_node.h"
#include "engine/local_model.h"
#include "gguf/model_files.h"

namespace aster::drafting {

// A model, of which only the vocabulary counts, and its drafter.
struct DraftFor {
  std::string model;         // for people
  std::string model_path;    // its file, of which only the vocabulary is read
  std::string drafter;       // for people; "ngram": n-gram lookup
  std::string drafter_path;  // of a draft model
};

// Folders with texts that n-gram lookup may use; empty: none.
struct TextFolders {
  std::string sessions;
  std::string pages;  // of the KV cache on the disk

  bool any() const { return !sessions.empty() || !pages.empty(); }
};

// An error unless both have the same tokens. If one names no tokens, only their number is compared.
Status CheckSameVocabulary(const gguf::ModelFiles& answers, const gguf::ModelFiles& drafts);

// `options` are those of a draft model. The clock outlives it.
Result<OwnDrafter> LoadDrafter(const DraftFor& wanted, const engine::LocalModelOptions& options,
                               const TextFolders& folders, Clock& clock);

}  // namespace aster::drafting
