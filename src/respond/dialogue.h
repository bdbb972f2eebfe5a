// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A conversation with a user, answered by one model (chat.h) or several (ensemble/ensemble_chat.h).
// Must not know terminals, nor how answers are made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "respond/conversation.h"
#include "respond/run.h"

namespace aster::respond {

struct ChatTotals {
  uint64_t answers = 0;
  engine::RequestCounts counts;
  engine::RequestTimes times;

  void Add(const engine::Finish& finish) {
    ++answers;
    counts.prompt += finish.counts.prompt;
    counts.cached += finish.counts.cached;
    counts.generated += finish.counts.generated;
    counts.drafts += finish.counts.drafts;
    times.prefill_ns += finish.times.prefill_ns;
    times.decode_ns += finish.times.decode_ns;
  }
};

struct ContextUse {
  uint64_t tokens = 0;
  uint64_t limit_tokens = 0;
  uint64_t held_bytes = 0;  // of memory; 0: unknown here
};

class Dialogue {
 public:
  virtual ~Dialogue() = default;

  using IsCancelled = std::function<bool()>;  // null: never

  // An error leaves the conversation as it was.
  virtual Result<Answered> Ask(const std::string& text, Listener& listener,
                               const IsCancelled& is_cancelled) = 0;
  // Continues after the open calls, with a result for each, in their order.
  virtual Result<Answered> GiveResults(const std::vector<std::string>& results, Listener& listener,
                                       const IsCancelled& is_cancelled) = 0;
  // The last answer again, with another seed; FailedPrecondition if there is none.
  virtual Result<Answered> Regenerate(Listener& listener, const IsCancelled& is_cancelled) = 0;
  // Removes the last question and everything after it; FailedPrecondition if there is none.
  virtual Status Undo() = 0;
  virtual void Reset() = 0;
  // Sets another system message, and empties the conversation.
  virtual void SetSystem(std::string text) = 0;
  // For later answers.
  virtual void SetSettings(Settings settings) = 0;
  virtual const Settings& settings() const = 0;

  // Calls in the last answer, which wait for their results.
  virtual const std::vector<Call>& open_calls() const = 0;
  virtual size_t message_count() const = 0;
  virtual const ChatTotals& totals() const = 0;
  virtual ContextUse context() const = 0;
};

}  // namespace aster::respond
