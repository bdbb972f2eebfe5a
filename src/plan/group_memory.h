// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The memory that a group's nodes need for some layers, to the byte, as they count it when they
// load these. Only numbers: must not know files or nodes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/parts/group_part.h"
#include "model/parts/part_bytes.h"

namespace aster::plan {

struct GroupMemory {
  struct Form {
    std::vector<model::PartBytes> before = {};  // [layers + 1]: of all layers before
    // Memory in addition to layers: with the embedding, with the head, and with both.
    std::array<std::array<model::PartBytes, 2>, 2> ends = {};  // [embedding][head]
  };
  Form rows = {};              // each node has rows of every expert
  Form owners = {};            // each node has experts of its own
  model::PartRanges all = {};  // what is divided
  uint32_t expert_count = 0;   // per layer

  bool is_known() const { return !rows.before.empty(); }
  uint32_t layer_count() const { return static_cast<uint32_t>(rows.before.size()) - 1; }
  // The memory of layers [begin, end), with the embedding if the first is among them, and the head
  // if the last is. Experts that all nodes have are counted as if other nodes owned them.
  uint64_t Of(const model::GroupPart& part, uint32_t begin, uint32_t end) const;
};

}  // namespace aster::plan
