// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How often the router has chosen each expert of each layer, to find those that are worth having on
// every node of a group. Must not know files or nodes.
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
  // Counts the choices of some tokens in one layer.
  void Add(uint32_t layer, std::span<const int32_t> ids);
  // The choices in all layers.
  uint64_t choices() const;
  // The most used experts of each layer, ascending: [layers, count]. Of equally used ones, experts
  // at equal distances.
  std::vector<uint16_t> MostUsed(uint32_t count) const;

  // As text, a line for each layer; and the reverse.
  std::string ToText() const;
  static Result<std::unique_ptr<ExpertUse>> Parse(std::string_view text);

 private:
  const uint32_t experts_;
  std::vector<std::atomic<uint64_t>> counts_;  // [layers, experts]
};

}  // namespace aster::model
