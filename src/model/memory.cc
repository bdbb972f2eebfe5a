// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/memory.h"

#include <fmt/format.h>

#include <vector>

namespace aster::model {
namespace {

// Going back this far never needs anything computed again: drafts are shorter, and so are most
// second thoughts.
constexpr uint32_t kSlack = 64;

std::string_view TypeName(kernels::KvType type) {
  switch (type) {
    case kernels::KvType::kF16:
      return "f16";
    case kernels::KvType::kBf16:
      return "bf16";
    case kernels::KvType::kQ8:
      return "q8";
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

}  // namespace

MemoryOptions Narrowed(const MemoryOptions& options, const Shape& shape) {
  const bool narrower = options.window > 0 && options.window <= shape.sliding_window;
  if (shape.sliding_window == 0 || narrower) return options;
  return {.type = options.type, .window = shape.sliding_window};
}

kernels::PageLayout HeadPageLayout(const Shape& shape, kernels::KvType type) {
  const int head_dim = static_cast<int>(shape.head_dim);
  return kernels::MakePageLayout(type, head_dim, head_dim);
}

Result<kv::Layout> MakeMemoryLayout(const Shape& shape, const MemoryOptions& options,
                                    const Hash128& fingerprint) {
  if (shape.head_dim > kernels::kMaxHeadDim) {
    return Unimplemented(fmt::format("heads of {} numbers; up to {} are supported", shape.head_dim,
                                     kernels::kMaxHeadDim));
  }
  const auto codec =
      std::make_shared<HeadsCodec>(HeadPageLayout(shape, options.type), shape.kv_head_count,
                                   fmt::format("{} {}x{} keys and values", TypeName(options.type),
                                               shape.kv_head_count, shape.head_dim));
  const kv::Stream stream{
      .codec = codec, .stride = 1, .window = options.window, .sinks = options.sinks};
  return kv::Layout::Create(fingerprint, kernels::kPagePositions, kSlack,
                            std::vector<std::vector<kv::Stream>>(shape.layer_count, {stream}));
}

}  // namespace aster::model
