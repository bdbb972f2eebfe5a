// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How much memory the parts of a group take, as coefficients that give the bytes of any part: the
// planner uses them to search for shares of unequal nodes. Must not know nodes or files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/parts/group_part.h"
#include "model/shape/tensors.h"

namespace aster::model {

// The bytes of some tensors, by what decides how much of them a part has.
struct PartBytes {
  static constexpr std::array kRanges = {&PartRanges::head_groups,  &PartRanges::embedding,
                                         &PartRanges::feed_forward, &PartRanges::sharing,
                                         &PartRanges::experts,      &PartRanges::channels,
                                         &PartRanges::values,       &PartRanges::vocab};

  uint64_t whole = 0;                              // on all parts
  uint64_t leader = 0;                             // only on the leader
  std::array<uint64_t, kRanges.size()> each = {};  // per unit of the range that the part has
  uint64_t expert = 0;                             // per whole expert that the part has

  PartBytes& operator+=(const PartBytes& more);
  // The bytes of a part. `experts`: of a layer.
  uint64_t Of(const PartRanges& own, bool is_leader, uint64_t experts) const;
};

// Of one tensor.
PartBytes PartBytesOf(const Shape& shape, const TensorSpec& tensor, uint64_t bytes,
                      bool owns_experts);

// The functions of group_part.h for given ranges, in proportion to which bytes grow.
PartRanges RangesOf(const GroupPart& part, const PartRanges& all);
std::optional<PartRange> DividedRows(const PartRanges& own, bool owns_experts, const Shape& shape,
                                     std::string_view name);
uint64_t RowsOfSeveral(const PartRanges& own, bool owns_experts, const Shape& shape,
                       std::string_view name);
// The dimension of a tensor that is divided. Of several matrices the rows of each; of matrices of
// heads whole matrices.
size_t DividedDimension(const Shape& shape, const TensorSpec& tensor);
// Whether a tensor holds a matrix for each expert.
bool IsOfExperts(const TensorSpec& tensor);

}  // namespace aster::model
