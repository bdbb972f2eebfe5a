// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How reliable a score of a number of questions is, and whether two models differ significantly.
// Must not know questions.
#pragma once

#include <cstdint>

namespace aster::eval {

struct Interval {
  double low = 0;
  double high = 1;
};

// Wilson's 95 % interval for the true rate, given `right` of `asked`: in 95 of 100 evaluations with
// other questions of the same kind, such an interval contains the true rate. With no questions: all
// rates are possible.
Interval WilsonInterval(uint64_t right, uint64_t asked);

// McNemar's exact test on the questions that only one of two models had right: the probability of a
// split at least as uneven as `only_first` to `only_second` if each were a coin toss. Two-sided; 1
// if there are none.
double McNemarP(uint64_t only_first, uint64_t only_second);

}  // namespace aster::eval
