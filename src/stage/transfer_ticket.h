// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Tickets of KV transfers on routes with groups: a node may have the same layers twice, as a stage
// of its own and in a group, so the ticket names the stages between which rows travel. Must not
// know messages.
#pragma once

#include <cstdint>
#include <optional>

namespace aster::stage {

// Stages of a route, by index.
struct TransferStages {
  uint32_t from = 0;
  uint32_t to = 0;

  bool operator==(const TransferStages&) const = default;
};

// `number`: the conductor's, if the rows are sent to it; 0: they are for the stage.
uint64_t TicketOf(const TransferStages& stages, uint64_t number = 0);
// The stages that the ticket names; nothing if it names none.
std::optional<TransferStages> StagesOf(uint64_t ticket);
uint64_t NumberOf(uint64_t ticket);

}  // namespace aster::stage
