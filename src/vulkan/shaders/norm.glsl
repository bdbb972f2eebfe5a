// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The factor of a row in RmsNorm of src/kernels/ref/ops.cc. After memory.glsl and exact.glsl.
const uint kNormThreads = 256u;  // of the workgroup
const uint kNormLanes = 16u;
const uint kStaged = 4096u;
shared float staged[kStaged];  // the row, or as much of it
shared float lane_sums[kNormLanes];

// Behind `sum`, the squares of lane `t`.
float add_squares(uint t, uint count, float sum) {
  uint i = t;
  // Such sums only grow: once one is no denormal, none that follows is.
  for (; i < count && !(sum >= FLOAT(kHidden)); i += kNormLanes)
    sum = fused_normal(staged[i], staged[i], sum);
  // Several are read before the first is needed.
  if (kNativeFma) {
    for (; i + 15u * kNormLanes < count; i += 16u * kNormLanes) {
      float x[16];
      UNROLL for (uint j = 0u; j < 16u; ++j) x[j] = staged[i + j * kNormLanes];
      UNROLL for (uint j = 0u; j < 16u; ++j) sum = fused_unflushed(x[j], x[j], sum);
    }
  }
  for (; i < count; i += kNormLanes) sum = fused_unflushed(staged[i], staged[i], sum);
  return sum;
}

// All invocations of the workgroup must call it.
float factor_of_row(Floats x, uint at, uint count, float epsilon) {
  const uint t = gl_LocalInvocationID.x;
  float sum = 0.0;
  for (uint begin = 0u; begin < count; begin += kStaged) {
    const uint size = min(kStaged, count - begin);
    // All are read before the first is needed.
    float own[kStaged / kNormThreads];
    UNROLL for (uint j = 0u; j < kStaged / kNormThreads; ++j)
      own[j] = x.at[at + begin + min(t + j * kNormThreads, size - 1u)];
    barrier();
    UNROLL for (uint j = 0u; j < kStaged / kNormThreads; ++j)
      if (t + j * kNormThreads < size) staged[t + j * kNormThreads] = flushed(own[j]);
    barrier();
    if (t < kNormLanes) sum = add_squares(t, size, sum);
  }
  if (t < kNormLanes) lane_sums[t] = sum;
  barrier();
  float joined[kNormLanes];
  UNROLL for (uint i = 0u; i < kNormLanes; ++i) joined[i] = lane_sums[i];
  UNROLL for (uint half_ = kNormLanes / 2u; half_ > 0u; half_ /= 2u)
    UNROLL for (uint i = 0u; i < half_; ++i) joined[i] = add(joined[i], joined[i + half_]);
  const float mean = divide(joined[0], float(count));
  return divide(1.0, root(add(mean, epsilon)));
}

float normed(float x, float factor, bool weighted, float weight) {
  const float value = mul(x, factor);
  return weighted ? mul(value, weight) : value;
}
