// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How much of a sequence's KV cache the conductor assumes the stages of a route to hold. Stages
// report what they really hold before anything is computed. Must not know messages.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/sequence.h"
#include "wire/messages.h"

namespace aster::conduct {

class RouteMemory;

// Shared by a conductor and its sequences, of which either may be destroyed first. Belongs to their
// thread.
struct RouteMemories {
  wire::RouteId route = 0;  // the open route; rows on other routes do not count
  wire::SequenceId last_id = 0;
  std::vector<RouteMemory*> all;
  std::vector<wire::SequenceId> forgotten;  // stages still have to be told to release these
};

class RouteMemory final : public engine::SequenceMemory {
 public:
  explicit RouteMemory(std::shared_ptr<RouteMemories> memories);
  ~RouteMemory() override;
  RouteMemory(const RouteMemory&) = delete;
  RouteMemory& operator=(const RouteMemory&) = delete;

  wire::SequenceId id() const { return id_; }

  // Whether the text was sent to the stages, so that they may hold rows of it.
  bool is_begun() const { return route_ == memories_->route && route_ != 0; }
  uint32_t length() const override { return is_begun() ? length_ : 0; }
  // The text was sent to the stages.
  void Begin() { SetLength(length()); }
  // All stages hold this many positions.
  void SetLength(uint32_t length);
  // The rows are not needed any more: stages are told to release them.
  void Forget();

  void Truncate(uint32_t length) override;
  void Adopt(std::span<const int32_t> /*tokens*/) override {}  // stages adopt when work begins
  std::unique_ptr<engine::SequenceMemory> Fork() const override;

 private:
  const std::shared_ptr<RouteMemories> memories_;
  const wire::SequenceId id_;
  wire::RouteId route_ = 0;
  uint32_t length_ = 0;
};

}  // namespace aster::conduct
