// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Several models that answer questions together, with one of the policies (docs/ensembles.md). Must
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
#include "ensemble/mailbox.h"
#include "ensemble/member.h"
#include "ensemble/question.h"
#include "ensemble/question_run.h"
#include "ensemble/stepped_engine.h"
#include "ensemble/threaded_engine.h"

namespace aster::ensemble {

struct EnsembleOptions {
  Policy policy = Policy::kChoose;
  // How long members may take after the first answer, and for ratings.
  int64_t wait_ns = int64_t{60} * 1'000'000'000;
};

// An error if the members cannot be an ensemble: none, or invalid names or weights.
Status CheckMembers(const std::vector<Member>& members);

// The answers do not depend on the order in which members compute, nor on other questions:
// decisions do not depend on time, unless a member fails or exceeds its time; then the answer says
// so, and the next question asks the member again. One thread makes all calls, except those marked
// as safe.
class Ensemble {
 public:
  // Members must pass CheckMembers; what they refer to outlives it, as does the clock.
  Ensemble(std::vector<Member> members, Clock& clock, EnsembleOptions options = {});
  // Cancels unfinished requests.
  ~Ensemble();
  Ensemble(const Ensemble&) = delete;
  Ensemble& operator=(const Ensemble&) = delete;

  // A question with the prompts of all members. Safe for concurrent use. The first member's error
  // if no member can take the question.
  Result<std::shared_ptr<QuestionRun>> Prepare(const Question& question) const;

  // Step calls `on_answer` once, with an error if no member answers. It may ask more questions.
  // `on_piece` (or null) gets the parts that are certain before the end.
  void Ask(std::shared_ptr<QuestionRun> question, OnAnswer on_answer, OnPiece on_piece = nullptr);
  void Ask(const Question& question, OnAnswer on_answer, OnPiece on_piece = nullptr);
  // Every question is answered.
  bool idle() const { return questions_.empty(); }
  void Step();
  // For callers without other work: if only other threads compute, it waits for them briefly.
  void StepOrWait();
  // An unanswered question ends as cancelled, at the next step.
  static void Cancel(QuestionRun& question);
  void CancelAll();

  // Where other threads post work for the next step.
  Mailbox& mailbox() { return *mailbox_; }
  const std::vector<Member>& members() const { return members_; }
  Policy policy() const { return options_.policy; }

 private:
  std::vector<Member> WithEngines(std::vector<Member> members);
  std::vector<std::unique_ptr<const Spelling>> Spellings() const;
  std::shared_ptr<QuestionRun> Make(const Question& question) const;
  struct Decided {
    Policy policy;
    std::string_view reason = {};  // if another one was asked for
  };
  Decided PolicyFor(const Question& question) const;

  Clock& clock_;
  const EnsembleOptions options_;
  const std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
  // The engines of members that are generators.
  std::vector<std::unique_ptr<SteppedEngine>> stepped_;
  std::vector<std::unique_ptr<ThreadedEngine>> threaded_;
  const std::vector<Member> members_;
  const std::vector<std::unique_ptr<const Spelling>> spellings_;
  mutable std::atomic<uint64_t> conversations_ = 0;      // begun so far
  std::vector<std::shared_ptr<QuestionRun>> questions_;  // not answered yet
};

// One answer, for callers without other work. `is_cancelled` (null: never) is called before every
// step.
Result<Answer> AnswerOne(Ensemble& ensemble, const Question& question,
                         const std::function<bool()>& is_cancelled = nullptr,
                         OnPiece on_piece = nullptr);

}  // namespace aster::ensemble
