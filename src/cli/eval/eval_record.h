// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// An evaluation in progress: results, their file, the score so far. Must not know who answers, nor
// how results are shown.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "cli/eval/eval_options.h"
#include "engine/sampler.h"
#include "engine/speculation.h"
#include "eval/prompt_runner.h"
#include "eval/questions.h"
#include "eval/result_file.h"
#include "eval/results.h"
#include "eval/score.h"

namespace aster::cli {

struct Evaluation {
  std::string model;  // its path
  eval::ResultHeader header;
  std::vector<eval::QuestionResult> results;  // in the order of the questions
  uint32_t context = 0;                       // of question and reply
  uint64_t wanted = 0;                        // questions; more than results if interrupted
  uint64_t resumed = 0;                       // results from earlier runs
  double seconds = 0;                         // of asking
  engine::DraftCounts drafts = {};            // of this run
};

// All settings that change replies; not threads, nor the number of concurrent questions.
std::map<std::string, std::string> EvalSettings(const EvalOptions& options,
                                                const engine::SamplingOptions& sampling,
                                                uint32_t context);
eval::QuestionResult ResultOf(const eval::Question& question, const eval::Reply& reply);

class EvalRecord {
 public:
  // For set.questions[chosen[i]]; both outlive it.
  EvalRecord(const eval::QuestionSet& set, std::span<const size_t> chosen);

  // Loads the existing results of the file (empty path: none).
  Status Open(eval::ResultHeader header, const std::string& out_path);
  // Indices of the set's questions without a result.
  std::vector<size_t> Unanswered() const;

  Status Add(eval::QuestionResult result);
  void CountDrafts(const engine::DraftCounts& counts) { evaluation_.drafts += counts; }
  void CountTime(int64_t asked_ns);
  // "nova.gguf: 12 of 501, 91.7 % right"
  std::string Progress() const;

  // Returns the evaluation at the end; call nothing after it.
  Evaluation Take(std::string model, uint32_t context);

 private:
  const std::span<const size_t> chosen_;
  std::unordered_map<std::string_view, size_t> place_;  // index of an id in chosen_
  Evaluation evaluation_;
  std::optional<eval::ResultFile> file_;
  eval::Tally tally_;
};

}  // namespace aster::cli
