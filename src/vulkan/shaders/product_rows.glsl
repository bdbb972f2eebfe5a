// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which rows a workgroup of a product multiplies, up to kRows of them (number ROW_GROUP of so many,
// which is gl_WorkGroupID.y unless it is said), and with which matrix. Those
// of a mixture of experts are slots, one for each expert of a row, each with the matrix of its
// expert: a workgroup has one slot, or kRows slots of one expert (group_experts.comp). After kRows.

// How push.rows are told; ProductRows of kernels/product_push.h has the same numbers.
const uint kOneMatrix = 0u;
const uint kEachSlot = 1u;
const uint kSlotGroups = 2u;

layout(push_constant) uniform Push {
  Words weights;      // or the addresses of all experts' weights
  Words ids;          // [slots] of experts
  Words slots;        // groups of kRows; kNoRow fills the last of an expert up
  Words activations;
  FloatsOut result;
  Words grid;         // of IQ2_XXS: the points
  FloatsOut sum;      // product_few.comp: rows that the result is added to as well
  uint outputs;
  uint columns;
  uint activation_rows;  // prepared together
  uint first_row;
  uint rows;  // to be multiplied, of one matrix
  uint out_stride;
  uint sharing;  // so many slots have the same activations
  uint kind;
  uint sum_stride;  // zero: there are no such rows
  uint panels;      // product_few.comp: of a workgroup, one after the other
} push;

#ifndef ROW_GROUP
#define ROW_GROUP gl_WorkGroupID.y
#endif
const uint kNoRow = 0xffffffffu;
Words weights_in_use;

// The row of the result that is number `i` of this workgroup's, or none.
uint result_row(uint i) {
  const uint n = ROW_GROUP * kRows + i;
  if (push.kind == kSlotGroups) return push.slots.at[n];
  return push.kind == kEachSlot || n < push.rows ? n : kNoRow;
}
// The prepared row that it is made of; beyond the end some other one of the workgroup's.
uint row_index(uint i) {
  if (push.kind == kOneMatrix)
    return push.first_row + min(ROW_GROUP * kRows + i, push.rows - 1u);
  const uint slot = result_row(i);
  return push.first_row + (slot == kNoRow ? result_row(0u) : slot) / push.sharing;
}
// Whether there is anything to do.
bool choose_matrix() {
  weights_in_use = push.weights;
  if (push.kind == kOneMatrix) return true;
  const uint slot = result_row(0u);
  if (slot == kNoRow) return false;
  const uint entry = 2u * push.ids.at[slot];
  weights_in_use = Words(uvec2(push.weights.at[entry], push.weights.at[entry + 1u]));
  return true;
}
