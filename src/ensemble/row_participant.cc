// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/row_participant.h"

#include <span>
#include <utility>

#include "ensemble/answer.h"

namespace aster::ensemble {

RowParticipant::RowParticipant(const Member& member, const Question& question,
                               uint64_t conversation)
    : member_(member), conversation_(conversation), client_(question.client) {
  if (member.weight == 0) return;
  auto prepared = PrepareQuestion(member, question);
  is_askable_ = prepared.ok();
  if (prepared.ok()) {
    own_ = *std::move(prepared);
  } else {
    absence_ = prepared.error();
  }
}

RowParticipant::~RowParticipant() { *is_dropped_ = true; }

void RowParticipant::Forget() {
  if (has_begun_) member_.engine->Forget(conversation_);
}

void RowParticipant::Leave(Error why) {
  if (!absence_) absence_ = std::move(why);
  *is_dropped_ = true;
}

void RowParticipant::Want(size_t history, const std::vector<int32_t>& tokens, bool is_only) {
  has_asked_ = true;
  ++awaited_;
  // With several histories, each is a branch.
  Work work{.client = client_,
            .prompt = own_.prompt.tokens,
            .is_followup = std::exchange(has_begun_, true),
            .conversation = conversation_,
            .is_branch = !is_only};
  work.prompt.insert(work.prompt.end(), tokens.begin(), tokens.end());
  work.request.max_tokens = 0;
  work.request.context_limit = own_.settings.context_limit;
  const auto row = std::make_shared<std::vector<float>>();
  work.request.rows = {
      .kind = engine::PromptRows::Kind::kLogits,
      .on_row = [row](std::span<const float> logits) { row->assign(logits.begin(), logits.end()); },
      .first = static_cast<uint32_t>(work.prompt.size()) - 1};
  work.request.on_finish = [on = post_, row, history](const engine::Finish& finish) {
    on([row, history, finish](RowParticipant& participant) {
      participant.OnRow(history, finish, std::move(*row));
    });
  };
  work.is_gone = [dropped = is_dropped_] { return dropped->load(); };
  work.on_refused = [on = post_](const Error& error) {
    on([error](RowParticipant& participant) { participant.Leave(error); });
  };
  member_.engine->Begin(std::move(work));
}

void RowParticipant::OnRow(size_t history, const engine::Finish& finish, std::vector<float> row) {
  --awaited_;
  // The first request has the prompt's counts.
  if (counts_.prompt == 0) {
    counts_.prompt = finish.counts.prompt;
    counts_.cached = finish.counts.cached;
    times_ = finish.times;
  } else {
    times_.decode_ns += finish.times.prefill_ns;
  }
  counts_.replayed += finish.counts.replayed;
  computed_tokens_ += ComputedTokens(finish.counts);
  if (!finish.status.ok()) return Leave(finish.status.error());
  if (row.empty()) return Leave(Error(Code::kCancelled, "the request was cancelled"));
  ++counts_.generated;
  rows_[history] = std::move(row);
}

std::map<size_t, std::vector<float>> RowParticipant::TakeRows() {
  has_asked_ = false;
  return std::exchange(rows_, {});
}

}  // namespace aster::ensemble
