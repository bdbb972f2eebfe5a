// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The numbers of DeepSeek V4.1 beside those of DeepSeek V4: n-gram memory, and compressed rows that
// layers share. Must not know weights.
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

// Finds which layers make compressed rows and which choose among them. Files say it only by their
// tensors, so the files must list those of all layers.
Status FindCompressedRows(const gguf::ModelFiles& files, Shape& shape);

// Rows of a layer's table: those of all its heads.
uint64_t NgramTableRows(const Ngrams& ngrams, uint32_t layer);

// The index of a layer among those with a table.
uint32_t NgramIndexOf(const Ngrams& ngrams, uint32_t layer);

// For synthetic models: tables of about `rows_of_head` rows for each head, for a vocabulary in
// which every third token is in the class of the one before it.
std::shared_ptr<const Ngrams> MakeNgrams(Ngrams base, uint32_t vocab_size, uint64_t rows_of_head);

}  // namespace aster::model
