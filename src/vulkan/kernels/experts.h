// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A mixture of experts on a device: the choice of experts, and products with a different matrix for
// every row, which the host does not know. Must not know layers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/result.h"
#include "kernels/routing.h"
#include "kernels/weight_type.h"
#include "vulkan/kernels/kernels.h"

namespace aster::vulkan {

// SelectGroupedExperts and RouterWeights of kernels/routing.h, after RouterScores.
struct ChooseExpertsJob {
  Address scores;  // [rows], stride floats apart
  uint32_t rows;
  uint32_t experts;
  uint32_t stride;
  uint32_t used;       // experts of a row
  Address bias = 0;    // [experts], for the choice only; or none
  Address scales = 0;  // [experts], of their weights; or none
  Address given = 0;   // [rows][used] uint32, if the scores do not choose; or none
  kernels::RoutingSpec spec;
  Address ids;      // [rows][used] uint32
  Address weights;  // [rows][used] floats
};
Status RecordChooseExperts(Kernels& kernels, Commands& commands, const ChooseExpertsJob& job);

// Slots, one for each expert of a row, in groups of `together` with the same expert: a product
// reads the expert's weights once for a group.
struct ExpertGroups {
  Address slots = 0;  // [count * together] uint32: slots, or kNoSlot; none: each by itself
  // A power of two up to kFewRows, or kManyRows, kMatrixRows, kWideMatrixRows (product_push.h).
  uint32_t together = 1;
  uint32_t count;  // up to kRowGroups
};
inline constexpr uint32_t kNoSlot = 0xffffffff;

// How many groups are enough for any choice of experts.
constexpr uint32_t MostGroups(uint32_t slots, uint32_t experts, uint32_t together) {
  return (slots + std::min(slots, experts) * (together - 1)) / together;
}

// Writes groups.slots: those of each expert in ascending order, each expert's last group filled up
// with kNoSlot, and kNoSlot after all groups.
struct GroupExpertsJob {
  Address ids;  // [slots] uint32, each below `experts`
  uint32_t slots;
  uint32_t experts;
  ExpertGroups groups;  // MostGroups() of them
};
Status RecordGroupExperts(Kernels& kernels, Commands& commands, const GroupExpertsJob& job);

// Row i of the result is matrix ids[i] times row first_row + i / sharing of the activations, for
// every slot i of the groups.
struct ExpertProductJob {
  kernels::WeightType type;
  Address matrices;  // uint64 addresses of packed weights, of one shape
  Address ids;       // [slots] uint32
  ExpertGroups groups;
  uint32_t sharing;
  uint32_t outputs;  // rows of a matrix
  uint32_t columns;
  Address activations;       // prepared
  uint32_t activation_rows;  // how many rows were prepared together
  uint32_t first_row;
  Address result;  // [slots][outputs] floats
};
Status RecordExpertProduct(Kernels& kernels, Commands& commands, const ExpertProductJob& job);

// Adds row ids[i] of the biases to row i of y [rows][width].
struct AddByExpertJob {
  Address biases;  // [experts][width] floats
  Address ids;     // [rows] uint32
  uint32_t rows;
  uint32_t width;
  Address y;
};
Status RecordAddByExpert(Kernels& kernels, Commands& commands, const AddByExpertJob& job);

}  // namespace aster::vulkan
