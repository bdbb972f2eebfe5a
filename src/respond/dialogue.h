// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A conversation as a person holds it, whatever answers: one model (chat.h) or several
// (ensemble/ensemble_chat.h). Must not know terminals, nor how answers are made.
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
  uint64_t held_bytes = 0;  // of memory; 0: not known here
};

class Dialogue {
 public:
  virtual ~Dialogue() = default;

  using IsCancelled = std::function<bool()>;  // null: never

  // An error leaves the conversation as it was.
  virtual Result<Answered> Ask(const std::string& text, Listener& listener,
                               const IsCancelled& is_cancelled) = 0;
  // Goes on behind the open calls: a result for each, in their order.
  virtual Result<Answered> GiveResults(const std::vector<std::string>& results, Listener& listener,
                                       const IsCancelled& is_cancelled) = 0;
  // The last answer once more, with another draw; FailedPrecondition where there is none.
  virtual Result<Answered> Regenerate(Listener& listener, const IsCancelled& is_cancelled) = 0;
  // Takes back the last question and all that followed; FailedPrecondition where there is none.
  virtual Status Undo() = 0;
  virtual void Reset() = 0;
  // Another system message, and nothing said yet.
  virtual void SetSystem(std::string text) = 0;
  // For the answers from now on.
  virtual void SetSettings(Settings settings) = 0;
  virtual const Settings& settings() const = 0;

  // Calls in the last answer: their results are waited for.
  virtual const std::vector<Call>& open_calls() const = 0;
  virtual size_t message_count() const = 0;
  virtual const ChatTotals& totals() const = 0;
  virtual ContextUse context() const = 0;
};

}  // namespace aster::respond
