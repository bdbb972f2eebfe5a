// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What becomes of an evaluation's questions while they are asked: results, the file that holds
// them, the score so far. Must not know who answers, nor how results are shown.
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
#include "eval/asker.h"
#include "eval/questions.h"
#include "eval/result_file.h"
#include "eval/results.h"
#include "eval/score.h"

namespace aster::cli {

struct Evaluation {
  std::string model;  // its path
  eval::ResultHeader header;
  std::vector<eval::QuestionResult> results;  // in the order of the questions
  uint32_t context = 0;                       // tokens of question and reply
  uint64_t wanted = 0;                        // questions; more than results where interrupted
  uint64_t resumed = 0;                       // results that were there before
  double seconds = 0;                         // of asking
  engine::DraftCounts drafts = {};            // of this run
};

// Everything that changes replies; threads and how many are asked at once do not.
std::map<std::string, std::string> EvalSettings(const EvalOptions& options,
                                                const engine::SamplingOptions& sampling,
                                                uint32_t context);
eval::QuestionResult ResultOf(const eval::Question& question, const eval::Reply& reply);

class EvalRecord {
 public:
  // Of set.questions[chosen[i]]; both outlive it.
  EvalRecord(const eval::QuestionSet& set, std::span<const size_t> chosen);

  // Takes over what the file (an empty path: none) has already.
  Status Open(eval::ResultHeader header, const std::string& out_path);
  // Numbers of the questions, in the set, that have no result.
  std::vector<size_t> Unanswered() const;

  Status Add(eval::QuestionResult result);
  void CountDrafts(const engine::DraftCounts& counts) { evaluation_.drafts += counts; }
  void CountTime(int64_t asked_ns);
  // "nova.gguf: 12 of 501, 91.7 % right"
  std::string Progress() const;

  // The evaluation, at the end; nothing may follow.
  Evaluation Take(std::string model, uint32_t context);

 private:
  const std::span<const size_t> chosen_;
  std::unordered_map<std::string_view, size_t> place_;  // of an id, in chosen_
  Evaluation evaluation_;
  std::optional<eval::ResultFile> file_;
  eval::Tally tally_;
};

}  // namespace aster::cli
