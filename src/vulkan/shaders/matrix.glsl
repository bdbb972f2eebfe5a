// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Tiles of a cooperative matrix product: bytes of weights times bytes of activations, to integers
// that every invocation of the subgroup holds some of. Which ones, they can tell by numbers that are
// spread over a tile of the same shape. With EMULATED, the same without the extension, which is how
// tests reach it on drivers that lack it. After the constants kTile… and kElements (of a tile, for
// an invocation), and, where bytes are loaded, the arrays `weights` and `activations` of vectors:
// kVectors of kVectorWords words are a piece of 16 bytes, and rows are kStride pieces apart.

// Number `tile` of the tiles that stand side by side from a piece on.
#define TILE_AT(piece, tile) ((piece) * kVectors + (tile) * (kTileColumns / 4u) / kVectorWords)
#ifdef EMULATED
#define EACH [[dont_unroll]]  // before loops over tiles and elements
#define LEFT uint
#define RIGHT uint
const uint kSubgroup = kTileOutputs * kTileRows / kElements;
struct INTS { int at[kElements]; };
struct FLOATS { float at[kElements]; };
#define SUBGROUP (gl_LocalInvocationID.x / kSubgroup)
// As devices have them, an invocation has elements of few outputs and few rows.
uint output_of_element(uint n) {
  return gl_LocalInvocationID.x % kSubgroup / 2u + (n / 2u & 1u) * 4u;
}
uint row_of_element(uint n) {
  return gl_LocalInvocationID.x % 2u * 2u + (n & 1u) + n / 4u * 4u;
}
INTS filled(int value) {
  INTS matrix;
  EACH for (uint n = 0u; n < kElements; ++n) matrix.at[n] = value;
  return matrix;
}
FLOATS filled(float value) {
  FLOATS matrix;
  EACH for (uint n = 0u; n < kElements; ++n) matrix.at[n] = value;
  return matrix;
}
// Tiles of bytes stay where they are.
INTS multiplied(uint left, uint right, INTS sums) {
  EACH for (uint n = 0u; n < kElements; ++n) {
    const uint x = left + output_of_element(n) * kStride * kVectors;
    const uint y = right + row_of_element(n) * kStride * kVectors;
    EACH for (uint t = 0u; t < kTileColumns / 4u; ++t)
      sums.at[n] += dot4(weights[x + t / kVectorWords][t % kVectorWords],
                         activations[y + t / kVectorWords][t % kVectorWords]);
  }
  return sums;
}
#define FILLED(type, value) filled(value)
#define ELEMENT(matrix, n) matrix.at[n]
#define LOAD_LEFT(matrix, piece, tile) matrix = TILE_AT(piece, tile)
#define LOAD_RIGHT(matrix, piece, tile) matrix = TILE_AT(piece, tile)
#define MULTIPLY(left, right, sums) sums = multiplied(left, right, sums)
#define SPREAD_OUTPUTS(matrix, array, first) \
  EACH for (uint e = 0u; e < kElements; ++e) matrix.at[e] = array[first + output_of_element(e)]
#define SPREAD_ROWS(matrix, array, first) \
  EACH for (uint e = 0u; e < kElements; ++e) matrix.at[e] = array[first + row_of_element(e)]
#else
#define EACH [[unroll]]
#define LEFT coopmat<int8_t, gl_ScopeSubgroup, kTileOutputs, kTileColumns, gl_MatrixUseA>
#define RIGHT coopmat<int8_t, gl_ScopeSubgroup, kTileColumns, kTileRows, gl_MatrixUseB>
#define INTS coopmat<int, gl_ScopeSubgroup, kTileOutputs, kTileRows, gl_MatrixUseAccumulator>
#define FLOATS coopmat<float, gl_ScopeSubgroup, kTileOutputs, kTileRows, gl_MatrixUseAccumulator>
#define SUBGROUP gl_SubgroupID
#define FILLED(type, value) type(value)
#define ELEMENT(matrix, n) matrix[n]
#define LOAD_LEFT(matrix, piece, tile)                                   \
  coopMatLoad(matrix, weights, TILE_AT(piece, tile), kStride * kVectors, \
              gl_CooperativeMatrixLayoutRowMajor)
#define LOAD_RIGHT(matrix, piece, tile)                                      \
  coopMatLoad(matrix, activations, TILE_AT(piece, tile), kStride * kVectors, \
              gl_CooperativeMatrixLayoutColumnMajor)
#define MULTIPLY(left, right, sums) sums = coopMatMulAdd(left, right, sums)
// All rows, or all columns, of the tile are the same.
#define SPREAD_OUTPUTS(matrix, array, first) \
  coopMatLoad(matrix, array, first, 0u, gl_CooperativeMatrixLayoutColumnMajor)
#define SPREAD_ROWS(matrix, array, first) \
  coopMatLoad(matrix, array, first, 0u, gl_CooperativeMatrixLayoutRowMajor)
#endif
