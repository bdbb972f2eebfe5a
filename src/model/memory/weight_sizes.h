// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What the weights of a shape take, in files and in memory, by part: also before there is a file of
// it, in the types that published files have. Must not know files or machines.
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

namespace aster::model {

enum class Place { kFile, kMemory };

// What a tensor takes there. In memory matrices are packed, some types into more than they take in
// a file; embeddings stay as they are, as rows are read out of the file when tokens ask for them,
// but as a head (`is_head`) they are packed too.
Result<uint64_t> TensorBytesIn(Place place, const TensorSpec& spec, gguf::TensorType type,
                               bool is_head = false);

// Bytes by part.
struct WeightSizes {
  uint64_t embedding = 0;
  std::vector<uint64_t> layers;
  uint64_t head = 0;  // with the MTP block, if there is one, and with the embedding if it is tied
  uint64_t tied = 0;  // of the embedding what the head has too: counted once where both are

  uint64_t Of(const Slice& slice) const;
};

using TypeOfTensor = std::function<gguf::TensorType(const TensorSpec&)>;

// Of what a part packs, where a group computes the layers. An error where a tensor cannot be stored
// as its type.
Result<WeightSizes> SizesOf(Place place, const Shape& shape, const TypeOfTensor& type_of,
                            const GroupPart& part = {});

// In which types DeepSeek V4 and gpt-oss are published: experts in few bits, the rest nearly the
// same in all. Gemma 3 is published as trained for four bits, beside an embedding of sixteen;
// others in all common types, of which one is enough here, and two where there are experts.
struct PublishedMix {
  std::string_view name;
  gguf::TensorType expand;        // of the experts' first two matrices
  gguf::TensorType contract;      // of their last
  gguf::TensorType index_query;   // of the matrix that makes what the index is asked
  uint32_t q4_layers_at_end = 0;  // whose experts are Q4_K instead
  gguf::TensorType matrix = gguf::TensorType::kQ8_0;  // all others, but the embedding
};

std::span<const PublishedMix> PublishedMixes(const Shape& shape);
Result<WeightSizes> SizesOf(Place place, const PublishedMix& mix, const Shape& shape,
                            const GroupPart& part = {});
// The MTP block, as the file that it is published in has it. The shape is one that
// may have such a block.
Result<uint64_t> NextBlockBytes(Place place, Shape shape);

}  // namespace aster::model
