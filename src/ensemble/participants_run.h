// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A question in which members take part: the common part of policies that ask the members, wait for
// them and count their work. Must not know how they make an answer.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ensemble/question_run.h"

namespace aster::ensemble {

template <class Participant>
class ParticipantsRun : public QuestionRun,
                        public std::enable_shared_from_this<ParticipantsRun<Participant>> {
 public:
  bool is_askable() const override {
    return std::ranges::any_of(participants_,
                               [](const auto& participant) { return participant->is_askable(); });
  }
  uint64_t prompt_tokens() const override {
    uint64_t tokens = 0;
    for (const auto& participant : participants_) tokens += participant->prompt().tokens.size();
    return tokens;
  }
  Error NoAnswer() const override {
    for (size_t i = 0; i < participants_.size(); ++i) {
      const auto& absence = participants_[i]->absence();
      if (absence) return Error(*absence).In(members_[i].name);
    }
    return {Code::kInternal, "no member was asked"};
  }
  void Cancel() override {
    for (const auto& participant : participants_) participant->Leave(Cancelled());
    is_cancelled_ = true;
  }

 protected:
  explicit ParticipantsRun(const QuestionContext& context)
      : members_(context.members),
        policy_reason_(context.policy_reason),
        clock_(context.clock),
        wait_ns_(context.wait_ns) {}

  // Runs a participant's posted work on the ensemble's thread, unless the question is gone.
  typename Participant::Post PostOf(size_t i, const std::shared_ptr<Mailbox>& mailbox) {
    return [mailbox, i, weak = this->weak_from_this()](std::function<void(Participant&)> work) {
      mailbox->Post([weak, i, work = std::move(work)] {
        if (const auto question = weak.lock()) work(*question->participants_[i]);
      });
    };
  }

  size_t CountPresent() const {
    return static_cast<size_t>(std::ranges::count_if(
        participants_, [](const auto& participant) { return participant->is_present(); }));
  }
  // Whether a participant is done and waits for the others.
  bool IsAnyReady() const {
    return std::ranges::any_of(participants_,
                               [](const auto& participant) { return participant->is_ready(); });
  }
  // The first of the present members with the largest weight.
  std::optional<size_t> Weightiest() const {
    std::optional<size_t> best;
    for (size_t i = 0; i < participants_.size(); ++i) {
      const bool is_better = !best || members_[i].weight > members_[*best].weight;
      if (participants_[i]->is_present() && is_better) best = i;
    }
    return best;
  }

  // The wait begins when the first member is done: the others get this much time.
  bool IsLate() {
    if (!deadline_ns_) deadline_ns_ = clock_.NowNs() + wait_ns_;
    return clock_.NowNs() >= *deadline_ns_;
  }
  void RestartWait() { deadline_ns_.reset(); }
  Error Late() const {
    return {Code::kDeadlineExceeded, fmt::format("not done {:.1f} s after others were",
                                                 static_cast<double>(wait_ns_) * 1e-9)};
  }
  // Whether no participant is awaited: all are done, or their time since the first one was done
  // (`has_first`) is over.
  bool IsWaitOver(bool has_first) {
    const auto is_awaited = [](const auto& participant) { return participant->is_awaited(); };
    if (std::ranges::none_of(participants_, is_awaited)) return true;
    if (!deadline_ns_ && !has_first) return false;
    if (!IsLate()) return false;
    for (const auto& participant : participants_) {
      if (participant->is_awaited()) participant->Leave(Late());
    }
    return true;
  }

  // For a participant that writes an answer with others.
  static void AddPart(Part part, engine::Finish& finish, Answer& answer) {
    AddCounts(part.counts, finish.counts);
    AddUsage({.prompt = part.counts.prompt,
              .cached = part.counts.cached,
              .answer = part.counts.generated,
              .drafted = part.counts.drafts.drafted,
              .accepted = part.counts.drafts.accepted,
              .times = part.times},
             answer.usage);
    finish.times = answer.usage.times;
    answer.parts.push_back(std::move(part));
  }
  // Members that wrote some of the bytes, the one with the most first.
  static std::vector<size_t> AuthorsOf(const std::vector<uint64_t>& bytes) {
    std::vector<size_t> authors;
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] > 0) authors.push_back(i);
    }
    std::ranges::stable_sort(authors, [&](size_t a, size_t b) { return bytes[a] > bytes[b]; });
    return authors;
  }

  static Error Cancelled() { return {Code::kCancelled, "the question was cancelled"}; }

  const std::vector<Member>& members_;
  const std::string policy_reason_;
  std::vector<std::unique_ptr<Participant>> participants_;  // of every member
  OnAnswer on_answer_;
  bool is_cancelled_ = false;

 private:
  const Clock& clock_;
  const int64_t wait_ns_;
  std::optional<int64_t> deadline_ns_;  // of awaited members
};

}  // namespace aster::ensemble
