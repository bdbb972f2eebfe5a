// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/families/shape_dsa.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/latent.h"
#include "model/families/shape_mla.h"

namespace aster::model {
namespace {

constexpr std::string_view kTypesKey = "attention.indexer.types";
constexpr std::string_view kFrequencyKey = "attention.indexer.top_k_frequency";
constexpr std::string_view kOffsetKey = "attention.indexer.skip_top_k_offset";

// Files that do not say which layers have an index are of DeepSeek V3.2, GLM 5 and 5.1, where all
// have one, or of GLM 5.2, which was trained for this context length.
constexpr uint32_t kContextOf52 = 1048576;

// The layers with an index, as two numbers say it: of those after the first ones, every n-th.
Result<std::vector<uint8_t>> ReadFrequency(const Keys& keys, uint32_t layer_count) {
  const uint32_t every = TRY(keys.CountOr(kFrequencyKey, kMaxLayers, 1));
  const uint64_t offset = TRY(keys.NumberOrZero(kOffsetKey));
  std::vector<uint8_t> own(layer_count);
  for (uint32_t layer = 0; layer < layer_count; ++layer)
    own[layer] = layer < offset || (layer + 1 - offset) % every == 0;
  if (own.front() == 0)
    return keys.Unexpected(kFrequencyKey, fmt::format("{}", every), "1 without an offset");
  return own;
}

Status ReadOwners(const Keys& keys, Shape& shape) {
  std::vector<uint8_t>& own = shape.index.own;
  own = TRY(ReadFrequency(keys, shape.layer_count));
  const bool has_frequency = std::ranges::count(own, 0) > 0;
  if (keys.Contains(kTypesKey)) {
    const auto types = TRY(keys.FirstFlags(kTypesKey, shape.layer_count));
    if (has_frequency && !std::ranges::equal(types, own)) {
      return DataLoss(fmt::format("{} and {} name different layers", keys.Full(kTypesKey),
                                  keys.Full(kFrequencyKey)));
    }
    own.assign(types.begin(), types.end());
    return Ok();
  }
  if (has_frequency) return Ok();
  if (shape.arch != Arch::kGlmDsa || shape.context_length < kContextOf52) return Ok();
  for (uint32_t layer = 0; layer < shape.layer_count; ++layer)
    own[layer] = HasIndexIn52(layer) ? 1 : 0;
  return Ok();
}

}  // namespace

bool HasIndexIn52(uint32_t layer) { return layer < 2 || layer % 4 == 2; }

Status ReadDsa(const Keys& keys, Shape& shape) {
  shape.experts.score = kernels::RouterScore::kSigmoid;
  TRY(ReadMla(keys, shape));
  RowIndex& index = shape.index;
  index.heads = TRY(keys.Count("attention.indexer.head_count", kMaxWidth));
  index.dim = TRY(keys.Count("attention.indexer.key_length", kMaxWidth));
  index.top = TRY(keys.Count("attention.indexer.top_k", kMaxWidth));
  // Pooled rows are not supported.
  TRY(keys.ExpectNumber("attention.indexer.kpool", 1));
  return ReadOwners(keys, shape);
}

Status CheckDsa(const Shape& shape) {
  TRY(CheckMla(shape));
  const RowIndex& index = shape.index;
  if (shape.mla.query_rank == 0)
    return DataLoss("an index needs queries of a low rank (attention.q_lora_rank)");
  if (index.top == 0 || index.own.size() != shape.layer_count || index.own.front() == 0) {
    return DataLoss(
        fmt::format("an index of {} rows (attention.indexer.top_k) in {} of {} layers "
                    "(attention.indexer.types) cannot be: the first layer needs one",
                    index.top, std::ranges::count(index.own, 1), shape.layer_count));
  }
  const auto own = std::ranges::count(index.own, 1);
  if (shape.arch == Arch::kDeepSeek32 && own < std::ssize(index.own)) {
    return Unimplemented(
        fmt::format("an index in {} of {} layers (attention.indexer.types); this architecture has "
                    "one in all",
                    own, shape.layer_count));
  }
  // The kernels compute with sixteen numbers at a time.
  if (index.heads == 0 || index.dim % kernels::kLatentLanes != 0 ||
      index.dim < shape.rope.dimensions || index.dim > kernels::kMaxLatentDim ||
      uint64_t{index.heads} * index.dim > kMaxWidth) {
    return Unimplemented(
        fmt::format("an index of {} heads of {} numbers (attention.indexer.key_length), {} of them "
                    "turning; multiples of {} up to {} are supported",
                    index.heads, index.dim, shape.rope.dimensions, kernels::kLatentLanes,
                    kernels::kMaxLatentDim));
  }
  return Ok();
}

void WriteDsa(const Shape& shape, gguf::MetadataBuilder& metadata) {
  const auto set = [&](std::string_view key, const auto& value) {
    metadata.Set(fmt::format("{}.{}", ArchName(shape.arch), key), value);
  };
  const RowIndex& index = shape.index;
  set("attention.indexer.head_count", index.heads);
  set("attention.indexer.key_length", index.dim);
  set("attention.indexer.top_k", index.top);
  if (shape.arch == Arch::kGlmDsa)
    set(kTypesKey, std::vector<bool>(index.own.begin(), index.own.end()));
}

}  // namespace aster::model
