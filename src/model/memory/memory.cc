// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/memory/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "kernels/delta_net.h"

namespace aster::model {
namespace {

// Truncating by this many positions needs no recomputation: drafts and most corrections are
// shorter.
constexpr uint32_t kSlack = 64;

std::string_view TypeName(kernels::KvType type) {
  switch (type) {
    case kernels::KvType::kF16:
      return "f16";
    case kernels::KvType::kBf16:
      return "bf16";
    case kernels::KvType::kQ8:
      return "q8";
    case kernels::KvType::kQ8Int:
      return "q8i";
  }
  return "";
}

// A row: for each head its key, then its value.
class HeadsCodec final : public kv::PageCodec {
 public:
  HeadsCodec(kernels::PageLayout head, uint32_t head_count, std::string format)
      : head_(head), head_count_(head_count), format_(std::move(format)) {}

  std::string_view format() const override { return format_; }
  size_t row_bytes() const override { return head_count_ * HeadRowBytes(); }
  uint32_t page_rows() const override { return kernels::kPagePositions; }
  size_t page_bytes() const override { return head_count_ * head_.bytes; }

  void ReadRows(const uint8_t* page, uint32_t first_row, uint32_t row_count,
                uint8_t* rows) const override {
    for (uint32_t row = 0; row < row_count; ++row) {
      for (uint32_t head = 0; head < head_count_; ++head, rows += HeadRowBytes()) {
        kernels::ExportRows(head_, page + head * head_.bytes, static_cast<int>(first_row + row), 1,
                            rows);
      }
    }
  }
  void WriteRows(uint8_t* page, uint32_t first_row, uint32_t row_count,
                 const uint8_t* rows) const override {
    for (uint32_t row = 0; row < row_count; ++row) {
      for (uint32_t head = 0; head < head_count_; ++head, rows += HeadRowBytes()) {
        kernels::ImportRows(head_, rows, static_cast<int>(first_row + row), 1,
                            page + head * head_.bytes);
      }
    }
  }

 private:
  size_t HeadRowBytes() const { return head_.key_row_bytes + head_.value_row_bytes; }

  const kernels::PageLayout head_;
  const uint32_t head_count_;
  const std::string format_;
};

std::string_view RowsName(kernels::LatentRows type) {
  switch (type) {
    case kernels::LatentRows::kF16:
      return "f16";
    case kernels::LatentRows::kF8:
      return "f8";
    case kernels::LatentRows::kF4:
      return "f4";
    case kernels::LatentRows::kF8Fine:
      return "f8 by 32";
    case kernels::LatentRows::kF4Scaled:
      return "f4 by 16";
  }
  return "";
}

kv::Stream LatentStream(const kernels::LatentFormat& format, uint32_t stride, uint32_t window) {
  const auto codec = std::make_shared<kv::PlainCodec>(
      fmt::format("{} {} rows", RowsName(format.type), format.dim), kernels::LatentRowBytes(format),
      kernels::kPagePositions / stride);
  return {.codec = codec, .stride = stride, .window = window};
}

// Values and scores of one token. Rows of `dim` numbers are compressed from them when the last
// token of a row comes. The inputs of a row are kept until no sequence can be truncated to a
// position before its end.
kv::Stream InputStream(uint32_t ratio, uint32_t dim) {
  const uint32_t columns = ratio == kShortRatio ? 2 * dim : dim;
  const auto codec =
      std::make_shared<kv::PlainCodec>(fmt::format("f32 2x{} to compress", columns),
                                       2 * columns * sizeof(float), kernels::kPagePositions);
  const uint32_t window = ratio == kShortRatio ? 2 * ratio : ratio;
  return {.codec = codec, .stride = 1, .window = window, .read_every = ratio};
}

// In V4.1 few layers make rows, and the layers that choose among them keep them.
std::vector<kv::Stream> SharedStreams(const Shape& shape, const MemoryOptions& options,
                                      uint32_t layer) {
  const kernels::LatentFormat rows = RowFormat(shape, options);
  std::vector<kv::Stream> streams = {LatentStream(rows, 1, shape.sliding_window)};
  if (KeepsCompressedRows(shape, layer)) {
    const uint32_t ratio = shape.latent.ratios[layer];
    streams.push_back(LatentStream(CompressedFormat(shape, options), ratio, 0));
    streams.push_back(LatentStream(IndexFormat(shape, options), ratio, 0));
    if (MakesCompressedRows(shape, layer) && ratio > 1)
      streams.push_back(InputStream(ratio, shape.head_dim));
  }
  if (shape.has_ngrams(layer)) {
    const auto classes =
        std::make_shared<kv::PlainCodec>("u32 class", sizeof(uint32_t), kernels::kPagePositions);
    streams.push_back({.codec = classes, .window = shape.ngrams->length});
  }
  return streams;
}

std::vector<kv::Stream> LatentStreams(const Shape& shape, const MemoryOptions& options,
                                      uint32_t layer) {
  if (shape.shares_compressed_rows()) return SharedStreams(shape, options, layer);
  const uint32_t ratio = shape.latent.ratios[layer];
  const kernels::LatentFormat rows = RowFormat(shape, options);
  std::vector<kv::Stream> streams = {LatentStream(rows, 1, shape.sliding_window)};
  if (ratio == 0) return streams;
  streams.push_back(LatentStream(rows, ratio, 0));
  streams.push_back(InputStream(ratio, shape.head_dim));
  if (ratio != kShortRatio) return streams;
  streams.push_back(LatentStream(IndexFormat(shape, options), ratio, 0));
  streams.push_back(InputStream(ratio, shape.latent.index_dim));
  return streams;
}

Result<kv::Layout> MakeLatentLayout(const Shape& shape, const MemoryOptions& options,
                                    const Hash128& fingerprint) {
  if (options.type != kernels::KvType::kF16) {
    return Unimplemented(
        fmt::format("rows of {}: this architecture has its own KV rows; leave --kv-type out",
                    TypeName(options.type)));
  }
  if (options.window != shape.sliding_window || options.sinks != 0) {
    return Unimplemented(
        fmt::format("a window of {} and {} sinks: this architecture has its own window of {}, and "
                    "compresses the rest; leave --kv-window out",
                    options.window, options.sinks, shape.sliding_window));
  }
  std::vector<std::vector<kv::Stream>> layers;
  for (uint32_t layer = 0; layer < shape.layer_count; ++layer)
    layers.push_back(LatentStreams(shape, options, layer));
  return kv::Layout::Create(fingerprint, kernels::kPagePositions, kSlack, std::move(layers));
}

Result<kv::Layout> MakeMlaLayout(const Shape& shape, const MemoryOptions& options,
                                 const Hash128& fingerprint) {
  if (options.type != kernels::KvType::kF16) {
    return Unimplemented(
        fmt::format("rows of {}: this architecture has its own KV rows; leave --kv-type out",
                    TypeName(options.type)));
  }
  // The window of an MTP block is its own.
  if (options.window != shape.sliding_window || options.sinks != 0) {
    return Unimplemented(fmt::format(
        "a window of {} and {} sinks: this architecture takes neither; leave --kv-window out",
        options.window, options.sinks));
  }
  std::vector<std::vector<kv::Stream>> layers;
  for (uint32_t layer = 0; layer < shape.layer_count; ++layer) {
    layers.push_back({LatentStream(MlaRowFormat(shape), 1, options.window)});
    if (shape.has_index(layer)) layers.back().push_back(LatentStream(MlaIndexFormat(shape), 1, 0));
  }
  return kv::Layout::Create(fingerprint, kernels::kPagePositions, kSlack, std::move(layers));
}

// One row, with room for a mark after it: a page that is not full has the newest states.
class StateCodec final : public kv::PageCodec {
 public:
  StateCodec(std::string format, size_t row_bytes)
      : format_(std::move(format)), row_bytes_(row_bytes) {}

  std::string_view format() const override { return format_; }
  size_t row_bytes() const override { return row_bytes_; }
  uint32_t page_rows() const override { return 1; }
  size_t page_bytes() const override { return row_bytes_ + kernels::kDeltaMarkBytes; }

  void ReadRows(const uint8_t* page, uint32_t first_row, uint32_t row_count,
                uint8_t* rows) const override {
    if (first_row == 0 && row_count == 1) std::copy_n(page, row_bytes_, rows);
  }
  void WriteRows(uint8_t* page, uint32_t first_row, uint32_t row_count,
                 const uint8_t* rows) const override {
    if (first_row != 0 || row_count != 1) return;
    std::copy_n(rows, row_bytes_, page);
    // The mark: the states are those at the end of the page.
    std::fill_n(page + row_bytes_, kernels::kDeltaMarkBytes, uint8_t{0});
  }

 private:
  const std::string format_;
  const size_t row_bytes_;
};

// Tokens of a page may be computed again from the states before it and the convolution's last
// inputs, so both streams are read from the page's begin, at any position.
std::vector<kv::Stream> StateStreams(const Recurrence& recurrence) {
  constexpr uint32_t kPage = kernels::kPagePositions;
  const size_t floats = size_t{recurrence.values()} * recurrence.key_dim;
  const auto states =
      std::make_shared<StateCodec>(fmt::format("f32 {} states of {}x{}", recurrence.value_heads,
                                               recurrence.key_dim, recurrence.value_dim),
                                   floats * sizeof(float));
  const kernels::DeltaInputs input{.channels = recurrence.channels(),
                                   .heads = recurrence.value_heads};
  const auto inputs = std::make_shared<kv::PlainCodec>(
      fmt::format("f16 {} and f32 2x{} to states", input.channels, input.heads), input.bytes(),
      kPage);
  return {{.codec = states, .stride = kPage, .window = kPage + 1, .read_every = kPage},
          {.codec = inputs, .window = kPage + recurrence.taps - 1, .read_every = kPage}};
}

std::shared_ptr<const kv::PageCodec> HeadsCodecOf(
    const Shape& shape, uint32_t layer, kernels::KvType type,
    const std::shared_ptr<const kv::PageCodec>& before) {
  const uint32_t heads = KvHeadsOf(shape, layer);
  const uint32_t key_dim = HeadDimOf(shape, layer), value_dim = ValueDimOf(shape, layer);
  std::string format =
      key_dim == value_dim
          ? fmt::format("{} {}x{} keys and values", TypeName(type), heads, key_dim)
          : fmt::format("{} {}x{} keys and {} values", TypeName(type), heads, key_dim, value_dim);
  if (before != nullptr && before->format() == format) return before;
  return std::make_shared<HeadsCodec>(HeadPageLayout(shape, layer, type), heads, std::move(format));
}

MemoryOptions NarrowedTo(uint32_t window, const MemoryOptions& options) {
  const bool narrower = options.window > 0 && options.window <= window;
  if (window == 0 || narrower) return options;
  return {.type = options.type, .window = window};
}

}  // namespace

// After all other streams.
uint32_t NgramStreamOf(const Shape& shape, uint32_t layer) {
  if (!KeepsCompressedRows(shape, layer)) return kCompressedStream;
  const bool has_inputs = MakesCompressedRows(shape, layer) && shape.latent.ratios[layer] > 1;
  return has_inputs ? kSharedInputStream + 1 : kSharedInputStream;
}

kernels::LatentFormat MlaRowFormat(const Shape& shape) {
  return {.type = kernels::LatentRows::kF16,
          .dim = static_cast<int32_t>(shape.head_dim),
          .unrotated = static_cast<int32_t>(shape.mla.row_rank)};
}

kernels::LatentFormat MlaIndexFormat(const Shape& shape) {
  return {.type = kernels::LatentRows::kF16,
          .dim = static_cast<int32_t>(shape.index.dim),
          .unrotated = 0};
}

kernels::LatentFormat RowFormat(const Shape& shape, const MemoryOptions& memory) {
  const bool is_rounded = shape.latent.rounded_rows && !memory.plain_rows;
  const auto rounded =
      shape.shares_compressed_rows() ? kernels::LatentRows::kF8Fine : kernels::LatentRows::kF8;
  return {.type = is_rounded ? rounded : kernels::LatentRows::kF16,
          .dim = static_cast<int32_t>(shape.head_dim),
          .unrotated = static_cast<int32_t>(shape.head_dim - shape.rope.dimensions)};
}

kernels::LatentFormat CompressedFormat(const Shape& shape, const MemoryOptions& memory) {
  kernels::LatentFormat format = RowFormat(shape, memory);
  if (format.type == kernels::LatentRows::kF8Fine) format.type = kernels::LatentRows::kF4Scaled;
  return format;
}

kernels::LatentFormat IndexFormat(const Shape& shape, const MemoryOptions& memory) {
  const bool is_rounded = shape.latent.rounded_rows && !memory.plain_rows;
  return {.type = is_rounded ? kernels::LatentRows::kF4 : kernels::LatentRows::kF16,
          .dim = static_cast<int32_t>(shape.latent.index_dim),
          .unrotated = 0};
}

MemoryOptions Narrowed(const MemoryOptions& options, const Shape& shape) {
  if (shape.is_latent() && options.window == 0) {
    MemoryOptions own = options;
    own.window = shape.sliding_window;
    return own;
  }
  if (shape.is_latent() || shape.full_every > 0) return options;
  return NarrowedTo(shape.sliding_window, options);
}

MemoryOptions MemoryOfLayer(const MemoryOptions& options, const Shape& shape, uint32_t layer) {
  return shape.full_every > 0 ? NarrowedTo(WindowOf(shape, layer), options) : options;
}

kernels::PageLayout HeadPageLayout(const Shape& shape, uint32_t layer, kernels::KvType type) {
  return kernels::MakePageLayout(type, static_cast<int>(HeadDimOf(shape, layer)),
                                 static_cast<int>(ValueDimOf(shape, layer)));
}

kv::Columns ColumnsOf(const GroupPart& part, const Shape& shape) {
  if (part.is_whole() || shape.is_latent() || HasWholeKeys(shape)) return {};
  const PartRange own = RangesOf(part, shape).head_groups;
  return {own.begin, own.end, HeadGroupsOf(shape)};
}

Result<kv::Layout> MakeMemoryLayout(const Shape& shape, const MemoryOptions& options,
                                    const Hash128& fingerprint, const GroupPart& part) {
  if (shape.is_latent()) return MakeLatentLayout(shape, options, fingerprint);
  if (shape.is_mla()) return MakeMlaLayout(shape, options, fingerprint);
  const uint32_t widest = std::max(shape.head_dim, shape.kinds.window_head_dim);
  if (widest > kernels::kMaxHeadDim) {
    return Unimplemented(
        fmt::format("heads of {} numbers; up to {} are supported", widest, kernels::kMaxHeadDim));
  }
  const Shape own_heads = ShapeOfPart(part, shape);
  std::vector<std::vector<kv::Stream>> layers;
  std::shared_ptr<const kv::PageCodec> codec;  // the same object as the layer before, if formats
                                               // are equal
  for (uint32_t layer = 0; layer < shape.layer_count; ++layer) {
    if (shape.has_state(layer)) {
      layers.push_back(StateStreams(shape.recurrence));
      continue;
    }
    // A layer that uses another layer's rows has none of its own.
    if (KvLayerOf(shape, layer) != layer) {
      layers.emplace_back();
      continue;
    }
    const MemoryOptions own = MemoryOfLayer(options, shape, layer);
    codec = HeadsCodecOf(own_heads, layer, options.type, codec);
    layers.push_back({{.codec = codec, .stride = 1, .window = own.window, .sinks = own.sinks}});
  }
  auto layout =
      TRY(kv::Layout::Create(fingerprint, kernels::kPagePositions, kSlack, std::move(layers)));
  if (part.is_whole()) return layout;
  return std::move(layout).PartOf(TRY(MakeMemoryLayout(shape, options, fingerprint)).digest(),
                                  ColumnsOf(part, shape));
}

}  // namespace aster::model
