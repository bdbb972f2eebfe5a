// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/stepped_engine.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace aster::ensemble {
namespace {

// Sequences of one conversation; the last ones share the most with later prompts.
constexpr size_t kMostKept = 16;
// Conversations that may continue.
constexpr size_t kMostAnswered = 4;

// The number of equal tokens, from the first.
ptrdiff_t Shared(const engine::Sequence& sequence, std::span<const int32_t> prompt) {
  return std::ranges::mismatch(sequence.tokens(), prompt).in1 - sequence.tokens().begin();
}

}  // namespace

SteppedEngine::SteppedEngine(engine::Generator& generator) : generator_(generator) {
  // Kept sequences are released and computed again if memory runs out.
  generator_.OnShortage([this] {
    if (!answered_.empty()) {
      answered_.erase(answered_.begin());
      return true;
    }
    for (auto& [conversation, sequences] : kept_) {
      if (sequences.empty()) continue;
      sequences.pop_back();
      return true;
    }
    return false;
  });
}

SteppedEngine::~SteppedEngine() {
  generator_.OnShortage(nullptr);
  for (const auto& active : active_) {
    active->is_refused = true;
    if (!active->is_over) generator_.Cancel(active->id);
  }
  // Cancelled requests end in the next step.
  while (!generator_.idle() && generator_.Step().ok()) {
  }
}

// The conversation's sequence that shares the most with the prompt.
engine::Sequence SteppedEngine::SequenceFor(const Work& work) {
  if (work.conversation == 0) return generator_.NewSequence();
  Sequences& all = kept_[work.conversation];
  const auto shared = [&](const engine::Sequence& sequence) {
    return Shared(sequence, work.prompt);
  };
  // The next question of a conversation continues the sequences of the one before.
  if (all.empty()) all = TakeAnswered(work.prompt);
  if (all.empty()) return generator_.NewSequence();
  const auto best = std::ranges::max_element(all, {}, shared);
  // A sequence that the prompt continues completely need not be copied.
  const bool goes_on = shared(*best) == std::ssize(best->tokens());
  if (work.is_branch && !goes_on) return best->Fork();
  engine::Sequence sequence = std::move(*best);
  if (work.is_branch) {
    all.erase(best);
  } else {
    all.clear();
  }
  return sequence;
}

void SteppedEngine::Keep(Active& active) {
  const auto kept = kept_.find(active.work.conversation);
  if (kept == kept_.end()) return;
  kept->second.push_back(std::move(active.sequence));
  if (kept->second.size() > kMostKept) kept->second.erase(kept->second.begin());
}

void SteppedEngine::Forget(uint64_t conversation) {
  const auto kept = kept_.find(conversation);
  if (kept == kept_.end()) return;
  answered_.push_back(std::move(kept->second));
  if (answered_.size() > kMostAnswered) answered_.erase(answered_.begin());
  kept_.erase(kept);
}

// The sequences of the conversation that the prompt continues: it shares most of one of its texts.
SteppedEngine::Sequences SteppedEngine::TakeAnswered(std::span<const int32_t> prompt) {
  const auto goes_on = [&](const engine::Sequence& sequence) {
    return 2 * Shared(sequence, prompt) > std::ssize(sequence.tokens());
  };
  const auto before = std::ranges::find_if(
      answered_, [&](const Sequences& all) { return std::ranges::any_of(all, goes_on); });
  if (before == answered_.end()) return {};
  Sequences all = std::move(*before);
  answered_.erase(before);
  return all;
}

void SteppedEngine::Begin(Work work) {
  engine::Sequence sequence = SequenceFor(work);
  auto active =
      std::make_unique<Active>(Active{.work = std::move(work), .sequence = std::move(sequence)});
  Active& begun = *active;
  begun.sequence.SetHistory(begun.work.prompt);
  engine::Request request = begun.work.request;
  request.sequence = &begun.sequence;
  request.on_finish = [&begun](const engine::Finish& finish) {
    begun.is_over = true;
    if (!begun.is_refused) begun.work.request.on_finish(finish);
  };
  const auto id = generator_.Submit(std::move(request));
  if (!id.ok()) return begun.work.on_refused(id.error());
  begun.id = *id;
  active_.push_back(std::move(active));
}

bool SteppedEngine::is_idle() const {
  return std::ranges::all_of(active_, [](const auto& active) { return active->is_refused; });
}

void SteppedEngine::Step() {
  for (const auto& active : active_) {
    if (!active->is_over && active->work.is_gone()) generator_.Cancel(active->id);
  }
  if (!generator_.idle()) {
    const Status stepped = generator_.Step();
    for (const auto& active : active_) {
      // The generator may still use it, and ends it when it works again.
      if (stepped.ok() || active->is_over || active->is_refused) continue;
      active->is_refused = true;
      generator_.Cancel(active->id);
      active->work.on_refused(stepped.error());
    }
  }
  for (const auto& active : active_) {
    if (active->is_over) Keep(*active);
  }
  std::erase_if(active_, [](const auto& active) { return active->is_over; });
}

}  // namespace aster::ensemble
