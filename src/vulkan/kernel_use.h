// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The kernels of a device that a model needs. Compiling them takes most of the time to open it, so
// others are not checked, and are refused from then on. Must not know models.
#pragma once

#include <bitset>
#include <cstddef>
#include <initializer_list>

#include "kernels/pages.h"
#include "kernels/weight_types.h"

namespace aster::vulkan {

// Types of rows in pages of keys and values.
class PageTypes {
 public:
  PageTypes() = default;
  PageTypes(std::initializer_list<kernels::KvType> types) {
    for (const kernels::KvType type : types) types_.set(static_cast<size_t>(type));
  }
  static PageTypes All() {
    PageTypes all;
    all.types_.set();
    return all;
  }

  bool Contains(kernels::KvType type) const { return types_.test(static_cast<size_t>(type)); }

 private:
  std::bitset<kernels::kKvTypeCount> types_;
};

struct KernelUse {
  kernels::WeightTypes weights = {};
  PageTypes pages = {};  // of attention over heads
  bool capped = false;   // attention with a soft cap of scores
  bool experts = false;  // and routers
  bool latent = false;   // rows that are both keys and values, residuals of several streams
  bool shared = false;   // such rows that layers share, and the operations on them
  bool states = false;   // of delta nets
  bool parts = false;    // of a group's layers, whose columns nodes exchange

  static KernelUse All() {
    return {.weights = kernels::WeightTypes::All(),
            .pages = PageTypes::All(),
            .capped = true,
            .experts = true,
            .latent = true,
            .shared = true,
            .states = true,
            .parts = true};
  }
};

}  // namespace aster::vulkan
