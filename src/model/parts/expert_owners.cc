// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/parts/expert_owners.h"

#include <algorithm>

#include "base/check.h"

namespace aster::model {

ExpertOwners::ExpertOwners(const GroupPart& part, const Shape& shape)
    : part_count_(part.count),
      shares_(part.shares),
      used_(shape.experts.used),
      has_shared_(shape.experts.shared > 0),
      expert_count_(shape.experts.count),
      owners_(shape.layer_count * expert_count_) {
  for (uint32_t layer = 0; layer < shape.layer_count; ++layer) {
    const auto owners = std::span(owners_).subspan(layer * expert_count_, expert_count_);
    for (uint32_t i = 0; i < part.count; ++i) {
      const PartRange own = RangeOf(part.At(i), shape.experts.count);
      std::ranges::fill(owners.subspan(own.begin, own.count()), static_cast<uint8_t>(i));
    }
    for (const uint16_t id : ReplicatedExperts(part, shape, layer)) owners[id] = kAll;
  }
}

void ExpertOwners::Assign(uint32_t layer, std::span<const int32_t> ids,
                          std::span<uint8_t> parts) const {
  DCHECK(ids.size() == used_ && parts.size() == choices());
  const uint8_t* const owners = owners_.data() + layer * expert_count_;
  std::array<uint64_t, GroupPart::kMostParts> work = {};
  for (size_t i = 0; i < ids.size(); ++i) {
    parts[i] = owners[ids[i]];
    if (parts[i] != kAll) ++work[parts[i]];
  }
  if (has_shared_) parts.back() = kAll;
  // A replicated expert goes to the part with the least work in proportion to its share; of equal
  // ones to the last, as the first also has the sampler.
  for (uint8_t& part : parts) {
    if (part != kAll) continue;
    part = 0;
    for (uint32_t other = 1; other < part_count_; ++other) {
      const bool is_less = (work[other] + 1) * shares_[part] <= (work[part] + 1) * shares_[other];
      if (is_less) part = static_cast<uint8_t>(other);
    }
    ++work[part];
  }
}

}  // namespace aster::model
