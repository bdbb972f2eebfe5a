// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Policy *bytes*: members write one answer symbol by symbol, each drawn from the weighted mean of
// their probabilities (docs/ensembles.md). Must not know where members are computed.
#pragma once

#include <cstdint>
#include <memory>

#include "ensemble/question.h"
#include "ensemble/question_run.h"

namespace aster::ensemble {

// Whether an answer to the question can be written so: only its text is wanted, and its form, if
// any, can be checked by symbols.
bool CanBeMixed(const Question& question, const std::vector<Member>& members);

// `conversation`: a number that no other question of the members has.
std::shared_ptr<QuestionRun> MakeMixing(const QuestionContext& context, const Question& question,
                                        uint64_t conversation);

}  // namespace aster::ensemble
