// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Divides rows among workgroups in two dimensions: not every device allows more than 65535 in one.
// kRowGroups of kernels/kernels.h is the same number.
const uint kRowGroups = 65535u;
uint row_of_group() { return gl_WorkGroupID.y * kRowGroups + gl_WorkGroupID.x; }
