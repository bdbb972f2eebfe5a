// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Responses that clients may ask for again and go on from, within a bound: the oldest are deleted
// first. Each belongs to the key that asked for it. Must not know HTTP.
#pragma once

#include <cstddef>
#include <deque>
#include <nlohmann/json.hpp>  // tidy: allow(third-party) what is stored is JSON
#include <optional>
#include <string>

#include "base/mutex.h"

namespace aster::serve {

struct StoredResponse {
  std::string id;
  std::string owner;                // the key, as it came
  nlohmann::ordered_json response;  // as the client got it
  nlohmann::ordered_json items;     // the conversation before it: a list of input items
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
  bool Delete(const std::string& id, const std::string& owner) EXCLUDES(mu_);

 private:
  // Of all together, as text.
  static constexpr size_t kMaxBytes = size_t{64} << 20;

  struct Entry {
    StoredResponse stored;
    size_t bytes;
  };
  void DropOldest() REQUIRES(mu_);

  const size_t most_;
  mutable Mutex mu_;
  std::deque<Entry> entries_ GUARDED_BY(mu_);  // the oldest first
  size_t bytes_ GUARDED_BY(mu_) = 0;
};

// The input of a request as a list of items, whether it came as a text or as a list.
nlohmann::ordered_json InputItems(const nlohmann::ordered_json& body);

}  // namespace aster::serve
