// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The options of `aster run`, and the resulting settings of the engine. Must not know how an answer
// is made or shown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "chat/prompt.h"
#include "cli/options/ensemble_options.h"
#include "cli/options/sampling_options.h"
#include "open/cluster_options.h"
#include "open/drafts.h"
#include "open/model_options.h"
#include "respond/conversation.h"

namespace aster::cli {

struct RunOptions {
  open::ModelOptions model;
  open::ClusterOptions cluster;
  open::DraftOptions draft;
  EnsembleFlags ensemble;
  bool explain = false;  // the plan; for an ensemble: the author, and why the answer was taken

  std::optional<std::string> prompt;
  std::string prompt_path;
  std::string ids_path;
  std::string system;
  bool raw = false;
  std::string think;        // empty: the model's default
  std::string schema_path;  // of the answer's form; empty: none
  std::string grammar_path;
  std::string tools_path;
  std::string session;      // a name or a path to continue; empty: a new conversation
  bool text_alone = false;  // of the session

  std::optional<uint64_t> max_tokens;
  uint32_t context = 0;  // 0: the model's training context
  SamplingFlags sampling;
  std::vector<std::string> stops;
  bool ignore_eos = false;

  bool json = false;
  bool quiet = false;
  bool no_history = false;

  void Declare(CLI::App& app);
  // All options but the session.
  void DeclareWithoutSession(CLI::App& app);
  // The prompt as text, from wherever it was given.
  Result<std::string> ReadPrompt() const;
  chat::ReasoningEffort Effort() const;
  bool has_form() const { return !schema_path.empty() || !grammar_path.empty(); }
  // Whether an answer may have parts besides text.
  bool shows_parts() const { return has_form() || !tools_path.empty(); }
  // Where earlier entries are stored; empty if the user has no folder for them.
  std::string HistoryPath() const;
  Result<respond::Settings> Settings(uint32_t vocab_size) const;
  // The common part of all turns: the form of answers, tools. Reads their files.
  Result<respond::Conversation> Base() const;
};

}  // namespace aster::cli
