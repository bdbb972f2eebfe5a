// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The part of a model that a machine holds. Must not know weights.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "model/parts/group_part.h"
#include "model/shape/shape.h"
#include "model/shape/tensors.h"

namespace aster::model {

// Part of a model: layers [layer_begin, layer_end), and whether the token embedding and the output
// head belong to it.
struct Slice {
  uint32_t layer_begin = 0;
  uint32_t layer_end = 0;
  bool embedding = false;
  bool head = false;
  GroupPart part = {};  // of each layer and of the head, if a group of machines computes them

  static Slice Whole(const Shape& shape) { return {0, shape.layer_count, true, true}; }
  bool operator==(const Slice&) const = default;

  // Whether the MTP block is computed beside the head; in a group by the leader alone.
  bool HasMtp(const Shape& shape) const { return head && shape.mtp_layers > 0 && part.is_leader(); }

  bool Contains(const Slice& other) const {
    return layer_begin <= other.layer_begin && other.layer_end <= layer_end &&
           (embedding || !other.embedding) && (head || !other.head) && part == other.part;
  }

  // Whether the slice computes with this tensor of a model of that shape.
  bool Needs(const Shape& shape, const TensorSpec& spec) const {
    switch (spec.part) {
      case Part::kLayer:
        return spec.layer >= 0 && static_cast<uint32_t>(spec.layer) >= layer_begin &&
               static_cast<uint32_t>(spec.layer) < layer_end;
      case Part::kEmbedding:
        // Rope factors belong to every layer. Tied heads, the MTP block and layers with embeddings
        // of their own need the embedding.
        return embedding || spec.name != "token_embd.weight" || shape.kinds.input > 0 ||
               (head && (shape.tied_head || HasMtp(shape)));
      case Part::kHead:
        return head && (HasMtp(shape) || !IsOfMtpBlock(spec));
    }
    return true;
  }
};

// An error if the slice's first layer needs more from the one before it than its rows.
Status CheckFirstLayer(const Slice& slice, const Shape& shape);

}  // namespace aster::model
