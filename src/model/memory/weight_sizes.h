// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How much memory the weights of a shape take, in files and in memory, by part: also before there
// is a file, in the types of published files. Must not know files or machines.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/types.h"
#include "model/parts/slice.h"
#include "model/shape/shape.h"
#include "model/shape/tensors.h"

namespace aster::model {

enum class Place { kFile, kMemory };

// The bytes of a tensor there. In memory matrices are packed, and some types take more than in a
// file. Embeddings are not packed, as rows are read from the file when tokens need them, except if
// they are also the head (`is_head`).
Result<uint64_t> TensorBytesIn(Place place, const TensorSpec& spec, gguf::TensorType type,
                               bool is_head = false);

// Bytes by part.
struct WeightSizes {
  uint64_t embedding = 0;
  std::vector<uint64_t> layers;
  uint64_t head = 0;  // with the MTP block, if there is one, and with the embedding if it is tied
  uint64_t tied = 0;  // of the embedding, as head; counted once if a slice has both

  uint64_t Of(const Slice& slice) const;
};

using TypeOfTensor = std::function<gguf::TensorType(const TensorSpec&)>;

// What a group's part packs. An error if a tensor cannot be stored as its type.
Result<WeightSizes> SizesOf(Place place, const Shape& shape, const TypeOfTensor& type_of,
                            const GroupPart& part = {});

// The types in which models are published. DeepSeek V4 and gpt-oss: experts in few bits, the rest
// nearly the same in all. Gemma 3: as trained for four bits, with an embedding of sixteen. Others
// are published in all common types: one is enough here, and two for models with experts.
struct PublishedMix {
  std::string_view name;
  gguf::TensorType expand;        // of the experts' gate and up
  gguf::TensorType contract;      // of the experts' down
  gguf::TensorType index_query;   // of the matrix that makes the index's queries
  uint32_t q4_layers_at_end = 0;  // last layers, whose experts are Q4_K instead
  gguf::TensorType matrix = gguf::TensorType::kQ8_0;  // all others, except the embedding
};

std::span<const PublishedMix> PublishedMixes(const Shape& shape);
Result<WeightSizes> SizesOf(Place place, const PublishedMix& mix, const Shape& shape,
                            const GroupPart& part = {});
// The size of the MTP block in its published file. The shape must allow such a block.
Result<uint64_t> MtpBytes(Place place, Shape shape);

}  // namespace aster::model
