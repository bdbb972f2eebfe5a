// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The part that one node of a group computes of every layer: some heads, some rows of each matrix;
// of experts some rows of each, or some whole experts. Only outputs are divided, and sums only in
// fixed point, so that every number has the same bits as on one machine. Must not know weights or
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
#include "model/shape/tensors.h"

namespace aster::model {

struct Shape;
struct TensorSpec;

struct GroupPart {
  static constexpr uint32_t kMostParts = 8;

  uint32_t index = 0;
  uint32_t count = 1;                             // of parts
  std::array<uint32_t, kMostParts> shares = {1};  // of the work of each part, in proportion
  // Whether each part has whole experts, in place of some rows of all.
  bool owns_experts = false;
  // Experts of each layer that all parts have in that case: [layers, replicas], ascending in each
  // layer. If the list is empty: experts at equal distances.
  uint32_t replicas = 0;
  std::vector<uint16_t> replicated = {};

  bool is_whole() const { return count == 1; }
  // The part's share of everything that is divided, from 0 to 1.
  double share() const {
    double sum = 0;
    for (uint32_t i = 0; i < count; ++i) sum += shares[i];
    return is_whole() || sum <= 0 ? 1 : shares[index] / sum;
  }
  // Whether its node passes results on and computes what is not divided.
  bool is_leader() const { return index == 0; }
  // Another part of the same group.
  GroupPart At(uint32_t other) const {
    GroupPart part = *this;
    part.index = other;
    return part;
  }
  bool operator==(const GroupPart&) const = default;
};

// A range of something that is divided: [begin, end).
struct PartRange {
  uint32_t begin = 0;
  uint32_t end = 0;

  uint32_t count() const { return end - begin; }
  PartRange operator*(uint32_t each) const { return {begin * each, end * each}; }
  bool operator==(const PartRange&) const = default;
};

// The part's range of `count` things that are divided in multiples of `step`; the last part also
// has the remainder.
PartRange RangeOf(const GroupPart& part, uint32_t count, uint32_t step = 1);

// `count` numbers below `all` at equal distances, ascending.
std::vector<uint16_t> EvenlySpaced(uint32_t count, uint32_t all);

// The experts of a layer that all parts of a group have, and those that this part has: ascending.
// Empty if experts are not owned, or there are none.
std::vector<uint16_t> ReplicatedExperts(const GroupPart& part, const Shape& shape, uint32_t layer);
std::vector<uint16_t> ExpertsOf(const GroupPart& part, const Shape& shape, uint32_t layer);

// The units in which heads are divided: the query heads of one key-value head (if layers differ, so
// many that each part has whole ones of every layer); in DeepSeek V4 the heads whose outputs go
// through one low rank; or single query heads, if all parts have all keys and values.
uint32_t HeadGroupsOf(const Shape& shape);

// Whether all parts compute and keep all keys and values: for MLA, whose heads share rows, and for
// models most of whose layers have none.
bool HasWholeKeys(const Shape& shape);

// A part's ranges of a model's layers and head; empty for what a model does not have.
struct PartRanges {
  PartRange head_groups;
  PartRange embedding;     // rows of the products that are added to the residual
  PartRange feed_forward;  // rows of a dense network's gate and up
  PartRange sharing;       // the same, of layers that use other layers' KV rows
  PartRange experts;       // rows of gate and up of each expert, if experts are divided
  PartRange channels;      // of delta nets: rows that make queries, keys and values
  PartRange values;        // of delta nets: rows of the gate
  PartRange vocab;         // rows of the head
};
PartRanges RangesOf(const GroupPart& part, const Shape& shape);

// The shape of a layer as the part computes it: with its own heads and its own width.
Shape ShapeOfPart(const GroupPart& part, const Shape& shape);

// The rows of a matrix, or numbers of its bias, that the part has; none for tensors that are not
// divided. `name`: as in files. For a tensor that holds a matrix for each expert: rows of each, or
// none if experts are owned.
// DeepSeek V4's first matrix after attention (attn_output_a) has rows for each group of heads; the
// part has those of its groups.
std::optional<PartRange> DividedRows(const GroupPart& part, const Shape& shape,
                                     std::string_view name);
// Rows that the part packs of a tensor that holds several matrices, some of each; 0 for any other.
uint64_t RowsOfSeveral(const GroupPart& part, const Shape& shape, std::string_view name);
// Whether its rows or numbers belong to heads, which are not divided.
bool IsDividedByHeads(const Shape& shape, std::string_view name);
// How many of a tensor's bytes the part packs.
uint64_t BytesOfPart(const GroupPart& part, const Shape& shape, const TensorSpec& tensor,
                     uint64_t bytes);

// What the parts of a group send each other for a layer, for one token, all parts together.
struct LayerGathers {
  // The input of one product, whose tensor in the layer has this name: "attn_output".
  struct Input {
    std::string_view product;
    PartRange PartRanges::* range;  // `each` columns for every unit of this range, on all parts
    uint32_t each = 1;
    uint32_t rows = 1;
  };
  uint32_t count = 0;    // gathers, one after the other
  uint64_t numbers = 0;  // columns of all parts, without inputs
  std::vector<Input> inputs = {};
  uint64_t sums = 0;  // in fixed point, sent by each part if experts are owned
};
LayerGathers GathersOf(const Shape& shape, uint32_t layer, bool owns_experts);

// Whether all parts' columns, `each` for every unit of a range, are multiples of `step` (not 0).
bool AreInSteps(std::span<const PartRanges> parts, PartRange PartRanges::* range, uint32_t each,
                size_t step);

// The numbers of attention output of one of HeadGroupsOf() in a layer.
uint32_t AttendedOfGroup(const Shape& shape, uint32_t layer);

// Whether such a group can compute a model of that shape; the error says why not.
Status CheckGroup(const GroupPart& part, const Shape& shape);

}  // namespace aster::model
