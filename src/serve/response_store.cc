// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/response_store.h"

#include <algorithm>
#include <utility>

#include "serve/reply_writer.h"

namespace aster::serve {

using nlohmann::ordered_json;

void ResponseStore::Add(StoredResponse response) {
  const size_t bytes = DumpJson(response.response).size() + DumpJson(response.items).size();
  if (!is_open() || bytes > kMaxBytes) return;
  const MutexLock lock(mu_);
  entries_.push_back({std::move(response), bytes});
  bytes_ += bytes;
  while (entries_.size() > most_ || bytes_ > kMaxBytes) DropOldest();
}

void ResponseStore::DropOldest() {
  bytes_ -= entries_.front().bytes;
  entries_.pop_front();
}

std::optional<StoredResponse> ResponseStore::Find(const std::string& id,
                                                  const std::string& owner) const {
  const MutexLock lock(mu_);
  for (const Entry& entry : entries_) {
    if (entry.stored.id == id && entry.stored.owner == owner) return entry.stored;
  }
  return std::nullopt;
}

bool ResponseStore::Delete(const std::string& id, const std::string& owner) {
  const MutexLock lock(mu_);
  const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.stored.id == id && entry.stored.owner == owner;
  });
  if (found == entries_.end()) return false;
  bytes_ -= found->bytes;
  entries_.erase(found);
  return true;
}

ordered_json InputItems(const ordered_json& body) {
  const auto input = body.find("input");
  if (input == body.end() || input->is_null()) return ordered_json::array();
  if (!input->is_string()) return *input;
  return ordered_json::array(
      {{{"type", "message"},
        {"role", "user"},
        {"content", ordered_json::array({{{"type", "input_text"}, {"text", *input}}})}}});
}

}  // namespace aster::serve
