// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The memory layout of a KV page: the key and value rows of kPagePositions consecutive positions,
// of one layer and one key/value head. Keys have positions in lanes, values have elements in lanes,
// so that attention reads both directly into registers; docs/attention.md has the picture. Must not
// know models, sequences, or who owns a page. Plain data and a few functions that move bytes;
// AttentionTable::write_rows rounds floats into a page.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aster::kernels {

// Positions per page. Pages start at absolute multiples of it.
inline constexpr int kPagePositions = 128;

// Keys are stored in blocks of this many positions.
inline constexpr int kKeyBlock = 16;

// One f16 scale for this many elements of a row of bytes.
inline constexpr int kQ8Group = 32;

// kQ8Int: bytes that are stored together, one word of integer dot products.
inline constexpr int kIntQuad = 4;

// No key or value row is longer.
inline constexpr int kMaxHeadDim = 1024;

enum class KvType : uint8_t {
  kF16,
  kBf16,  // arithmetic as of the bf16 tiles of AMX: docs/attention.md
  kQ8,    // bytes with an f16 scale per 32
  // The rows of kQ8, for attention in integers: four elements of a key are stored together, and
  // four positions of values.
  kQ8Int,
};
inline constexpr int kKvTypeCount = 4;

// The offsets of everything, in bytes from the start of a page; made by MakePageLayout.
struct PageLayout {
  KvType type;
  int32_t key_dim;
  int32_t value_dim;
  int32_t value_stride;  // value_dim rounded up to 16: elements per value row, the rest zero

  size_t key_block_bytes;    // from one block of 16 positions to the next
  size_t key_scales_offset;  // for bytes: within a block; [groups][16] f16
  size_t values_offset;
  size_t value_scales_offset;  // for bytes: [groups][positions] f16
  size_t bytes;                // of the page; a multiple of 64

  size_t key_row_bytes;  // of one exported row: elements, then for bytes their scales
  size_t value_row_bytes;
};

// Dimensions from 1 to kMaxHeadDim.
PageLayout MakePageLayout(KvType type, int key_dim, int value_dim);

// Plain rows out of a page and back, exactly: `count` positions from `first` (within the page),
// each as key_row_bytes of keys and then value_row_bytes of values. Other rows of the page are not
// changed. Pages are 64-byte aligned.
void ExportRows(const PageLayout& layout, const uint8_t* page, int first, int count, uint8_t* rows);
void ImportRows(const PageLayout& layout, const uint8_t* rows, int first, int count, uint8_t* page);

}  // namespace aster::kernels
