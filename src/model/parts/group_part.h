// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The part that one node of a group computes of every layer: some heads, some rows of each matrix;
// of experts rows of each, or some experts as a whole. Outputs are divided, never sums but those in
// fixed point, so that every number is made as one machine makes it. Must not know weights or
// nodes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aster::model {

struct Shape;
struct TensorSpec;

struct GroupPart {
  static constexpr uint32_t kMostParts = 8;

  uint32_t index = 0;
  uint32_t count = 1;                             // of parts
  std::array<uint32_t, kMostParts> shares = {1};  // how much each does, in proportion
  // Whether each part has experts of its own, in place of some rows of all.
  bool owns_experts = false;
  // Experts of each layer that all parts have then: [layers, replicas], ascending in each layer. Of
  // an empty list some at equal distances.
  uint32_t replicas = 0;
  std::vector<uint16_t> replicated = {};

  bool is_whole() const { return count == 1; }
  // Of all that is divided, from 0 to 1.
  double share() const {
    double sum = 0;
    for (uint32_t i = 0; i < count; ++i) sum += shares[i];
    return is_whole() || sum <= 0 ? 1 : shares[index] / sum;
  }
  // The part whose node passes results on, and computes what is not divided.
  bool leads() const { return index == 0; }
  // Another part of the same group.
  GroupPart At(uint32_t other) const {
    GroupPart part = *this;
    part.index = other;
    return part;
  }
  bool operator==(const GroupPart&) const = default;
};

// Some of what is divided: [begin, end).
struct PartRange {
  uint32_t begin = 0;
  uint32_t end = 0;

  uint32_t count() const { return end - begin; }
  PartRange operator*(uint32_t each) const { return {begin * each, end * each}; }
  bool operator==(const PartRange&) const = default;
};

// The part's own of `count` things that are divided in multiples of `step`; what is left over
// belongs to the last part.
PartRange RangeOf(const GroupPart& part, uint32_t count, uint32_t step = 1);

// `count` of `all` at equal distances, ascending.
std::vector<uint16_t> EvenlySpaced(uint32_t count, uint32_t all);

// The experts of a layer that all parts of a group have, and those that this one has: ascending.
// Where experts are not owned, or there are none, nothing.
std::vector<uint16_t> ReplicatedExperts(const GroupPart& part, const Shape& shape, uint32_t layer);
std::vector<uint16_t> ExpertsOf(const GroupPart& part, const Shape& shape, uint32_t layer);

// What heads are divided in: the query heads that read one key-value head, or where layers differ
// in these, as many that each part has whole ones of every layer; those of DeepSeek V4 whose
// outputs go through one low rank; or single query heads, where all parts have all keys and values.
uint32_t HeadGroupsOf(const Shape& shape);

// Whether all parts compute, and keep, all keys and values: rows of MLA, which all heads share, and
// those of models most of whose layers have none.
bool HasWholeKeys(const Shape& shape);

// What a part has of a model's layers and head. What a model does not have is empty.
struct PartRanges {
  PartRange head_groups;
  PartRange embedding;     // rows of what is added to the residual
  PartRange feed_forward;  // rows of a dense network's gate and up
  PartRange sharing;       // the same, of layers that see other layers' KV rows
  PartRange experts;       // rows of gate and up of each expert, where these are divided so
  PartRange channels;      // of delta nets: rows that make queries, keys and values
  PartRange values;        // and those of the gate
  PartRange vocab;         // rows of the head
};
PartRanges RangesOf(const GroupPart& part, const Shape& shape);

// The numbers of a layer as the part computes it: its own heads and its own width.
Shape ShapeOfPart(const GroupPart& part, const Shape& shape);

// Rows of a matrix, or numbers of its bias, that the part has; nothing for tensors that are not
// divided. `name`: as files have it. Of a tensor that holds a matrix for each expert: rows of each,
// or nothing where experts are owned.
// DeepSeek V4's first matrix behind attention (attn_output_a) is one for each group of heads, of
// which the part has some: their rows.
std::optional<PartRange> DividedRows(const GroupPart& part, const Shape& shape,
                                     std::string_view name);
// Rows that the part packs of a tensor that holds several matrices, of each some; of any other 0.
uint64_t RowsOfSeveral(const GroupPart& part, const Shape& shape, std::string_view name);
// Whether those are the rows, or numbers, of some heads, which stay whole.
bool IsDividedByHeads(const Shape& shape, std::string_view name);
// Of a tensor's bytes those that the part packs.
uint64_t BytesOfPart(const GroupPart& part, const Shape& shape, const TensorSpec& tensor,
                     uint64_t bytes);

// What the parts of a group send one another of a layer, for one token and all together.
struct LayerGathers {
  // What one product reads: that of the layer's tensor of this name, "attn_output".
  struct Input {
    std::string_view product;
    PartRange PartRanges::* range;  // of which all parts' columns are, `each` for one
    uint32_t each = 1;
    uint32_t rows = 1;
  };
  uint32_t count = 0;    // one after the other
  uint64_t numbers = 0;  // columns of all parts, but for inputs
  std::vector<Input> inputs = {};
  uint64_t sums = 0;  // in fixed point, that each part sends: where experts are owned
};
LayerGathers GathersOf(const Shape& shape, uint32_t layer, bool owns_experts);

// Whether all parts have such columns, `each` for one of a range, in whole steps; in steps of 0
// they have none.
bool AreInSteps(std::span<const PartRanges> parts, PartRange PartRanges::* range, uint32_t each,
                size_t step);

// Numbers of the attended heads of one of HeadGroupsOf() in a layer.
uint32_t AttendedOfGroup(const Shape& shape, uint32_t layer);

// Whether such a group can compute a model of that shape; an error says why not.
Status CheckGroup(const GroupPart& part, const Shape& shape);

}  // namespace aster::model
