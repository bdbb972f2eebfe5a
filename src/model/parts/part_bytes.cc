// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/parts/part_bytes.h"

#include <optional>

#include "model/shape/shape.h"

namespace aster::model {
namespace {

// One unit of each range.
constexpr PartRanges Ones() {
  PartRanges ones;
  for (const auto range : PartBytes::kRanges) ones.*range = {0, 1};
  return ones;
}

}  // namespace

PartBytes& PartBytes::operator+=(const PartBytes& more) {
  whole += more.whole;
  leader += more.leader;
  for (size_t i = 0; i < each.size(); ++i) each[i] += more.each[i];
  expert += more.expert;
  return *this;
}

uint64_t PartBytes::Of(const PartRanges& own, bool is_leader, uint64_t experts) const {
  uint64_t bytes = whole + (is_leader ? leader : 0) + experts * expert;
  for (size_t i = 0; i < each.size(); ++i) bytes += (own.*kRanges[i]).count() * each[i];
  return bytes;
}

PartBytes PartBytesOf(const Shape& shape, const TensorSpec& tensor, uint64_t bytes,
                      bool owns_experts) {
  PartBytes all;
  if (IsOfMtpBlock(tensor)) {
    all.leader = bytes;
    return all;
  }
  const bool is_several = RowsOfSeveral(Ones(), owns_experts, shape, tensor.name) > 0;
  if (!is_several && owns_experts && IsOfExperts(tensor)) {
    all.expert = bytes / shape.experts.count;
    return all;
  }
  if (!is_several && !DividedRows(Ones(), owns_experts, shape, tensor.name)) {
    all.whole = bytes;
    return all;
  }
  const size_t dimension = is_several ? 1 : DividedDimension(shape, tensor);
  for (size_t i = 0; i < all.each.size(); ++i) {
    PartRanges one;
    one.*PartBytes::kRanges[i] = {0, 1};
    const uint64_t rows = is_several
                              ? RowsOfSeveral(one, owns_experts, shape, tensor.name)
                              : DividedRows(one, owns_experts, shape, tensor.name).value().count();
    all.each[i] = bytes / tensor.dims[dimension] * rows;
  }
  // For an MTP block the leader has the whole head beside its own rows.
  if (shape.mtp_layers > 0 && tensor.name == "output.weight") all.leader = bytes;
  return all;
}

}  // namespace aster::model
