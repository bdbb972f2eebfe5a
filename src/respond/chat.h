// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A conversation with a model: its messages, and the sequence whose KV cache has them, so that each
// turn computes only its new tokens. Must not know terminals or files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/prompt.h"
#include "engine/generator.h"
#include "engine/sequence.h"
#include "respond/conversation.h"
#include "respond/dialogue.h"
#include "respond/run.h"
#include "respond/transcript.h"
#include "respond/turn.h"

namespace aster::respond {

// All references outlive it. Belongs to the thread that computes.
class Chat final : public Dialogue {
 public:
  // `base` has the common part of all turns: tools, form, reasoning.
  Chat(engine::Generator& generator, const Model& model, Settings settings, Conversation base,
       std::string system);

  // A cancelled answer is kept up to that point.
  Result<Answered> Ask(const std::string& text, Listener& listener,
                       const IsCancelled& is_cancelled = nullptr) override;
  Result<Answered> GiveResults(const std::vector<std::string>& results, Listener& listener,
                               const IsCancelled& is_cancelled = nullptr) override;
  Result<Answered> Regenerate(Listener& listener,
                              const IsCancelled& is_cancelled = nullptr) override;
  Status Undo() override;
  void Reset() override;
  void SetSystem(std::string text) override;
  void SetSettings(Settings settings) override { settings_ = std::move(settings); }
  const Settings& settings() const override { return settings_; }
  const std::vector<Call>& open_calls() const override { return open_calls_; }

  // The messages with their tokens; and a method to replace both. The tokens must be of the same
  // vocabulary.
  Transcript transcript() const;
  void Restore(Transcript transcript);

  size_t message_count() const override { return messages_.size(); }
  const engine::Sequence& sequence() const { return sequence_; }
  // The sequence, for exporting and importing KV rows; its history must not change.
  engine::Sequence& sequence() { return sequence_; }
  bool has_template() const { return model_.prompt->has_template(); }
  uint32_t context_limit() const;
  const ChatTotals& totals() const override { return totals_; }
  ContextUse context() const override;

 private:
  // The last prompt and its answer, without what ended it.
  struct Exchange {
    std::string marked;  // empty if the answer's tokens have no known text
    std::vector<int32_t> tokens;
  };

  Result<Prompt> MakeTurn() const;
  Result<Answered> Answer(Listener& listener, const IsCancelled& is_cancelled);
  Result<Answered> AnswerTo(std::vector<Turn> turns, Listener& listener,
                            const IsCancelled& is_cancelled);
  void Keep(const Prompt& prompt, const Answered& answered);
  void AddAnswer(const std::string& text, const Reply& reply);
  bool RemoveAnswers(size_t answers);

  engine::Generator& generator_;
  const Model& model_;
  Settings settings_;
  const Conversation base_;
  std::string system_;
  std::vector<Turn> messages_;  // without the system message
  std::vector<Call> open_calls_;
  uint64_t extra_seed_ = 0;  // changes when an answer is regenerated

  engine::Sequence sequence_;
  Exchange last_;
  std::vector<Exchange> earlier_;  // before each answer, as far as this chat made them
  ChatTotals totals_;
};

}  // namespace aster::respond
