// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/stepped_engine.h"

#include <algorithm>
#include <utility>

namespace aster::ensemble {
namespace {

// Sequences of one conversation; the last ones share the most with what comes.
constexpr size_t kMostKept = 16;

}  // namespace

SteppedEngine::SteppedEngine(engine::Generator& generator) : generator_(generator) {
  // What is kept for later is computed again where memory runs out.
  generator_.OnShortage([this] {
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

// The one of the conversation that shares most with the prompt.
engine::Sequence SteppedEngine::SequenceFor(const Work& work) {
  if (work.conversation == 0) return generator_.NewSequence();
  std::vector<engine::Sequence>& all = kept_[work.conversation];
  if (all.empty()) return generator_.NewSequence();
  const auto shared = [&](const engine::Sequence& sequence) {
    return std::ranges::mismatch(sequence.tokens(), work.prompt).in1 - sequence.tokens().begin();
  };
  const auto best = std::ranges::max_element(all, {}, shared);
  if (work.is_branch) return best->Fork();
  engine::Sequence sequence = std::move(*best);
  all.clear();
  return sequence;
}

void SteppedEngine::Keep(Active& active) {
  const auto kept = kept_.find(active.work.conversation);
  if (kept == kept_.end()) return;
  kept->second.push_back(std::move(active.sequence));
  if (kept->second.size() > kMostKept) kept->second.erase(kept->second.begin());
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
      // The generator may still know it, and ends it when it can do something again.
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
