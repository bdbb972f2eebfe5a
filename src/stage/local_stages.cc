// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/local_stages.h"

#include <variant>

#include "stage/transfer_ticket.h"

namespace aster::stage {

bool IsForStages(const wire::Message& message) {
  // Rows with a number are for the conductor, which collects them.
  if (const auto* rows = std::get_if<wire::KvRows>(&message)) return NumberOf(rows->ticket) == 0;
  return std::holds_alternative<wire::OpenRoute>(message) ||
         std::holds_alternative<wire::CloseRoute>(message) ||
         std::holds_alternative<wire::Begin>(message) ||
         std::holds_alternative<wire::End>(message) ||
         std::holds_alternative<wire::Work>(message) ||
         std::holds_alternative<wire::SendKv>(message) ||
         std::holds_alternative<wire::KvTaken>(message) ||
         std::holds_alternative<wire::Halt>(message) ||
         std::holds_alternative<wire::Cancel>(message) ||
         std::holds_alternative<wire::FindKv>(message) ||
         std::holds_alternative<wire::FetchKv>(message) ||
         std::holds_alternative<wire::PartRows>(message);
}

}  // namespace aster::stage
