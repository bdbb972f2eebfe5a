// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Requests that wait for a model: in turn between keys, and for each key in turn between its users,
// so that no client can buy turns with names of users. Must not know the contents of requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/request.h"

namespace aster::serve {

// The loop's thread calls the functions.
struct Job {
  std::string client;           // takes turns with others: a key, a line break, and a user
  std::vector<int32_t> prompt;  // tokens
  engine::Request request;      // without a sequence
  int64_t deadline_ns = kNeverNs;
  bool is_kept = true;     // a conversation, which may continue
  bool is_branch = false;  // beside the kept conversation, which stays
  // Whether its client is gone; called before every step.
  std::function<bool()> is_gone;
  // Called instead of all others if the job cannot be answered.
  std::function<void(const Error&)> on_refused;
};

// Not for concurrent use.
class WaitingJobs {
 public:
  size_t size() const { return size_; }
  // Whether a job with the key of this client waits.
  bool HasOfSameKey(const std::string& client) const;

  void Add(std::unique_ptr<Job> job);
  // The oldest job of the user and the key whose turn it is; null if none waits.
  std::unique_ptr<Job> TakeNext();
  // Those that `is_wanted` chooses.
  std::vector<std::unique_ptr<Job>> TakeIf(const std::function<bool(const Job&)>& is_wanted);

 private:
  using Jobs = std::deque<std::unique_ptr<Job>>;
  struct OfKey {
    std::map<std::string, Jobs> of_users;  // none is empty
    std::string last_user;                 // the user served last
  };

  std::map<std::string, OfKey> of_keys_;  // none is without users
  std::string last_key_;                  // the key served last
  size_t size_ = 0;
};

}  // namespace aster::serve
