// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/ensemble_chat.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace aster::ensemble {

using respond::Answered;
using respond::Turn;

EnsembleChat::EnsembleChat(Ensemble& ensemble, respond::Settings settings,
                           respond::Conversation base, std::string system, uint32_t context_limit)
    : ensemble_(ensemble),
      settings_(std::move(settings)),
      base_(std::move(base)),
      system_(std::move(system)),
      context_limit_(context_limit) {}

Result<Answered> EnsembleChat::AnswerTo(const std::vector<Turn>& turns, respond::Listener& listener,
                                        const IsCancelled& is_cancelled) {
  Question question{.conversation = base_, .settings = settings_};
  question.settings.sampling.seed += extra_seed_;
  nlohmann::ordered_json& messages = question.conversation.messages;
  if (!system_.empty()) messages.push_back({{"role", "system"}, {"content", system_}});
  for (const Turn& turn : turns_) messages.push_back(turn.shown);
  for (const Turn& turn : turns) messages.push_back(turn.shown);
  last_ = TRY(AnswerOne(ensemble_, question, is_cancelled, [&](const AnswerPiece& piece) {
    listener.OnPiece({.text = piece.text, .events = piece.events, .tokens = piece.tokens});
  }));
  // From here on the answer belongs to the conversation.
  const Answered& answered = last_->answered;
  turns_.insert(turns_.end(), turns.begin(), turns.end());
  turns_.push_back(respond::AnswerTurn(answered.generated.text, answered.reply));
  open_calls_ = answered.reply.calls;
  totals_.Add(answered.generated.finish);
  Tell(*last_, listener);
  return answered;
}

Result<Answered> EnsembleChat::Ask(const std::string& text, respond::Listener& listener,
                                   const IsCancelled& is_cancelled) {
  extra_seed_ = 0;
  return AnswerTo({respond::QuestionTurn(text)}, listener, is_cancelled);
}

Result<Answered> EnsembleChat::GiveResults(const std::vector<std::string>& results,
                                           respond::Listener& listener,
                                           const IsCancelled& is_cancelled) {
  CHECK(!results.empty() && results.size() == open_calls_.size());
  extra_seed_ = 0;
  std::vector<Turn> turns;
  for (size_t i = 0; i < results.size(); ++i)
    turns.push_back(respond::ResultTurn(open_calls_[i], results[i]));
  return AnswerTo(turns, listener, is_cancelled);
}

Result<Answered> EnsembleChat::Regenerate(respond::Listener& listener,
                                          const IsCancelled& is_cancelled) {
  if (turns_.empty()) return FailedPrecondition("there is no answer yet");
  // The conversation without its last answer, and another seed.
  const Turn last = turns_.back();
  const std::vector<respond::Call> calls = open_calls_;
  turns_.pop_back();
  ++extra_seed_;
  auto answered = AnswerTo({}, listener, is_cancelled);
  if (!answered.ok()) {
    turns_.push_back(last);
    open_calls_ = calls;
  }
  return answered;
}

Status EnsembleChat::Undo() {
  const auto question = std::find_if(turns_.rbegin(), turns_.rend(),
                                     [](const Turn& turn) { return turn.said.role == "user"; });
  if (question == turns_.rend()) return FailedPrecondition("there is nothing to take back");
  turns_.erase(std::prev(question.base()), turns_.end());
  open_calls_.clear();
  return Ok();
}

void EnsembleChat::Reset() {
  turns_.clear();
  open_calls_.clear();
  last_.reset();
}

void EnsembleChat::SetSystem(std::string text) {
  Reset();
  system_ = std::move(text);
}

respond::ContextUse EnsembleChat::context() const {
  respond::ContextUse use{.limit_tokens = context_limit_};
  if (!last_) return use;
  for (const Part& part : last_->parts)
    use.tokens = std::max(use.tokens, part.counts.prompt + part.counts.generated);
  return use;
}

}  // namespace aster::ensemble
