// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/response_store.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "serve/reply_writer.h"

namespace aster::serve {

using nlohmann::ordered_json;

namespace {

size_t BytesOf(const StoredResponse& stored) {
  return DumpJson(stored.response).size() + DumpJson(stored.items).size();
}

}  // namespace

void ResponseStore::Add(StoredResponse response) {
  const size_t bytes = BytesOf(response);
  if (!is_open() || bytes > kMaxBytes) return;
  const MutexLock lock(mu_);
  entries_.push_back({std::move(response), bytes});
  bytes_ += bytes;
  MakeRoom();
}

bool ResponseStore::Reserve(StoredResponse response) {
  CHECK(response.is_running());
  const size_t bytes = BytesOf(response);
  const MutexLock lock(mu_);
  size_t running = 0;
  size_t running_bytes = bytes;
  for (const Entry& entry : entries_) {
    if (!entry.stored.is_running()) continue;
    ++running;
    running_bytes += entry.bytes;
  }
  if (running >= most_ || running_bytes > kMaxBytes) return false;
  entries_.push_back({std::move(response), bytes});
  bytes_ += bytes;
  MakeRoom();
  return true;
}

void ResponseStore::Update(const std::string& id, const ordered_json& response, bool has_ended) {
  const MutexLock lock(mu_);
  const auto found = std::ranges::find(entries_, id, [](const Entry& e) { return e.stored.id; });
  if (found == entries_.end() || !found->stored.is_running()) return;
  found->stored.response = response;
  if (has_ended) found->stored.cancel = nullptr;
  Resize(*found);
  MakeRoom();
}

std::optional<StoredResponse> ResponseStore::Cancel(const std::string& id,
                                                    const std::string& owner) {
  const MutexLock lock(mu_);
  const auto found = FindEntry(id, owner);
  if (found == entries_.end()) return std::nullopt;
  if (const auto cancel = std::exchange(found->stored.cancel, nullptr)) {
    cancel();
    found->stored.response["status"] = "cancelled";
    Resize(*found);
  }
  return found->stored;
}

ResponseStore::Entries::iterator ResponseStore::FindEntry(const std::string& id,
                                                          const std::string& owner) {
  return std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.stored.id == id && entry.stored.owner == owner;
  });
}

void ResponseStore::Resize(Entry& entry) {
  bytes_ -= entry.bytes;
  entry.bytes = BytesOf(entry.stored);
  bytes_ += entry.bytes;
}

void ResponseStore::MakeRoom() {
  while (entries_.size() > most_ || bytes_ > kMaxBytes) {
    const auto oldest = std::ranges::find_if(
        entries_, [](const Entry& entry) { return !entry.stored.is_running(); });
    if (oldest == entries_.end()) return;
    Drop(oldest);
  }
}

void ResponseStore::Drop(Entries::iterator entry) {
  bytes_ -= entry->bytes;
  entries_.erase(entry);
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
  const auto found = FindEntry(id, owner);
  if (found == entries_.end()) return false;
  if (found->stored.is_running()) found->stored.cancel();
  Drop(found);
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
