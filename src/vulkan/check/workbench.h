// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// For checks: uploads small inputs, runs some kernels, and downloads the results; makes ordinary
// and extreme numbers; compares bits. Must not know which kernels are checked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "base/float_mode.h"
#include "base/function_ref.h"
#include "base/random.h"
#include "base/result.h"
#include "vulkan/kernels/kernels.h"

namespace aster::vulkan {

// Not for concurrent use. The reference is computed on this thread, which has the compute float
// mode during the lifetime of this.
class Workbench {
 public:
  // A check that takes longer has failed. A software driver compiles shaders only here: tens of
  // seconds each, and several times that on a busy machine.
  static constexpr int64_t kTimeoutNs = int64_t{60} * 1'000'000'000;
  static constexpr int64_t kSoftwareTimeoutNs = int64_t{600} * 1'000'000'000;

  explicit Workbench(Kernels& kernels) : kernels_(kernels) {}

  Kernels& kernels() { return kernels_; }

  // Memory with these values; never empty.
  template <typename T>
  Result<Buffer> Put(std::span<const T> values) {
    const uint64_t bytes = std::max<uint64_t>(values.size_bytes(), 4);
    Buffer buffer = TRY(Buffer::Allocate(kernels_.device(), bytes, MemoryKind::kUpload));
    if (!values.empty()) std::memcpy(buffer.data(), values.data(), values.size_bytes());
    return buffer;
  }
  template <typename T>
  Result<Buffer> Put(const std::vector<T>& values) {
    return Put(std::span<const T>(values));
  }
  // Memory for results, filled with bytes that cannot be results.
  Result<Buffer> Room(uint64_t bytes);

  // Records and runs.
  Status Run(FunctionRef<Status(Commands&)> record);

 private:
  Kernels& kernels_;
  const ComputeFloatMode mode_;
};

template <typename T>
std::span<const T> ContentOf(const Buffer& buffer, size_t count) {
  return {reinterpret_cast<const T*>(buffer.data()), count};
}

enum class CheckValues : uint8_t {
  kOrdinary,
  kHostile,    // including zeros, denormals, the largest, infinities, NaN and groups of one kind
  kVanishing,  // so small and similar that sums of products become denormal and zero
};
inline constexpr float kCheckInfinity = std::numeric_limits<float>::infinity();
inline constexpr CheckValues kBothValues[] = {CheckValues::kOrdinary, CheckValues::kHostile};

// Activations, or anything else: the same for the same seed, on every machine.
std::vector<float> CheckFloats(size_t count, CheckValues values, uint64_t seed);
// Any bits.
std::vector<uint32_t> CheckWords(size_t count, uint64_t seed);

// Ok, or an error with the first element that differs. All NaN are the same float.
Status CompareFloats(std::string_view what, std::span<const float> want,
                     std::span<const float> got);
Status CompareWords(std::string_view what, std::span<const uint32_t> want,
                    std::span<const uint32_t> got);
template <typename T>
Status CompareBytes(std::string_view what, std::span<const T> want, const Buffer& got) {
  return CompareWords(what, {reinterpret_cast<const uint32_t*>(want.data()), want.size_bytes() / 4},
                      ContentOf<uint32_t>(got, want.size_bytes() / 4));
}

}  // namespace aster::vulkan
