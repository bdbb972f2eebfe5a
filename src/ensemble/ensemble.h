// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Several models that answer questions together, by one of the policies (docs/ensembles.md). Must
// not know where members are computed, nor the command line.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "ensemble/answer.h"
#include "ensemble/asked.h"
#include "ensemble/mailbox.h"
#include "ensemble/member.h"
#include "ensemble/question.h"
#include "ensemble/stepped_engine.h"
#include "ensemble/threaded_engine.h"

namespace aster::ensemble {

struct EnsembleOptions {
  Policy policy = Policy::kChoose;
  // How long members are waited for behind the first answer, and for ratings.
  int64_t wait_ns = int64_t{60} * 1'000'000'000;
};

// An error where the members cannot be an ensemble: none, names or weights that make no sense.
Status CheckMembers(const std::vector<Member>& members);

// The same answers in whatever order members compute, and with however many questions at once: what
// is decided does not depend on time, unless a member fails or is not waited for any more; the
// answer says so then, and the next question asks it again. One thread calls all but what is said
// to be safe.
class Ensemble {
 public:
  // Members that CheckMembers accepts; what they name outlives it, as does the clock.
  Ensemble(std::vector<Member> members, Clock& clock, EnsembleOptions options = {});
  // Requests that are not finished are cancelled.
  ~Ensemble();
  Ensemble(const Ensemble&) = delete;
  Ensemble& operator=(const Ensemble&) = delete;

  // A question with the prompts of all members. Safe for concurrent use. An error, the first
  // member's, where no member can have the question.
  Result<std::shared_ptr<Asked>> Prepare(const Question& question) const;

  // `on_answer` is called by Step, once. An error where no member answers. It may ask more. What is
  // certain before the end is told to `on_piece` (or null).
  void Ask(std::shared_ptr<Asked> question, OnAnswer on_answer, OnPiece on_piece = nullptr);
  void Ask(const Question& question, OnAnswer on_answer, OnPiece on_piece = nullptr);
  // Every question is answered.
  bool idle() const { return questions_.empty(); }
  void Step();
  // For callers that have nothing else to do: where only other threads compute, it waits for them
  // for a moment.
  void StepOrWait();
  // A question that is not answered ends as cancelled, at the next step.
  static void Cancel(Asked& question);
  void CancelAll();

  // Where work of other threads waits for the next step.
  Mailbox& mailbox() { return *mailbox_; }
  const std::vector<Member>& members() const { return members_; }
  Policy policy() const { return options_.policy; }

 private:
  std::vector<Member> WithEngines(std::vector<Member> members);
  std::vector<std::unique_ptr<const Spelling>> Spellings() const;
  std::shared_ptr<Asked> Make(const Question& question) const;
  struct Decided {
    Policy policy;
    std::string_view reason = {};  // where another was asked for
  };
  Decided PolicyFor(const Question& question) const;

  Clock& clock_;
  const EnsembleOptions options_;
  const std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
  // Of members that are generators.
  std::vector<std::unique_ptr<SteppedEngine>> stepped_;
  std::vector<std::unique_ptr<ThreadedEngine>> threaded_;
  const std::vector<Member> members_;
  const std::vector<std::unique_ptr<const Spelling>> spellings_;
  mutable std::atomic<uint64_t> conversations_ = 0;  // that were begun
  std::vector<std::shared_ptr<Asked>> questions_;    // that are not answered
};

// One answer, for callers that have nothing else to do. `is_cancelled` (null: never) is called
// before every step.
Result<Answer> AnswerOne(Ensemble& ensemble, const Question& question,
                         const std::function<bool()>& is_cancelled = nullptr,
                         OnPiece on_piece = nullptr);

}  // namespace aster::ensemble
