// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/stepped_engine.h"

#include <algorithm>
#include <utility>

namespace aster::ensemble {

SteppedEngine::~SteppedEngine() {
  for (const auto& active : active_) {
    active->is_refused = true;
    if (!active->is_over) generator_.Cancel(active->id);
  }
  // Cancelled requests end in the next step.
  while (!generator_.idle() && generator_.Step().ok()) {
  }
}

void SteppedEngine::Begin(Work work) {
  auto active = std::make_unique<Active>(
      Active{.work = std::move(work), .sequence = generator_.NewSequence()});
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
  std::erase_if(active_, [](const auto& active) { return active->is_over; });
}

}  // namespace aster::ensemble
