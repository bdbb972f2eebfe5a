// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A set of weight types, as of a model's tensors. Must not know what it is used for, nor be
// included in sources for one instruction set.
#pragma once

#include <bitset>
#include <cstddef>
#include <initializer_list>

#include "kernels/weight_type.h"

namespace aster::kernels {

class WeightTypes {
 public:
  WeightTypes() = default;
  WeightTypes(std::initializer_list<WeightType> types) {
    for (const WeightType type : types) Add(type);
  }
  static WeightTypes All() {
    WeightTypes all;
    all.types_.set();
    return all;
  }

  void Add(WeightType type) { types_.set(static_cast<size_t>(type)); }
  bool Contains(WeightType type) const { return types_.test(static_cast<size_t>(type)); }

 private:
  std::bitset<kWeightTypeCount> types_;
};

}  // namespace aster::kernels
