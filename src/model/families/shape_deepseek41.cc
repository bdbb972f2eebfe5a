// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/families/shape_deepseek41.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "kernels/latent.h"

namespace aster::model {
namespace {

// Published models have 4 and 8.
constexpr uint32_t kMaxNgram = 16;
constexpr uint32_t kMaxNgramHeads = 64;
// Row indices have to fit int32_t.
constexpr uint64_t kMaxTableRows = INT32_MAX;
// As in published models, whose files do not have it.
constexpr uint32_t kTopBlocks = 2048;
// They are sent with every token.
constexpr uint32_t kMaxTopBlocks = 1 << 16;
constexpr uint32_t kBlockRows = 8;

constexpr std::string_view kBlockLayerKey = "attention.indexer.candidate_source_layer";
constexpr std::string_view kTopBlocksKey = "attention.indexer.candidate_top_k";
constexpr std::string_view kBlockRowsKey = "attention.indexer.candidate_block_size";

Result<std::vector<uint64_t>> ReadNumbers(const Keys& keys, std::string_view key, size_t count) {
  auto values = TRY(keys.Numbers(key));
  if (values.size() == count) return values;
  return DataLoss(
      fmt::format("{} holds {} numbers, {} are needed", keys.Full(key), values.size(), count));
}

Result<uint32_t> ClassOf(const Keys& keys, std::string_view key, uint64_t id) {
  if (id <= kMaxWidth) return static_cast<uint32_t>(id);
  return DataLoss(
      fmt::format("{} holds {}, at most {} is expected", keys.Full(key), id, kMaxWidth));
}

Result<std::shared_ptr<const Ngrams>> ReadNgrams(const Keys& keys, const Shape& shape) {
  Ngrams ngrams;
  for (const uint64_t layer : TRY(keys.Numbers("engram.layer_ids"))) {
    if (layer >= shape.layer_count) {
      return DataLoss(fmt::format("{} names layer {} of {} layers", keys.Full("engram.layer_ids"),
                                  layer, shape.layer_count));
    }
    ngrams.layers.push_back(static_cast<uint32_t>(layer));
  }
  ngrams.length = TRY(keys.Count("engram.max_ngram_size", kMaxNgram));
  if (ngrams.length < 2) return keys.Unexpected("engram.max_ngram_size", "1", "at least 2");
  ngrams.heads = TRY(keys.Count("engram.head_count", kMaxNgramHeads));
  ngrams.dim = TRY(keys.Count("engram.key_length", kMaxWidth));
  ngrams.padding = TRY(ClassOf(keys, "engram.pad_id", TRY(keys.Required("engram.pad_id"))));
  const size_t layers = ngrams.layers.size();
  ngrams.multipliers = TRY(ReadNumbers(keys, "engram.multipliers", layers * ngrams.length));
  ngrams.row_counts = TRY(ReadNumbers(keys, "engram.primes", layers * ngrams.rows()));
  ngrams.first_rows = TRY(ReadNumbers(keys, "engram.offsets", layers * ngrams.rows()));
  for (const uint64_t id : TRY(keys.Numbers("engram.token_map")))
    ngrams.classes.push_back(TRY(ClassOf(keys, "engram.token_map", id)));
  return std::make_shared<const Ngrams>(std::move(ngrams));
}

// Every hash must fall into the table, which ends with the rows of its last head.
Status CheckNgrams(const Ngrams& ngrams, const Shape& shape) {
  const size_t layers = ngrams.layers.size();
  if (layers == 0 || ngrams.length < 2 || ngrams.heads == 0 || ngrams.dim == 0 ||
      ngrams.length > kMaxNgram || ngrams.heads > kMaxNgramHeads || ngrams.dim > kMaxWidth ||
      ngrams.multipliers.size() != layers * ngrams.length ||
      ngrams.row_counts.size() != layers * ngrams.rows() ||
      ngrams.first_rows.size() != ngrams.row_counts.size()) {
    return DataLoss(
        fmt::format("n-grams of {} tokens, {} heads and {} numbers in {} layers cannot be",
                    ngrams.length, ngrams.heads, ngrams.dim, layers));
  }
  if (!std::ranges::is_sorted(ngrams.layers, std::ranges::less_equal()) ||
      ngrams.layers.back() >= shape.layer_count)
    return DataLoss("the layers of n-grams (engram.layer_ids) are not in ascending order");
  for (size_t i = 0; i < ngrams.row_counts.size(); ++i) {
    const uint64_t count = ngrams.row_counts[i];
    if (count == 0 || count > kMaxTableRows || ngrams.first_rows[i] > kMaxTableRows - count) {
      return DataLoss(
          fmt::format("{} rows from row {} on (engram.primes, engram.offsets) cannot be", count,
                      ngrams.first_rows[i]));
    }
  }
  if (ngrams.classes.size() < shape.vocab_size) {
    return DataLoss(fmt::format("engram.token_map holds {} tokens of a vocabulary of {}",
                                ngrams.classes.size(), shape.vocab_size));
  }
  return Ok();
}

// Layers after the one that chooses blocks must use the same compressed rows.
Status CheckBlockLayer(const Shape& shape) {
  const Latent& latent = shape.latent;
  if (!latent.block_layer) return Ok();
  const uint32_t first = *latent.block_layer;
  bool is_right = first < shape.layer_count && latent.chooses_rows[first] != 0;
  for (uint32_t layer = first + 1; is_right && layer < shape.layer_count; ++layer)
    is_right = latent.makes_rows[layer] == 0;
  if (is_right) return Ok();
  return Unimplemented(
      fmt::format("blocks of compressed rows chosen by layer {} ({}), which the layers behind it "
                  "do not all see",
                  first, kBlockLayerKey));
}

// Every layer with a ratio must have rows of that ratio, and an index that has chosen from them.
Status CheckCompressedRows(const Shape& shape) {
  const Latent& latent = shape.latent;
  if (latent.makes_rows.empty() && latent.chooses_rows.empty()) return Ok();
  if (latent.makes_rows.size() != shape.layer_count ||
      latent.chooses_rows.size() != shape.layer_count)
    return DataLoss("compressed rows are not known of every layer");
  uint32_t made = 0;
  bool are_chosen = false;
  for (uint32_t layer = 0; layer < shape.layer_count; ++layer) {
    const uint32_t ratio = latent.ratios[layer];
    const bool makes = latent.makes_rows[layer] != 0, chooses = latent.chooses_rows[layer] != 0;
    if (makes) made = ratio;
    if (chooses) are_chosen = true;
    // Choices from other rows are invalid.
    if (makes && !chooses) are_chosen = false;
    if (ratio == 0 ? makes || chooses : made != ratio || !are_chosen) {
      return DataLoss(fmt::format(
          "layer {} has compressed rows of {} tokens, but no layer up to it makes them and chooses "
          "among them",
          layer, ratio));
    }
  }
  return CheckBlockLayer(shape);
}

bool IsPrime(uint64_t number) {
  for (uint64_t divisor = 2; divisor * divisor <= number; ++divisor) {
    if (number % divisor == 0) return false;
  }
  return number > 1;
}

}  // namespace

Status ReadDeepSeek41(const Keys& keys, Shape& shape) {
  shape.ngrams = TRY(ReadNgrams(keys, shape));
  Latent& latent = shape.latent;
  latent.top_blocks = TRY(keys.CountOr(kTopBlocksKey, kMaxTopBlocks, kTopBlocks));
  latent.block_rows = TRY(keys.CountOr(kBlockRowsKey, kMaxWidth, kBlockRows));
  if (keys.Contains(kBlockLayerKey)) {
    const uint64_t layer = TRY(keys.Required(kBlockLayerKey));
    if (layer >= shape.layer_count) {
      return DataLoss(fmt::format("{} is {} of {} layers", keys.Full(kBlockLayerKey), layer,
                                  shape.layer_count));
    }
    latent.block_layer = static_cast<uint32_t>(layer);
  }
  return Ok();
}

Status CheckDeepSeek41(const Shape& shape) {
  if (shape.experts.hash_layers != 0)
    return Unimplemented("layers of this architecture whose experts a table picks");
  if (shape.ngrams == nullptr) return DataLoss("a model of this architecture has n-grams");
  TRY(CheckNgrams(*shape.ngrams, shape));
  const Latent& latent = shape.latent;
  if (shape.head_dim % (2 * kernels::kLatentLanes) != 0) {
    return Unimplemented(fmt::format("heads of {} numbers; multiples of {} are supported",
                                     shape.head_dim, 2 * kernels::kLatentLanes));
  }
  if (latent.top_blocks > kMaxTopBlocks || latent.block_rows > kMaxWidth) {
    return Unimplemented(fmt::format("{} blocks of {} rows ({}); up to {} are supported",
                                     latent.top_blocks, latent.block_rows, kTopBlocksKey,
                                     kMaxTopBlocks));
  }
  // Otherwise there might be fewer rows in the blocks than are chosen.
  if (latent.block_layer &&
      uint64_t{latent.top_blocks} * latent.block_rows < latent.index_top + latent.block_rows) {
    return Unimplemented(fmt::format("{} rows chosen from {} blocks of {}", latent.index_top,
                                     latent.top_blocks, latent.block_rows));
  }
  return CheckCompressedRows(shape);
}

void WriteDeepSeek41(const Shape& shape, gguf::MetadataBuilder& metadata) {
  const auto set = [&](std::string_view key, const auto& value) {
    metadata.Set(fmt::format("{}.{}", ArchName(shape.arch), key), value);
  };
  const Ngrams& ngrams = *shape.ngrams;
  set("engram.layer_ids", ngrams.layers);
  set("engram.max_ngram_size", ngrams.length);
  set("engram.head_count", ngrams.heads);
  set("engram.key_length", ngrams.dim);
  set("engram.pad_id", ngrams.padding);
  set("engram.multipliers", ngrams.multipliers);
  set("engram.primes", ngrams.row_counts);
  set("engram.offsets", ngrams.first_rows);
  set("engram.token_map", ngrams.classes);
  const Latent& latent = shape.latent;
  if (!latent.block_layer) return;
  set(kBlockLayerKey, *latent.block_layer);
  set(kTopBlocksKey, latent.top_blocks);
  set(kBlockRowsKey, latent.block_rows);
}

Status FindCompressedRows(const gguf::ModelFiles& files, Shape& shape) {
  Latent& latent = shape.latent;
  latent.makes_rows.assign(shape.layer_count, 0);
  latent.chooses_rows.assign(shape.layer_count, 0);
  for (uint32_t layer = 0; layer < shape.layer_count; ++layer) {
    const auto has = [&](std::string_view name) {
      return files.FindTensor(fmt::format("blk.{}.{}", layer, name)) != nullptr;
    };
    if (!has("attn_norm.weight")) {
      return FailedPrecondition(
          fmt::format("layer {} is not in these files, and a file of DeepSeek V4.1 says only by a "
                      "layer's tensors "
                      "which rows it sees; give all files of the model",
                      layer));
    }
    latent.makes_rows[layer] = has("attn_compressor_kv.weight") ? 1 : 0;
    latent.chooses_rows[layer] = has("indexer.attn_q_b.weight") ? 1 : 0;
    // Published files do not say which layer chooses blocks: the first with rows of single tokens.
    if (!latent.block_layer && latent.chooses_rows[layer] != 0 && latent.ratios[layer] == 1)
      latent.block_layer = layer;
  }
  return Ok();
}

uint32_t NgramIndexOf(const Ngrams& ngrams, uint32_t layer) {
  const auto found = std::ranges::find(ngrams.layers, layer);
  CHECK(found != ngrams.layers.end());
  return static_cast<uint32_t>(found - ngrams.layers.begin());
}

uint64_t NgramTableRows(const Ngrams& ngrams, uint32_t layer) {
  const size_t first = size_t{NgramIndexOf(ngrams, layer)} * ngrams.rows();
  uint64_t rows = 0;
  for (size_t i = first; i < first + ngrams.rows(); ++i)
    rows = std::max(rows, ngrams.first_rows[i] + ngrams.row_counts[i]);
  return rows;
}

std::shared_ptr<const Ngrams> MakeNgrams(Ngrams base, uint32_t vocab_size, uint64_t rows_of_head) {
  Random random(41);
  uint64_t prime = rows_of_head;
  for (size_t layer = 0; layer < base.layers.size(); ++layer) {
    for (uint32_t i = 0; i < base.length; ++i)
      base.multipliers.push_back(2 * random.NextBelow(uint64_t{1} << 40) + 1);
    // Each head has another number of rows.
    uint64_t first = 0;
    for (uint32_t i = 0; i < base.rows(); ++i) {
      do ++prime;
      while (!IsPrime(prime));
      base.row_counts.push_back(prime);
      base.first_rows.push_back(first);
      first += prime;
    }
  }
  for (uint32_t token = 0; token < vocab_size; ++token)
    base.classes.push_back(token % 3 == 2 ? token - 1 : token);
  return std::make_shared<const Ngrams>(std::move(base));
}

}  // namespace aster::model
