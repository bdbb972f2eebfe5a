// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Expert parallel: which part of a group computes each expert that a token has chosen, if the parts
// own experts. Every part gets the same answer from the router's choice alone. The rule is in
// docs/groups.md. Must not know weights.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/parts/group_part.h"
#include "model/shape/shape.h"

namespace aster::model {

// For the layers of a model of that shape. Constant.
class ExpertOwners {
 public:
  ExpertOwners(const GroupPart& part, const Shape& shape);

  // The experts of a token: those that it chooses; if there is a shared one, it is last.
  size_t choices() const { return used_ + (has_shared_ ? 1 : 0); }
  // parts[i] = the part that computes choice i of the token. `ids`: the experts that it chooses.
  void Assign(uint32_t layer, std::span<const int32_t> ids, std::span<uint8_t> parts) const;

 private:
  static constexpr uint8_t kAll = UINT8_MAX;

  const uint32_t part_count_;
  const std::array<uint32_t, GroupPart::kMostParts> shares_;
  const size_t used_;
  const bool has_shared_;
  const size_t expert_count_;
  std::vector<uint8_t> owners_;  // [layers, experts], or kAll
};

}  // namespace aster::model
