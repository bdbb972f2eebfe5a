// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Policy *spans*: members write one answer span by span. One drafts the next span, the others check
// it; if it is not probable enough they propose theirs, and the most probable is taken
// (docs/ensembles.md). Must not know where members are computed.
#pragma once

#include <cstdint>
#include <memory>

#include "ensemble/question.h"
#include "ensemble/question_run.h"

namespace aster::ensemble {

// Whether an answer to the question may have several authors: only its text is wanted, and no
// member writes anything else.
bool CanBeSpans(const Question& question, const std::vector<Member>& members);

// `conversation`: a number that no other question of the members has.
std::shared_ptr<QuestionRun> MakeSpans(const QuestionContext& context, const Question& question,
                                       uint64_t conversation);

}  // namespace aster::ensemble
