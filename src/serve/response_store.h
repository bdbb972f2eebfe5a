// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Responses that clients may fetch again and continue, within a limit: the oldest are deleted
// first. Each belongs to the key of its request. Must not know HTTP.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <nlohmann/json.hpp>  // tidy: allow(third-party) what is stored is JSON
#include <optional>
#include <string>

#include "base/mutex.h"

namespace aster::serve {

struct StoredResponse {
  std::string id;
  std::string owner;                       // the key, as sent
  nlohmann::ordered_json response;         // as the client got it
  nlohmann::ordered_json items;            // the conversation before it: a list of input items
  std::function<void()> cancel = nullptr;  // for one that is being computed; does not wait

  bool is_running() const { return cancel != nullptr; }
};

// Safe for concurrent use.
class ResponseStore {
 public:
  // At most `most` responses, of all owners; 0: none.
  explicit ResponseStore(size_t most) : most_(most) {}

  bool is_open() const { return most_ > 0; }
  void Add(StoredResponse response) EXCLUDES(mu_);
  // Nullopt if the owner has no response with this id.
  std::optional<StoredResponse> Find(const std::string& id, const std::string& owner) const
      EXCLUDES(mu_);
  // Cancels it if it is being computed.
  bool Delete(const std::string& id, const std::string& owner) EXCLUDES(mu_);

  // Stores a response that is computed in the background: until its end it is not deleted for
  // others. False if all places are taken by such responses.
  bool Reserve(StoredResponse response) EXCLUDES(mu_);
  // Its next state; `has_ended`: the last one. No effect if it was cancelled or deleted.
  void Update(const std::string& id, const nlohmann::ordered_json& response, bool has_ended)
      EXCLUDES(mu_);
  // Cancels the computation and returns the response; nullopt if there is none with this id.
  std::optional<StoredResponse> Cancel(const std::string& id, const std::string& owner)
      EXCLUDES(mu_);

 private:
  // Of all responses together, as text.
  static constexpr size_t kMaxBytes = size_t{64} << 20;

  struct Entry {
    StoredResponse stored;
    size_t bytes;
  };
  using Entries = std::deque<Entry>;

  Entries::iterator FindEntry(const std::string& id, const std::string& owner) REQUIRES(mu_);
  void Resize(Entry& entry) REQUIRES(mu_);
  // Deletes the oldest completed ones, until the rest is within the limits.
  void MakeRoom() REQUIRES(mu_);
  void Drop(Entries::iterator entry) REQUIRES(mu_);

  const size_t most_;
  mutable Mutex mu_;
  Entries entries_ GUARDED_BY(mu_);  // the oldest first
  size_t bytes_ GUARDED_BY(mu_) = 0;
};

// The input of a request as a list of items, also if it was a text.
nlohmann::ordered_json InputItems(const nlohmann::ordered_json& body);

}  // namespace aster::serve
