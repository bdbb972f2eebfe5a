// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/request_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace aster::conduct {
namespace {

using Requests = RequestQueue::Requests;

engine::RequestId IdOf(const std::unique_ptr<LiveRequest>& live) { return live->request.id(); }

void InsertByAge(Requests& into, std::unique_ptr<LiveRequest> live) {
  const auto place = std::ranges::upper_bound(into, live->request.id(), {}, IdOf);
  into.insert(place, std::move(live));
}

// Removes and returns the request; null if it is not there.
std::unique_ptr<LiveRequest> TakeFrom(Requests& requests, const LiveRequest& live) {
  const auto place =
      std::ranges::find_if(requests, [&](const auto& other) { return other.get() == &live; });
  if (place == requests.end()) return nullptr;
  std::unique_ptr<LiveRequest> taken = std::move(*place);
  requests.erase(place);
  return taken;
}

}  // namespace

void RequestQueue::Add(std::unique_ptr<LiveRequest> live) {
  CHECK(waiting_.empty() || IdOf(waiting_.back()) < IdOf(live));
  waiting_.push_back(std::move(live));
}

LiveRequest* RequestQueue::Admit() {
  if (waiting_.empty() || running_.size() >= max_running_) return nullptr;
  if (is_tight_ && !running_.empty()) return nullptr;
  LiveRequest* const live = waiting_.front().get();
  InsertByAge(running_, TakeFrom(waiting_, *live));
  return live;
}

void RequestQueue::Preempt(LiveRequest& live) {
  is_tight_ = true;
  live.Suspend();
  InsertByAge(waiting_, TakeFrom(running_, live));
}

void RequestQueue::SuspendAll() {
  is_tight_ = false;
  for (auto& live : running_) live->Suspend();
  std::ranges::move(running_, std::back_inserter(waiting_));
  running_.clear();
  std::ranges::sort(waiting_, {}, IdOf);
}

std::unique_ptr<LiveRequest> RequestQueue::Remove(LiveRequest& live) {
  is_tight_ = false;
  std::unique_ptr<LiveRequest> removed = TakeFrom(running_, live);
  return removed ? std::move(removed) : TakeFrom(waiting_, live);
}

Requests RequestQueue::RemoveWaiting() { return std::exchange(waiting_, {}); }

LiveRequest* RequestQueue::Find(FunctionRef<bool(const LiveRequest&)> is_it) const {
  for (const Requests* requests : {&running_, &waiting_}) {
    for (const auto& live : *requests) {
      if (is_it(*live)) return live.get();
    }
  }
  return nullptr;
}

LiveRequest* RequestQueue::FindByMemory(const RouteMemory* memory) const {
  return Find([&](const LiveRequest& live) { return live.memory == memory; });
}

}  // namespace aster::conduct
