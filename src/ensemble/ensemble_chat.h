// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A conversation that several models answer together: each turn is a question with the whole
// conversation before it, whose KV pages each member has kept. Must not know terminals, nor how
// answers are chosen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ensemble/ensemble.h"
#include "respond/dialogue.h"
#include "respond/turn.h"

namespace aster::ensemble {

// Belongs to the ensemble's thread.
class EnsembleChat final : public respond::Dialogue {
 public:
  // The ensemble outlives it. `base` has the common part of all turns besides their messages.
  EnsembleChat(Ensemble& ensemble, respond::Settings settings, respond::Conversation base,
               std::string system, uint32_t context_limit);

  Result<respond::Answered> Ask(const std::string& text, respond::Listener& listener,
                                const IsCancelled& is_cancelled) override;
  Result<respond::Answered> GiveResults(const std::vector<std::string>& results,
                                        respond::Listener& listener,
                                        const IsCancelled& is_cancelled) override;
  Result<respond::Answered> Regenerate(respond::Listener& listener,
                                       const IsCancelled& is_cancelled) override;
  Status Undo() override;
  void Reset() override;
  void SetSystem(std::string text) override;
  void SetSettings(respond::Settings settings) override { settings_ = std::move(settings); }
  const respond::Settings& settings() const override { return settings_; }
  const std::vector<respond::Call>& open_calls() const override { return open_calls_; }
  size_t message_count() const override { return turns_.size(); }
  const respond::ChatTotals& totals() const override { return totals_; }
  // The context use of the member with the most tokens.
  respond::ContextUse context() const override;
  // How the last answer was made; nullopt before the first.
  const std::optional<Answer>& last_answer() const { return last_; }

 private:
  // Appends these turns and the answer to them.
  Result<respond::Answered> AnswerTo(const std::vector<respond::Turn>& turns,
                                     respond::Listener& listener, const IsCancelled& is_cancelled);

  Ensemble& ensemble_;
  respond::Settings settings_;
  const respond::Conversation base_;
  std::string system_;
  const uint32_t context_limit_;  // tokens

  std::vector<respond::Turn> turns_;  // without the system message
  std::vector<respond::Call> open_calls_;
  uint64_t extra_seed_ = 0;  // changes when an answer is regenerated
  std::optional<Answer> last_;
  respond::ChatTotals totals_;
};

}  // namespace aster::ensemble
