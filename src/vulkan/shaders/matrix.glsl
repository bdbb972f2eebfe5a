// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Tiles of a cooperative matrix product: bytes of weights times bytes of activations, to integers
// that every invocation of the subgroup holds some of. Which ones is never asked: what belongs to
// outputs or rows is spread over tiles of the same shape. With EMULATED, the same without the
// extension, which is how tests reach it on drivers that lack it. After the constants kTile… and
// kElements (of a tile, for an invocation), and the arrays `weights` and `activations`, of rows that are kStride words apart.
#ifdef EMULATED
#define EACH [[dont_unroll]]  // before loops over tiles and elements
#define LEFT uint
#define RIGHT uint
const uint kSubgroup = kTileOutputs * kTileRows / kElements;
struct INTS { int at[kElements]; };
struct FLOATS { float at[kElements]; };
#define SUBGROUP (gl_LocalInvocationID.x / kSubgroup)
uint element(uint n) { return gl_LocalInvocationID.x % kSubgroup + n * kSubgroup; }
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
    const uint x = left + element(n) % kTileOutputs * kStride;
    const uint y = right + element(n) / kTileOutputs * kStride;
    EACH for (uint t = 0u; t < kTileColumns / 4u; ++t)
      sums.at[n] += dot4(weights[x + t], activations[y + t]);
  }
  return sums;
}
#define FILLED(type, value) filled(value)
#define ELEMENT(matrix, n) matrix.at[n]
#define LOAD_LEFT(matrix, at) matrix = at
#define LOAD_RIGHT(matrix, at) matrix = at
#define MULTIPLY(left, right, sums) sums = multiplied(left, right, sums)
#define SPREAD_OUTPUTS(matrix, array, first) \
  EACH for (uint e = 0u; e < kElements; ++e) matrix.at[e] = array[first + element(e) % kTileOutputs]
#define SPREAD_ROWS(matrix, array, first) \
  EACH for (uint e = 0u; e < kElements; ++e) matrix.at[e] = array[first + element(e) / kTileOutputs]
#else
#define EACH [[unroll]]
#define LEFT coopmat<int8_t, gl_ScopeSubgroup, kTileOutputs, kTileColumns, gl_MatrixUseA>
#define RIGHT coopmat<int8_t, gl_ScopeSubgroup, kTileColumns, kTileRows, gl_MatrixUseB>
#define INTS coopmat<int, gl_ScopeSubgroup, kTileOutputs, kTileRows, gl_MatrixUseAccumulator>
#define FLOATS coopmat<float, gl_ScopeSubgroup, kTileOutputs, kTileRows, gl_MatrixUseAccumulator>
#define SUBGROUP gl_SubgroupID
#define FILLED(type, value) type(value)
#define ELEMENT(matrix, n) matrix[n]
#define LOAD_LEFT(matrix, at) \
  coopMatLoad(matrix, weights, at, kStride, gl_CooperativeMatrixLayoutRowMajor)
#define LOAD_RIGHT(matrix, at) \
  coopMatLoad(matrix, activations, at, kStride, gl_CooperativeMatrixLayoutColumnMajor)
#define MULTIPLY(left, right, sums) sums = coopMatMulAdd(left, right, sums)
// All rows, or all columns, of the tile are the same.
#define SPREAD_OUTPUTS(matrix, array, first) \
  coopMatLoad(matrix, array, first, 0u, gl_CooperativeMatrixLayoutColumnMajor)
#define SPREAD_ROWS(matrix, array, first) \
  coopMatLoad(matrix, array, first, 0u, gl_CooperativeMatrixLayoutRowMajor)
#endif
