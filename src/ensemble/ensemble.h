// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Several models that answer one question together: every member answers, every member rates every
// different answer, and the answer is taken that they together hold for the most probable (policy
// *choose*, docs/ensembles.md). Must not know where members are computed, nor the command line.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "ensemble/mailbox.h"
#include "ensemble/member.h"
#include "ensemble/stepped_engine.h"
#include "ensemble/threaded_engine.h"
#include "ensemble/voice.h"

namespace aster::ensemble {

// What became of a member in one answer.
struct Part {
  std::string member;
  double weight = 0;
  bool has_answered = false;
  std::optional<Error> absence = {};  // why it has not answered, or not rated
  engine::RequestCounts counts = {};  // of its own answer
  engine::RequestTimes times = {};
  uint64_t rated_tokens = 0;  // of others' answers, that it computed
};

struct Candidate {
  std::vector<size_t> authors = {};  // members, by their numbers
  std::string text = {};
  double bits_per_byte = 0;              // under all members together; 0 where it is the only one
  std::vector<double> member_bits = {};  // under each, per byte; infinite where it was not rated
};

struct Answer {
  respond::Answered answered;     // the author's, with the token counts of all members
  std::vector<SaidPiece> pieces;  // of it, as they were said
  respond::EndReason reason = respond::EndReason::kStop;
  respond::Usage usage;               // of all members
  size_t chosen = 0;                  // of `candidates`
  std::vector<Candidate> candidates;  // different ones, by their first author
  std::vector<Part> parts;            // of every member

  const std::string& author() const { return parts[candidates[chosen].authors.front()].member; }
};

struct EnsembleOptions {
  // How long members are waited for behind the first answer, and for ratings.
  int64_t wait_ns = int64_t{60} * 1'000'000'000;
};

// An error where the members cannot be an ensemble: none, names or weights that make no sense.
Status CheckMembers(const std::vector<Member>& members);

// Tells a listener the answer as one model would have.
void Tell(const Answer& answer, respond::Listener& listener);

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

  // A question with the prompts of all members.
  class Choosing;
  // Safe for concurrent use. An error, the first member's, where no member can have the question.
  Result<std::shared_ptr<Choosing>> Prepare(const Question& question) const;

  using OnAnswer = std::function<void(Result<Answer>)>;
  // `on_answer` is called by Step, once. An error where no member answers. It may ask more.
  void Ask(std::shared_ptr<Choosing> question, OnAnswer on_answer);
  void Ask(const Question& question, OnAnswer on_answer);
  // Every question is answered.
  bool idle() const { return questions_.empty(); }
  void Step();
  // For callers that have nothing else to do: where only other threads compute, it waits for them
  // for a moment.
  void StepOrWait();
  // A question that is not answered ends as cancelled, at the next step.
  static void Cancel(Choosing& question);
  void CancelAll();

  // Where work of other threads waits for the next step.
  Mailbox& mailbox() { return *mailbox_; }
  const std::vector<Member>& members() const { return members_; }

 private:
  std::vector<Member> WithEngines(std::vector<Member> members);

  Clock& clock_;
  const EnsembleOptions options_;
  const std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
  // Of members that are generators.
  std::vector<std::unique_ptr<SteppedEngine>> stepped_;
  std::vector<std::unique_ptr<ThreadedEngine>> threaded_;
  const std::vector<Member> members_;
  std::vector<std::shared_ptr<Choosing>> questions_;  // that are not answered
};

// One answer, for callers that have nothing else to do. `is_cancelled` (null: never) is called
// before every step.
Result<Answer> AnswerOne(Ensemble& ensemble, const Question& question,
                         const std::function<bool()>& is_cancelled = nullptr);

}  // namespace aster::ensemble
