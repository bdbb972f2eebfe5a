// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Describes who wrote an ensemble's answer and why that one was taken, for users and for scripts.
// Must not know how it was decided.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "ensemble/answer.h"

namespace aster::ensemble {

// The names of the answer's authors.
std::string Authors(const Answer& answer);
// Several lines, without the texts of whole answers.
std::string Explain(const Answer& answer);
nlohmann::ordered_json ExplanationToJson(const Answer& answer);

}  // namespace aster::ensemble
