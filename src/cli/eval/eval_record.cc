// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/eval/eval_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "cli/terminal/seconds.h"
#include "engine/request.h"

namespace aster::cli {

using eval::Question;
using eval::QuestionResult;

std::map<std::string, std::string> EvalSettings(const EvalOptions& options,
                                                const engine::SamplingOptions& sampling,
                                                uint32_t context) {
  std::map<std::string, std::string> settings = {
      {"max_tokens", fmt::format("{}", options.max_tokens)},
      {"context", fmt::format("{}", context)},
      {"kv_type", options.model.kv_type},
      {"kv_window", fmt::format("{}", options.model.kv_window)},
      {"kv_sinks", fmt::format("{}", options.model.kv_sinks)},
      {"temperature", fmt::format("{}", sampling.temperature)},
      {"repetition_penalty", fmt::format("{}", sampling.repetition_penalty)},
      {"presence_penalty", fmt::format("{}", sampling.presence_penalty)},
      {"frequency_penalty", fmt::format("{}", sampling.frequency_penalty)},
      {"penalty_window", fmt::format("{}", sampling.penalty_window)}};
  std::string biases;
  for (const engine::TokenBias& bias : sampling.biases) {
    biases += fmt::format("{}{}={}", biases.empty() ? "" : ",", bias.id, bias.bias);
  }
  if (!biases.empty()) settings["logit_bias"] = biases;
  // On nodes, if this makes other bits than one machine's.
  if (options.cluster.rows != "f32") settings["wire"] = options.cluster.rows;
  if (options.cluster.kv_wire != "exact") settings["kv_wire"] = options.cluster.kv_wire;
  if (sampling.temperature == 0) return settings;
  settings["seed"] = fmt::format("{}", sampling.seed);
  settings["top_k"] = fmt::format("{}", sampling.top_k);
  settings["top_p"] = fmt::format("{}", sampling.top_p);
  settings["min_p"] = fmt::format("{}", sampling.min_p);
  settings["typical_p"] = fmt::format("{}", sampling.typical_p);
  return settings;
}

QuestionResult ResultOf(const Question& question, const eval::Reply& reply) {
  // The judged text is that in the file, which has only valid UTF-8.
  const std::string text = ToValidUtf8(reply.text);
  QuestionResult result{.id = question.id,
                        .category = question.category,
                        .prompt_tokens = reply.counts.prompt,
                        .reply_tokens = reply.counts.generated,
                        .reply = text,
                        .expected = question.answer,
                        .right = eval::IsRight(text, question.answer, question.extract),
                        .finish = std::string(engine::FinishReasonName(reply.reason)),
                        .waited_s = Seconds(reply.times.waited_ns),
                        .prefill_s = Seconds(reply.times.prefill_ns),
                        .decode_s = Seconds(reply.times.decode_ns)};
  const auto found = eval::FindAnswer(text, question.extract);
  if (found) result.extracted = std::string(*found);
  return result;
}

EvalRecord::EvalRecord(const eval::QuestionSet& set, std::span<const size_t> chosen)
    : chosen_(chosen) {
  evaluation_.wanted = chosen.size();
  for (size_t i = 0; i < chosen.size(); ++i) place_.emplace(set.questions[chosen[i]].id, i);
}

Status EvalRecord::Open(eval::ResultHeader header, const std::string& out_path) {
  evaluation_.header = std::move(header);
  if (out_path.empty()) return Ok();
  file_ = TRY(eval::ResultFile::Open(out_path, evaluation_.header));
  for (const QuestionResult& result : file_->earlier()) {
    if (!place_.contains(result.id)) continue;  // from a run with more questions
    evaluation_.results.push_back(result);
    tally_.Add(result);
  }
  evaluation_.resumed = evaluation_.results.size();
  return Ok();
}

std::vector<size_t> EvalRecord::Unanswered() const {
  std::vector<bool> is_there(chosen_.size());
  for (const QuestionResult& result : evaluation_.results) is_there[place_.at(result.id)] = true;
  std::vector<size_t> unanswered;
  for (size_t i = 0; i < chosen_.size(); ++i) {
    if (!is_there[i]) unanswered.push_back(chosen_[i]);
  }
  return unanswered;
}

Status EvalRecord::Add(QuestionResult result) {
  if (file_) TRY(file_->Add(result));
  tally_.Add(result);
  evaluation_.results.push_back(std::move(result));
  return Ok();
}

void EvalRecord::CountTime(int64_t asked_ns) { evaluation_.seconds = Seconds(asked_ns); }

std::string EvalRecord::Progress() const {
  return fmt::format("{}: {} of {}, {:.1f} % right", evaluation_.header.model,
                     evaluation_.results.size(), chosen_.size(), 100 * tally_.rate());
}

Evaluation EvalRecord::Take(std::string model, uint32_t context) {
  evaluation_.model = std::move(model);
  evaluation_.context = context;
  std::ranges::sort(evaluation_.results, {},
                    [&](const QuestionResult& result) { return place_.at(result.id); });
  return std::move(evaluation_);
}

}  // namespace aster::cli
