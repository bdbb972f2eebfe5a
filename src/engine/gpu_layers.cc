// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/gpu_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "model/files/support.h"
#include "model/parts/group_part.h"
#include "model/shape/tensors.h"

namespace aster::engine {
namespace {

// Rows of the largest batch that memory is planned for.
constexpr uint64_t kScratchRows = 512;
// One that the device computes, and one that a node begins meanwhile.
constexpr uint64_t kScratchBatches = 2;
// Left to the system and other programs: the larger of this and a share of the memory.
constexpr uint64_t kLeastReserveBytes = uint64_t{256} << 20;
constexpr uint64_t kReserveShare = 16;

// Numbers of a row that a group's part has beside its own columns: those of all parts.
uint64_t GatheredNumbers(const model::Shape& shape) {
  uint64_t attended = 0;
  for (uint32_t layer = 0; layer < shape.layer_count; ++layer) {
    attended = std::max(
        attended, uint64_t{model::HeadGroupsOf(shape)} * model::AttendedOfGroup(shape, layer));
  }
  const uint64_t dense = std::max(shape.feed_forward, shape.kinds.sharing_feed_forward);
  const uint64_t normed = shape.has_wide_norms()
                              ? (uint64_t{shape.head_count} + shape.kv_head_count) * shape.head_dim
                              : 0;
  const model::Experts& experts = shape.experts;
  const uint64_t wide =
      2 * (uint64_t{experts.used} + experts.shared) * uint64_t{experts.feed_forward};
  return shape.embedding + attended + dense + normed + wide;
}

}  // namespace

Result<GpuLayers> ParseGpuLayers(std::string_view text) {
  if (text == "auto") return GpuLayers{.count = std::nullopt};
  uint32_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size()) {
    return InvalidArgument(
        fmt::format("\"{}\" is no number of layers; give one, or auto for as many as fit", text));
  }
  return GpuLayers{.count = count};
}

uint64_t GpuReserveBytes(uint64_t available_bytes) {
  return std::max(kLeastReserveBytes, available_bytes / kReserveShare);
}

// Rows in every width that a layer needs, and logits of one row for each.
uint64_t GpuScratchBytes(const model::Shape& shape, const model::GroupPart& part) {
  const model::Latent& latent = shape.latent;
  const model::LayerKinds& kinds = shape.kinds;
  const uint64_t heads =
      uint64_t{shape.head_count} * std::max(shape.head_dim, kinds.window_head_dim);
  const uint64_t kv_heads = std::max(uint64_t{shape.kv_head_count} * shape.head_dim,
                                     uint64_t{kinds.window_kv_heads} * kinds.window_head_dim);
  const uint64_t wide = std::max<uint64_t>({shape.feed_forward, kinds.sharing_feed_forward, heads});
  // A token's embedding again, and those of its layers.
  const uint64_t inputs =
      kinds.input == 0 ? 0 : shape.embedding + uint64_t{kinds.input} * (shape.layer_count + 2);
  // The residual, also normed, and half a layer's rows.
  const uint64_t hidden = 2 * uint64_t{shape.hidden_width()} + 2 * uint64_t{shape.embedding};
  const model::Mla& mla = shape.mla;
  const uint64_t low = uint64_t{latent.query_rank} + mla.query_rank +
                       uint64_t{shape.head_count} * (mla.key_dim + mla.value_dim) +
                       uint64_t{latent.output_groups} * latent.output_rank +
                       uint64_t{latent.index_heads} * latent.index_dim + latent.index_top +
                       (uint64_t{shape.index.heads} + 1) * shape.index.dim + shape.index.top;
  // Layers that keep states: their projections, and the convolution's output.
  const model::Recurrence& recurrence = shape.recurrence;
  const uint64_t states = 2 * uint64_t{recurrence.channels()} + 3 * uint64_t{recurrence.values()};
  // Rows of n-grams, which become keys and a value.
  const uint64_t found = shape.ngrams == nullptr
                             ? 0
                             : uint64_t{shape.ngrams->rows()} * shape.ngrams->dim +
                                   (uint64_t{shape.streams.count} + 1) * shape.embedding;
  const uint64_t gathered = part.is_whole() ? 0 : GatheredNumbers(shape);
  const uint64_t row =
      hidden + inputs + states + low + 2 * heads + 2 * kv_heads + 4 * wide + found + gathered;
  const uint64_t logits = 64 * uint64_t{shape.vocab_size};
  return kScratchBatches * (kScratchRows * row + logits) * sizeof(float);
}

Result<model::WeightSizes> SizesInFiles(const gguf::ModelFiles& files, const model::Shape& shape,
                                        const model::GroupPart& part) {
  const auto type_of = [&](const model::TensorSpec& spec) {
    const gguf::Tensor* const tensor = model::FindTensor(files, spec);
    return tensor == nullptr ? gguf::TensorType::kF32 : tensor->type;
  };
  return model::SizesOf(model::Place::kMemory, shape, type_of, part);
}

uint64_t BytesInFiles(const gguf::ModelFiles& files) {
  uint64_t bytes = 0;
  for (const gguf::ModelFiles::Entry& entry : files.entries()) bytes += entry.tensor->data.size();
  return bytes;
}

uint32_t GpuLayersThatFit(const model::WeightSizes& sizes, const model::Shape& shape,
                          const model::Slice& slice, uint64_t kv_bytes, uint64_t available_bytes) {
  const uint32_t layer_count = slice.layer_end - slice.layer_begin;
  const uint64_t taken = GpuReserveBytes(available_bytes) + GpuScratchBytes(shape, slice.part) +
                         (slice.head ? sizes.head : 0);
  if (taken > available_bytes) return 0;
  uint64_t left = available_bytes - taken;
  uint32_t count = 0;
  while (count < layer_count) {
    const uint64_t layer = sizes.layers[slice.layer_end - 1 - count] + kv_bytes / layer_count;
    if (layer > left) break;
    left -= layer;
    ++count;
  }
  return count;
}

std::vector<uint64_t> GpuRooms(const model::WeightSizes& sizes, const model::Shape& shape,
                               const model::Slice& slice, uint64_t kv_bytes,
                               std::span<const uint64_t> available_bytes) {
  std::vector<uint64_t> rooms;
  for (size_t i = 0; i < available_bytes.size(); ++i) {
    model::Slice part = slice;
    part.head = slice.head && i + 1 == available_bytes.size();
    rooms.push_back(GpuLayersThatFit(sizes, shape, part, kv_bytes, available_bytes[i]));
  }
  return rooms;
}

model::Slice WithoutLast(model::Slice slice, uint32_t layers) {
  slice.layer_end -= layers;
  slice.head = slice.head && layers == 0;
  return slice;
}

std::vector<uint32_t> SharesAtCuts(const model::Shape& shape, uint32_t layer_end,
                                   std::vector<uint32_t> shares) {
  uint32_t begin = layer_end - std::accumulate(shares.begin(), shares.end(), 0u);
  uint32_t from = begin;
  // Layers before the first cut are the processor's.
  while (from < layer_end && !shape.can_begin(from)) ++from;
  for (size_t i = 0; i < shares.size(); ++i) {
    begin += shares[i];
    uint32_t end = std::max(begin, from);
    while (end > from && end < layer_end && !shape.can_begin(end)) --end;
    shares[i] = end - from;
    from = end;
  }
  return shares;
}

std::vector<uint32_t> ShareOut(uint32_t layers, std::span<const uint64_t> rooms) {
  std::vector<uint32_t> shares(rooms.size());
  const double sum = std::accumulate(rooms.begin(), rooms.end(), 0.0);
  if (sum == 0) return shares;
  // Whole layers of each share first; the rest go to the largest fractions.
  std::vector<double> fractions(rooms.size());
  uint32_t left = layers;
  for (size_t i = 0; i < rooms.size(); ++i) {
    const double exact = layers * static_cast<double>(rooms[i]) / sum;
    shares[i] = std::min(left, static_cast<uint32_t>(exact));
    fractions[i] = exact - shares[i];
    left -= shares[i];
  }
  for (; left > 0; --left) {
    const auto most = std::ranges::max_element(fractions) - fractions.begin();
    ++shares[static_cast<size_t>(most)];
    --fractions[static_cast<size_t>(most)];
  }
  return shares;
}

}  // namespace aster::engine
