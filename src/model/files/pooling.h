// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which rows of a text become its embedding, as a model's file says. Must not know how they are
// computed.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "gguf/metadata.h"

namespace aster::model {

enum class Pooling : uint8_t {
  kLast,   // the last token's
  kFirst,  // the first token's, which files call cls
  kMean,   // the mean of all
  kRank,   // the last token's, for a head that ranks documents: there is no embedding
};

// "last", "cls", "mean", "rank".
std::string_view PoolingName(Pooling pooling);

// Reads `<arch>.pooling_type`. Models for text generation do not have it: for them it is the last
// token, which has seen all others. An error if the pooling is not supported.
Result<Pooling> ReadPooling(const gguf::Metadata& metadata);

// Whether the file names a pooling, as files of embedding and reranking models do.
bool NamesPooling(const gguf::Metadata& metadata);

}  // namespace aster::model
