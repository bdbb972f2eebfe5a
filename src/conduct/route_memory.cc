// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/route_memory.h"

#include <algorithm>
#include <utility>

namespace aster::conduct {

RouteMemory::RouteMemory(std::shared_ptr<RouteMemories> memories)
    : memories_(std::move(memories)), id_(++memories_->last_id) {
  memories_->all.push_back(this);
}

RouteMemory::~RouteMemory() {
  Forget();
  std::erase(memories_->all, this);
}

void RouteMemory::SetLength(uint32_t length) {
  route_ = memories_->route;
  length_ = length;
}

void RouteMemory::Forget() {
  if (is_begun()) memories_->forgotten.push_back(id_);
  route_ = 0;
  length_ = 0;
}

void RouteMemory::Truncate(uint32_t length) {
  if (length == 0) return Forget();
  length_ = std::min(length_, length);
}

std::unique_ptr<engine::SequenceMemory> RouteMemory::Fork() const {
  return std::make_unique<RouteMemory>(memories_);
}

}  // namespace aster::conduct
