// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// One member's part in an answer that is written symbol by symbol: the logits after its prompt and
// tokens. Must not know the other members, nor what is decided by it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "ensemble/member.h"
#include "ensemble/question.h"

namespace aster::ensemble {

// Belongs to the ensemble's thread. Requests end by themselves once their participant is gone.
class RowParticipant {
 public:
  // Calls the function with this participant on the ensemble's thread, unless the question is gone;
  // safe for concurrent use.
  using Post = std::function<void(std::function<void(RowParticipant&)>)>;

  // Constructed on any thread. The member outlives it. `conversation`: a unique number.
  RowParticipant(const Member& member, const Question& question, uint64_t conversation);
  ~RowParticipant();
  RowParticipant(const RowParticipant&) = delete;
  RowParticipant& operator=(const RowParticipant&) = delete;

  void Begin(Post post) { post_ = std::move(post); }
  // Releases what its engine has kept.
  void Forget();

  // The member has a weight and can take the question.
  bool is_askable() const { return is_askable_; }
  bool is_present() const { return is_askable_ && !absence_; }
  bool is_awaited() const { return is_present() && awaited_ > 0; }
  bool is_ready() const { return is_present() && !is_awaited(); }
  const std::optional<Error>& absence() const { return absence_; }
  // It drops out. Requests in flight are cancelled.
  void Leave(Error why);

  // Requests the logits after these tokens; `is_only`: there is no other history.
  void Want(size_t history, const std::vector<int32_t>& tokens, bool is_only);
  bool has_asked() const { return has_asked_; }
  // All requested rows, by their numbers.
  std::map<size_t, std::vector<float>> TakeRows();

  const respond::Prompt& prompt() const { return own_.prompt; }
  const PreparedQuestion& question() const { return own_; }
  const engine::RequestCounts& counts() const { return counts_; }
  const engine::RequestTimes& times() const { return times_; }
  uint64_t computed_tokens() const { return computed_tokens_; }

 private:
  void OnRow(size_t history, const engine::Finish& finish, std::vector<float> row);

  const Member& member_;
  const uint64_t conversation_;
  const std::string client_;
  PreparedQuestion own_;
  bool is_askable_ = false;
  Post post_;
  const std::shared_ptr<std::atomic<bool>> is_dropped_ = std::make_shared<std::atomic<bool>>(false);
  size_t awaited_ = 0;
  bool has_asked_ = false;  // since rows were taken
  bool has_begun_ = false;  // a request
  std::optional<Error> absence_;
  std::map<size_t, std::vector<float>> rows_;
  engine::RequestCounts counts_;
  engine::RequestTimes times_;
  uint64_t computed_tokens_ = 0;
};

}  // namespace aster::ensemble
