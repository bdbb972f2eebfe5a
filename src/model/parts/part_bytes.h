// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What memory the parts of a group take, as numbers from which that of any part follows: shares of
// unlike nodes are searched for in them. Must not know nodes or files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/parts/group_part.h"

namespace aster::model {

// Of some tensors, by what decides how much of them a part has.
struct PartBytes {
  static constexpr std::array kRanges = {&PartRanges::head_groups,  &PartRanges::embedding,
                                         &PartRanges::feed_forward, &PartRanges::sharing,
                                         &PartRanges::experts,      &PartRanges::channels,
                                         &PartRanges::values,       &PartRanges::vocab};

  uint64_t whole = 0;                              // on all parts
  uint64_t leads = 0;                              // on the one that leads beside
  std::array<uint64_t, kRanges.size()> each = {};  // for each that the part has of such a range
  uint64_t expert = 0;                             // for each expert that it has as a whole

  PartBytes& operator+=(const PartBytes& more);
  // `experts`: of a layer.
  uint64_t Of(const PartRanges& own, bool leading, uint64_t experts) const;
};

// Of a tensor.
PartBytes PartBytesOf(const Shape& shape, const TensorSpec& tensor, uint64_t bytes,
                      bool owns_experts);

// What of it is known for parts holds for any ranges, in proportion to which it grows.
PartRanges RangesOf(const GroupPart& part, const PartRanges& all);
std::optional<PartRange> DividedRows(const PartRanges& own, bool owns_experts, const Shape& shape,
                                     std::string_view name);
uint64_t RowsOfSeveral(const PartRanges& own, bool owns_experts, const Shape& shape,
                       std::string_view name);
// Which of a tensor's dimensions is divided: of several matrices the rows of each, but of matrices
// of heads whole ones.
size_t DividedDimension(const Shape& shape, const TensorSpec& tensor);
// Whether a tensor holds a matrix for each expert.
bool IsOfExperts(const TensorSpec& tensor);

}  // namespace aster::model
