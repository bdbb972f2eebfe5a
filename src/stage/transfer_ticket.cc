// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/transfer_ticket.h"

#include "base/check.h"

namespace aster::stage {
namespace {

// From the highest bit down: a bit that says that stages are named, the two stages, the number.
constexpr uint64_t kNamesStages = uint64_t{1} << 63;
constexpr uint32_t kStageBits = 13;
constexpr uint32_t kNumberBits = 63 - 2 * kStageBits;
constexpr uint64_t kStageMask = (uint64_t{1} << kStageBits) - 1;
constexpr uint64_t kNumberMask = (uint64_t{1} << kNumberBits) - 1;

}  // namespace

uint64_t TicketOf(const TransferStages& stages, uint64_t number) {
  CHECK(stages.from <= kStageMask && stages.to <= kStageMask);
  return kNamesStages | uint64_t{stages.from} << (kStageBits + kNumberBits) |
         uint64_t{stages.to} << kNumberBits | (number & kNumberMask);
}

std::optional<TransferStages> StagesOf(uint64_t ticket) {
  if ((ticket & kNamesStages) == 0) return std::nullopt;
  return TransferStages{
      .from = static_cast<uint32_t>(ticket >> (kStageBits + kNumberBits) & kStageMask),
      .to = static_cast<uint32_t>(ticket >> kNumberBits & kStageMask)};
}

uint64_t NumberOf(uint64_t ticket) {
  return (ticket & kNamesStages) == 0 ? ticket : ticket & kNumberMask;
}

}  // namespace aster::stage
