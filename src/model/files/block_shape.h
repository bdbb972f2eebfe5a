// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The numbers and tensors of drafters that propose a block of tokens at once (DFlash, and DSpark,
// which makes each draft token depend on the one before): small models in files of their own, made
// for one model, which read rows after some of its layers and use its embedding and head. Must not
// know weights.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "gguf/model_files.h"
#include "model/shape/shape.h"
#include "model/shape/tensors.h"

namespace aster::model {

// Whether the files hold such a drafter and no model.
bool HoldsBlockDrafter(const gguf::Metadata& metadata);

struct BlockShape {
  Shape layers;                 // its own, in the form of a model of another architecture
  std::vector<uint32_t> taps;   // layers of the model after which it reads rows, ascending
  uint32_t block = 0;           // tokens of a pass: the newest one, then masks
  int32_t mask = 0;             // the mask token
  bool is_about_next = true;    // each row predicts the token after it; else its own
  uint32_t pair_rank = 0;       // rank of what a token adds to the logits of the next; 0: nothing
  uint32_t own_vocab = 0;       // size of its vocabulary if it knows only some tokens; 0: all
  bool has_embedding = false;   // its own; else the model's
  bool has_head = false;        // likewise
  bool has_confidence = false;  // predicts the probability that each draft token is accepted
  bool has_confidence_bias = false;

  uint32_t drafts() const { return is_about_next ? block : block - 1; }
};

// An error if no drafters for such a model are supported.
Status CheckCanHaveDrafter(const Shape& model);

// The shape of a drafter for that model. An error names what is missing or not supported.
Result<BlockShape> BlockShapeOf(const gguf::ModelFiles& files, const gguf::Metadata& model_metadata,
                                const Shape& model);

// A drafter like those that are published for models of that architecture, for a synthetic file.
BlockShape PresetDrafterFor(const Shape& model);

// Writes the keys of all these numbers, except those of the vocabulary.
void WriteBlockShape(const BlockShape& shape, gguf::MetadataBuilder& metadata);

// Every tensor except the table of its own vocabulary.
std::vector<TensorSpec> TensorsOf(const BlockShape& shape);
inline constexpr const char* kOwnVocabTable = "d2t";

}  // namespace aster::model
