// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The dot product of four signed bytes with four others. With DOT_PRODUCT, by the instruction that
// has it (SPV_KHR_integer_dot_product), for which this compiler has no name.
#ifdef DOT_PRODUCT
#extension GL_EXT_spirv_intrinsics : require
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019],
                  id = 4450)
int signed_dot(int a, int b, spirv_literal int format);
int dot4(uint a, uint b) { return signed_dot(int(a), int(b), 0); }
#else
int dot4(uint a, uint b) {
  int sum = 0;
  for (int i = 0; i < 32; i += 8)
    sum += bitfieldExtract(int(a), i, 8) * bitfieldExtract(int(b), i, 8);
  return sum;
}
#endif
