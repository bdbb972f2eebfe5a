// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Policy *choose*: every member answers, every member rates every different answer, and the one
// that they together find most probable is taken (docs/ensembles.md). Must not know where members
// are computed.
#pragma once

#include <cstdint>
#include <memory>

#include "ensemble/question.h"
#include "ensemble/question_run.h"

namespace aster::ensemble {

// `conversation`: a number that no other question of the members has.
std::shared_ptr<QuestionRun> MakeChoosing(const QuestionContext& context, const Question& question,
                                          uint64_t conversation);

}  // namespace aster::ensemble
