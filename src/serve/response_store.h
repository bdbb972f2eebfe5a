// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Responses that clients may ask for again and go on from, within a bound: the oldest are deleted
// first. Each belongs to the key that asked for it. Must not know HTTP.
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
  std::string owner;                       // the key, as it came
  nlohmann::ordered_json response;         // as the client got it
  nlohmann::ordered_json items;            // the conversation before it: a list of input items
  std::function<void()> cancel = nullptr;  // of one that is still computed; does not wait

  bool is_running() const { return cancel != nullptr; }
};

// Safe for concurrent use.
class ResponseStore {
 public:
  // At most `most` responses, of all owners; 0: none.
  explicit ResponseStore(size_t most) : most_(most) {}

  bool is_open() const { return most_ > 0; }
  void Add(StoredResponse response) EXCLUDES(mu_);
  // Nothing where there is none of the id that belongs to the owner.
  std::optional<StoredResponse> Find(const std::string& id, const std::string& owner) const
      EXCLUDES(mu_);
  // One that is still computed is cancelled.
  bool Delete(const std::string& id, const std::string& owner) EXCLUDES(mu_);

  // Keeps a place for a response that is computed in the background: it is not deleted for others
  // before it has ended. False where all places are kept so.
  bool Reserve(StoredResponse response) EXCLUDES(mu_);
  // Its next state; `has_ended`: the last one. Nothing happens where it was cancelled or deleted.
  void Update(const std::string& id, const nlohmann::ordered_json& response, bool has_ended)
      EXCLUDES(mu_);
  // The response, which is not computed any further; nothing where there is none of the id.
  std::optional<StoredResponse> Cancel(const std::string& id, const std::string& owner)
      EXCLUDES(mu_);

 private:
  // Of all together, as text.
  static constexpr size_t kMaxBytes = size_t{64} << 20;

  struct Entry {
    StoredResponse stored;
    size_t bytes;
  };
  using Entries = std::deque<Entry>;

  Entries::iterator FindEntry(const std::string& id, const std::string& owner) REQUIRES(mu_);
  void Resize(Entry& entry) REQUIRES(mu_);
  // Deletes the oldest that have ended, until the rest is within the bounds.
  void MakeRoom() REQUIRES(mu_);
  void Drop(Entries::iterator entry) REQUIRES(mu_);

  const size_t most_;
  mutable Mutex mu_;
  Entries entries_ GUARDED_BY(mu_);  // the oldest first
  size_t bytes_ GUARDED_BY(mu_) = 0;
};

// The input of a request as a list of items, whether it came as a text or as a list.
nlohmann::ordered_json InputItems(const nlohmann::ordered_json& body);

}  // namespace aster::serve
