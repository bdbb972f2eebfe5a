// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Policy *bytes*: members write one answer symbol by symbol, each drawn from the weighted mean of
// what they find probable (docs/ensembles.md). Must not know where members are computed.
#pragma once

#include <cstdint>
#include <memory>

#include "ensemble/asked.h"
#include "ensemble/question.h"

namespace aster::ensemble {

// Whether an answer to the question can be written so: its text alone is wanted, and what it has to
// look like, if anything, is known of the symbols.
bool CanBeMixed(const Question& question, const std::vector<Member>& members);

// `conversation` is a number that no other question of the members has.
std::shared_ptr<Asked> MakeMixing(const AskedContext& context, const Question& question,
                                  uint64_t conversation);

}  // namespace aster::ensemble
