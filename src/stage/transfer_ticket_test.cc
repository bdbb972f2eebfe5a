// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/transfer_ticket.h"

#include <gtest/gtest.h>

namespace aster::stage {
namespace {

TEST(TransferTicket, SaysWhatItWasMadeOf) {
  for (const TransferStages stages : {TransferStages{0, 0}, TransferStages{3, 0},
                                      TransferStages{0, 5}, TransferStages{4095, 4095}}) {
    for (const uint64_t number : {0u, 1u, 123456789u}) {
      const uint64_t ticket = TicketOf(stages, number);
      EXPECT_EQ(StagesOf(ticket), stages);
      EXPECT_EQ(NumberOf(ticket), number);
      EXPECT_NE(ticket, number);
    }
  }
  EXPECT_EQ(StagesOf(17), std::nullopt);
  EXPECT_EQ(NumberOf(17), 17u);
}

}  // namespace
}  // namespace aster::stage
