// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How much a score of a number of questions says, and whether two models differ by more than
// chance. Must not know questions.
#pragma once

#include <cstdint>

namespace aster::eval {

struct Interval {
  double low = 0;
  double high = 1;
};

// Wilson's interval of 95 % for the rate behind `right` of `asked`: in 95 of 100 evaluations with
// other questions of the same kind, an interval made like this holds the true rate. Of nothing: all
// rates are possible.
Interval WilsonInterval(uint64_t right, uint64_t asked);

// McNemar's exact test on the questions that only one of two models had right: how likely a split
// at least as uneven as `only_first` to `only_second` would be if each were the toss of a coin. Two
// sided; 1 where there are none.
double McNemarP(uint64_t only_first, uint64_t only_second);

}  // namespace aster::eval
