// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/pages.h"

#include <cstring>

#include "base/check.h"

namespace aster::kernels {
namespace {

constexpr size_t RoundUp(size_t n, size_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

constexpr size_t Groups(int32_t dim) {
  return RoundUp(static_cast<size_t>(dim), kQ8Group) / kQ8Group;
}

bool IsBytes(KvType type) { return type == KvType::kQ8 || type == KvType::kQ8Int; }

size_t ElementBytes(KvType type) { return IsBytes(type) ? 1 : 2; }

// Elements of a key, or positions of a value, that are stored side by side.
size_t Together(KvType type) {
  return type == KvType::kBf16 ? 2 : type == KvType::kQ8Int ? kIntQuad : 1;
}

// Calls visit(page, bytes) for every piece of the position's row, in the order of an exported row.
template <typename Byte, typename Visit>
void ForEachPiece(const PageLayout& layout, Byte* page, int position, Visit visit) {
  const auto p = static_cast<size_t>(position);
  const size_t size = ElementBytes(layout.type);
  Byte* block = page + p / kKeyBlock * layout.key_block_bytes;
  const size_t lane = p % kKeyBlock;
  const size_t together = Together(layout.type);
  for (size_t d = 0; d < static_cast<size_t>(layout.key_dim); ++d) {
    visit(block + ((d / together * kKeyBlock + lane) * together + d % together) * size, size);
  }
  if (IsBytes(layout.type)) {
    for (size_t g = 0; g < Groups(layout.key_dim); ++g) {
      visit(block + layout.key_scales_offset + (g * kKeyBlock + lane) * 2, size_t{2});
    }
  }
  const auto stride = static_cast<size_t>(layout.value_stride);
  Byte* values =
      page + layout.values_offset + (p / together * stride * together + p % together) * size;
  if (together == 1) {
    visit(values, static_cast<size_t>(layout.value_dim) * size);
  } else {
    for (size_t d = 0; d < static_cast<size_t>(layout.value_dim); ++d) {
      visit(values + d * together * size, size);
    }
  }
  if (IsBytes(layout.type)) {
    for (size_t g = 0; g < Groups(layout.value_dim); ++g) {
      visit(page + layout.value_scales_offset + (g * kPagePositions + p) * 2, size_t{2});
    }
  }
}

void ZeroValuePadding(const PageLayout& layout, int position, uint8_t* page) {
  const auto p = static_cast<size_t>(position);
  const auto stride = static_cast<size_t>(layout.value_stride);
  const auto used = static_cast<size_t>(layout.value_dim);
  const size_t size = ElementBytes(layout.type);
  const size_t together = Together(layout.type);
  uint8_t* values = page + layout.values_offset;
  if (together == 1) {
    std::memset(values + (p * stride + used) * size, 0, (stride - used) * size);
    return;
  }
  for (size_t d = used; d < stride; ++d) {
    std::memset(values + ((p / together * stride + d) * together + p % together) * size, 0, size);
  }
}

// With an odd number of bf16 keys one of a pair is empty. (With integers, empty bytes are
// multiplied with zeros of the query.)
void ZeroKeyPadding(const PageLayout& layout, int position, uint8_t* page) {
  if (layout.type != KvType::kBf16 || layout.key_dim % 2 == 0) return;
  const auto p = static_cast<size_t>(position);
  const auto last_pair = static_cast<size_t>(layout.key_dim / 2);
  uint8_t* block = page + p / kKeyBlock * layout.key_block_bytes;
  std::memset(block + ((last_pair * kKeyBlock + p % kKeyBlock) * 2 + 1) * 2, 0, 2);
}

}  // namespace

PageLayout MakePageLayout(KvType type, int key_dim, int value_dim) {
  CHECK(key_dim >= 1 && key_dim <= kMaxHeadDim && value_dim >= 1 && value_dim <= kMaxHeadDim);
  PageLayout layout = {};
  layout.type = type;
  layout.key_dim = key_dim;
  layout.value_dim = value_dim;
  layout.value_stride = static_cast<int32_t>(RoundUp(static_cast<size_t>(value_dim), kKeyBlock));
  const size_t size = ElementBytes(type);
  const size_t keys = RoundUp(static_cast<size_t>(key_dim), Together(type));
  const size_t key_scales = IsBytes(type) ? Groups(key_dim) * 2 : 0;
  const size_t value_scales = IsBytes(type) ? Groups(value_dim) * 2 : 0;
  layout.key_scales_offset = keys * kKeyBlock * size;
  layout.key_block_bytes = layout.key_scales_offset + key_scales * kKeyBlock;
  layout.values_offset = RoundUp(layout.key_block_bytes * (kPagePositions / kKeyBlock), 64);
  layout.value_scales_offset =
      layout.values_offset + static_cast<size_t>(layout.value_stride) * kPagePositions * size;
  layout.bytes = RoundUp(layout.value_scales_offset + value_scales * kPagePositions, 64);
  layout.key_row_bytes = static_cast<size_t>(key_dim) * size + key_scales;
  layout.value_row_bytes = static_cast<size_t>(value_dim) * size + value_scales;
  return layout;
}

void ExportRows(const PageLayout& layout, const uint8_t* page, int first, int count,
                uint8_t* rows) {
  CHECK(first >= 0 && count >= 0 && first + count <= kPagePositions);
  for (int p = first; p < first + count; ++p) {
    ForEachPiece(layout, page, p, [&](const uint8_t* piece, size_t bytes) {
      std::memcpy(rows, piece, bytes);
      rows += bytes;
    });
  }
}

void ImportRows(const PageLayout& layout, const uint8_t* rows, int first, int count,
                uint8_t* page) {
  CHECK(first >= 0 && count >= 0 && first + count <= kPagePositions);
  for (int p = first; p < first + count; ++p) {
    ForEachPiece(layout, page, p, [&](uint8_t* piece, size_t bytes) {
      std::memcpy(piece, rows, bytes);
      rows += bytes;
    });
    ZeroValuePadding(layout, p, page);
    ZeroKeyPadding(layout, p, page);
  }
}

}  // namespace aster::kernels
