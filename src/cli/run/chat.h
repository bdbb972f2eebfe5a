// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A conversation with a model: what was said, and the sequence that remembers it, of which only
// what is new in each turn is computed. Must not know terminals.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "chat/prompt.h"
#include "cli/run/conversation.h"
#include "engine/answering.h"
#include "engine/generate.h"
#include "engine/sequence.h"

namespace aster::cli {

// What happens while an answer is made.
struct ChatSinks {
  std::function<void(uint64_t done, uint64_t total)> on_prefill;
  std::function<void(std::string_view text)> on_text;
  std::function<bool()> is_cancelled;  // null: never
};

struct ChatTotals {
  uint64_t answers = 0;
  engine::RequestCounts counts;
  engine::RequestTimes times;
};

// Everything it is made of outlives it. Belongs to the thread that computes.
class Chat {
 public:
  // `request` says how to answer; sequence and callbacks are the chat's own.
  Chat(engine::Answering& answering, const ChatPrompt& prompt, engine::Request request,
       std::string system);

  // An error leaves the conversation as it was. A cancelled answer stays as far as it came.
  Result<engine::Generated> Ask(const std::string& text, const ChatSinks& sinks);
  // The last answer once more, with other luck; FailedPrecondition where there is none.
  Result<engine::Generated> Regenerate(const ChatSinks& sinks);
  // Takes back the last question and its answer; FailedPrecondition where there is none.
  Status Undo();
  void Reset();
  // Another system message, and nothing said yet.
  void SetSystem(std::string text);

  // What was said, and the tokens that it stands for; and that again, instead of what was said. The
  // tokens must be of the same vocabulary.
  Conversation conversation() const;
  void Restore(Conversation conversation);

  const std::vector<Message>& messages() const { return messages_; }
  const engine::Sequence& sequence() const { return sequence_; }
  // For rows to be taken from or given to; its history stays.
  engine::Sequence& sequence() { return sequence_; }
  const ChatPrompt& prompt() const { return prompt_; }
  uint32_t context_limit() const;
  const ChatTotals& totals() const { return totals_; }

 private:
  // The last prompt and its answer, up to what ended it.
  struct Said {
    std::string marked;  // empty where the answer's tokens do not stand for its text alone
    std::vector<int32_t> tokens;
  };

  // The tokens to answer, and the marked text that they stand for.
  Result<std::vector<int32_t>> TokensFor(std::string& marked) const;
  Result<engine::Generated> Answer(const ChatSinks& sinks);
  bool GoBack();
  void Remember(std::string marked, const engine::Generated& answer);
  void AddToTotals(const engine::Finish& finish);

  engine::Answering& answering_;
  const ChatPrompt& prompt_;
  const engine::Request request_;
  std::string system_;
  std::vector<Message> messages_;  // without the system message
  uint64_t extra_seed_ = 0;        // so that an answer asked for again is another

  engine::Sequence sequence_;
  Said said_;
  std::vector<Said> earlier_;  // before each question, as far as this chat has seen them asked
  ChatTotals totals_;
};

}  // namespace aster::cli
