// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/hints.h"

#include <utility>

namespace aster::node {

bool Hints::Add(const std::string& address, int64_t now_ns) {
  std::erase_if(lately_,
                [&](const auto& each) { return now_ns - each.second >= limits_.period_ns; });
  if (waiting_.size() >= limits_.addresses || lately_.size() >= limits_.addresses) return false;
  if (!lately_.emplace(address, now_ns).second) return false;
  waiting_.push_back(address);
  return true;
}

std::string Hints::Take() {
  std::string address = std::move(waiting_.front());
  waiting_.pop_front();
  return address;
}

}  // namespace aster::node
