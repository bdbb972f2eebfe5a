// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/waiting_jobs.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace aster::serve {
namespace {

std::string KeyOf(std::string_view client) {
  return std::string(client.substr(0, client.find('\n')));
}

// The entry behind the last one, or the first.
template <typename Map>
typename Map::iterator NextOf(Map& map, const std::string& last) {
  const auto next = map.upper_bound(last);
  return next == map.end() ? map.begin() : next;
}

}  // namespace

bool WaitingJobs::HasOfSameKey(const std::string& client) const {
  return of_keys_.contains(KeyOf(client));
}

void WaitingJobs::Add(std::unique_ptr<Job> job) {
  Jobs& jobs = of_keys_[KeyOf(job->client)].of_users[job->client];
  jobs.push_back(std::move(job));
  ++size_;
}

std::unique_ptr<Job> WaitingJobs::TakeNext() {
  if (of_keys_.empty()) return nullptr;
  const auto key = NextOf(of_keys_, last_key_);
  last_key_ = key->first;
  OfKey& waiting = key->second;
  const auto user = NextOf(waiting.of_users, waiting.last_user);
  waiting.last_user = user->first;
  std::unique_ptr<Job> job = std::move(user->second.front());
  user->second.pop_front();
  --size_;
  if (user->second.empty()) waiting.of_users.erase(user);
  if (waiting.of_users.empty()) of_keys_.erase(key);
  return job;
}

std::vector<std::unique_ptr<Job>> WaitingJobs::TakeIf(
    const std::function<bool(const Job&)>& is_wanted) {
  std::vector<std::unique_ptr<Job>> taken;
  for (auto& [key, waiting] : of_keys_) {
    for (auto& [user, jobs] : waiting.of_users) {
      for (std::unique_ptr<Job>& job : jobs) {
        if (is_wanted(*job)) taken.push_back(std::move(job));
      }
      std::erase(jobs, nullptr);
    }
    std::erase_if(waiting.of_users, [](const auto& entry) { return entry.second.empty(); });
  }
  std::erase_if(of_keys_, [](const auto& entry) { return entry.second.of_users.empty(); });
  size_ -= taken.size();
  return taken;
}

}  // namespace aster::serve
