// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How often the router has chosen each expert of each layer: which of them are worth being on every
// node of a group. Must not know files or nodes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aster::model {

// Safe for concurrent use.
class ExpertUse {
 public:
  ExpertUse(uint32_t layers, uint32_t experts) : experts_(experts), counts_(layers * experts) {}

  uint32_t layers() const { return static_cast<uint32_t>(counts_.size() / experts_); }
  uint32_t experts() const { return experts_; }
  // The choices of some tokens in one layer.
  void Add(uint32_t layer, std::span<const int32_t> ids);
  // Of all layers.
  uint64_t choices() const;
  // Of each layer those that were chosen most, ascending: [layers, count]. Among equals experts at
  // equal distances.
  std::vector<uint16_t> MostUsed(uint32_t count) const;

  // A line for each layer; and what was written so.
  std::string ToText() const;
  static Result<std::unique_ptr<ExpertUse>> Parse(std::string_view text);

 private:
  const uint32_t experts_;
  std::vector<std::atomic<uint64_t>> counts_;  // [layers, experts]
};

}  // namespace aster::model
