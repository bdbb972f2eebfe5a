// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Drafters that propose a block of tokens at once (DFlash, and DSpark, which orders them): small
// models in files of their own, made for one model, which read rows behind some of its layers and
// use its embedding and head. The numbers and tensors of one, as its files say. Must not know
// weights.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "gguf/model_files.h"
#include "model/shape/shape.h"

namespace aster::model {

// Whether the files hold such a drafter and no model.
bool HoldsBlockDrafter(const gguf::Metadata& metadata);

struct BlockShape {
  Shape layers;                 // its own, as a model of another architecture has them
  std::vector<uint32_t> taps;   // layers of the model behind which it reads rows, ascending
  uint32_t block = 0;           // tokens that are computed at once: the newest, then unknown ones
  int32_t mask = 0;             // what stands for an unknown one
  bool is_about_next = true;    // each row is about the token behind it; else about its own
  uint32_t pair_rank = 0;       // of what a token adds to the logits of the next; 0: nothing
  uint32_t own_vocab = 0;       // tokens that it knows, where it knows only some; 0: all
  bool has_embedding = false;   // of its own; else the model's
  bool has_head = false;        // likewise
  bool has_confidence = false;  // how likely each draft token is right
  bool has_confidence_bias = false;

  // Draft tokens of a block.
  uint32_t drafts() const { return is_about_next ? block : block - 1; }
};

// An error where no drafters for such a model are supported.
Status CheckCanHaveDrafter(const Shape& model);

// Of a drafter for that model: an error names what is missing, or not as it is needed.
Result<BlockShape> BlockShapeOf(const gguf::ModelFiles& files, const gguf::Metadata& model_metadata,
                                const Shape& model);

// One like those that are published for models of that architecture, for a synthetic file.
BlockShape PresetDrafterFor(const Shape& model);

// The keys by which files say all this, but those of the vocabulary.
void WriteBlockShape(const BlockShape& shape, gguf::MetadataBuilder& metadata);

// Every tensor of it but the table of its own vocabulary.
std::vector<TensorSpec> TensorsOf(const BlockShape& shape);
inline constexpr const char* kOwnVocabTable = "d2t";

}  // namespace aster::model
