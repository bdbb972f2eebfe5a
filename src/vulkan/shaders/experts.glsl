// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Products whose matrix is another for every row: that of the expert which the row was sent to
// (EXPERTS). After the push constants, which have `weights`, or `matrices`, `ids` and `sharing`.
#ifdef EXPERTS
Words expert;
#define WEIGHT_WORDS expert
void choose_expert() {
  const uint entry = 2u * push.ids.at[gl_WorkGroupID.y];
  expert = Words(uvec2(push.matrices.at[entry], push.matrices.at[entry + 1u]));
}
#else
#define WEIGHT_WORDS push.weights
void choose_expert() {}
#endif
