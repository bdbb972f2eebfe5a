// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What DeepSeek V4.1 has beside DeepSeek V4 among a model's numbers: a memory of n-grams, and
// compressed rows that layers share. Must not know weights.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "gguf/model_files.h"
#include "model/shape/shape.h"
#include "model/shape/shape_keys.h"

namespace aster::model {

Status ReadDeepSeek41(const Keys& keys, Shape& shape);

Status CheckDeepSeek41(const Shape& shape);

void WriteDeepSeek41(const Shape& shape, gguf::MetadataBuilder& metadata);

// Which layers make compressed rows and which choose among them: files say it by their tensors, so
// that those of all layers have to be listed.
Status FindFarRows(const gguf::ModelFiles& files, Shape& shape);

// Rows that a layer's table has: those of all its heads.
uint64_t NgramTableRows(const Ngrams& ngrams, uint32_t layer);

// Where a layer stands among those with a table.
uint32_t NgramIndexOf(const Ngrams& ngrams, uint32_t layer);

// For models that are made up: tables of about `rows_of_head` rows for each head, for a vocabulary
// of which every third token counts as the one before it.
std::shared_ptr<const Ngrams> MakeNgrams(Ngrams base, uint32_t vocab_size, uint64_t rows_of_head);

}  // namespace aster::model
