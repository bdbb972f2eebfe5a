// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// gpu_peaks N: the limits of device N (of `aster devices`), measured by shaders of this program, as
// JSON: memory bandwidth, products of bytes by instructions and by cooperative matrices,
// multiplications and additions of floats, and the time of a kernel that waits for another. Numbers
// are medians of rounds; each round is long enough that its start does not count.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/clock.h"
#include "vulkan/driver/commands.h"
#include "vulkan/driver/instance.h"
#include "vulkan/driver/pipelines.h"

namespace aster::vulkan {
namespace {

const uint32_t kReadWords[] = {
#include "gpu_peaks/read.inc"  // tidy: allow(include-path) made by glslc
};
const uint32_t kBytesWords[] = {
#include "gpu_peaks/bytes.inc"  // tidy: allow(include-path) made by glslc
};
const uint32_t kBytesDotWords[] = {
#include "gpu_peaks/bytes_dot.inc"  // tidy: allow(include-path) made by glslc
};
const uint32_t kHalvesWords[] = {
#include "gpu_peaks/halves.inc"  // tidy: allow(include-path) made by glslc
};
const uint32_t kMatrixWords[] = {
#include "gpu_peaks/matrix.inc"  // tidy: allow(include-path) made of gpu_peaks/matrix.spv
};
const uint32_t kFloatsWords[] = {
#include "gpu_peaks/floats.inc"  // tidy: allow(include-path) made by glslc
};

constexpr int kRounds = 5;
constexpr double kLeastSeconds = 0.2;  // of a round
constexpr uint32_t kGroupSize = 256;
constexpr uint32_t kGroups = 4096;
constexpr uint64_t kMostReadBytes = uint64_t{1} << 30;
constexpr int64_t kTimeoutNs = int64_t{60} * 1'000'000'000;

std::span<const uint32_t> ShaderOf(std::string_view name) {
  static const std::map<std::string_view, std::span<const uint32_t>> kShaders = {
      {"read", kReadWords},     {"bytes", kBytesWords},   {"bytes_dot", kBytesDotWords},
      {"halves", kHalvesWords}, {"matrix", kMatrixWords}, {"floats", kFloatsWords}};
  const auto found = kShaders.find(name);
  return found == kShaders.end() ? std::span<const uint32_t>() : found->second;
}

class Peaks {
 public:
  static Result<nlohmann::json> Of(Device& device) {
    Peaks peaks(device);
    peaks.out_ =
        TRY(Buffer::Allocate(device, sizeof(uint32_t) * kGroups * kGroupSize, MemoryKind::kDevice));
    const DeviceTraits& traits = device.traits();
    nlohmann::json json = {{"device", traits.name}, {"driver", traits.driver}};
    json["read_gb_per_s"] = TRY(peaks.Read()) / 1e9;
    json["int8_tops"] = TRY(peaks.Compute(traits.dot_products ? "bytes_dot" : "bytes", 8)) / 1e12;
    json["kernel_us"] = TRY(peaks.Wait(1));
    json["f32_tflops"] = TRY(peaks.Compute("floats", 4)) / 1e12;
    if (traits.matrix)
      json["matrix_int8_tops"] = TRY(peaks.MultiplyMatrices(*traits.matrix)) / 1e12;
    if (traits.shader_float16) json["f16_tflops"] = TRY(peaks.Compute("halves", 4)) / 1e12;
    return json;
  }

 private:
  explicit Peaks(Device& device) : device_(device), pipelines_(device, ShaderOf, {}) {}

  // Bytes a second read from a buffer that no cache holds.
  Result<double> Read() {
    struct Push {
      uint64_t from;
      uint64_t to;
      uint32_t count;
    };
    const uint64_t bytes = std::min(
        {kMostReadBytes, device_.AvailableBytes() / 4, device_.traits().max_allocation_bytes});
    const Buffer buffer = TRY(Buffer::Allocate(device_, bytes, MemoryKind::kDevice));
    Commands clear = TRY(Commands::Create(device_));
    TRY(clear.Begin());
    clear.Clear(buffer, 0, buffer.bytes() / 4 * 4);
    TRY(clear.End());
    TRY(clear.Run(kTimeoutNs));
    const auto count = static_cast<uint32_t>(bytes / 16);
    return Rate(TRY(pipelines_.Get("read")), Push{buffer.address(), out_.address(), count},
                uint64_t{count} * 16);
  }

  // Operations a second; each step of a chain is `operations` of them.
  Result<double> Compute(const std::string& shader, uint64_t operations) {
    struct Push {
      uint64_t to;
      uint32_t rounds;
      uint32_t seed;
    };
    constexpr uint64_t kChains = 8;  // of compute.comp
    constexpr uint32_t kStepsOfChain = 256;
    return Rate(TRY(pipelines_.Get(shader)), Push{out_.address(), kStepsOfChain, 1},
                operations * kChains * kStepsOfChain * kGroups * kGroupSize);
  }

  // Microseconds of a kernel that computes next to nothing and waits for the one before it.
  Result<double> Wait(uint32_t groups) {
    struct Push {
      uint64_t to;
      uint32_t rounds;
      uint32_t seed;
    };
    return 1e6 / TRY(Rate(TRY(pipelines_.Get("floats")), Push{out_.address(), 1, 1}, 1, groups));
  }

  Result<double> MultiplyMatrices(const MatrixTile& tile) {
    struct Push {
      uint64_t to;
      uint32_t rounds;
      uint32_t seed;
    };
    constexpr uint64_t kChains = 8;  // of matrix.comp
    constexpr uint32_t kStepsOfChain = 256;
    const Pipeline pipeline =
        TRY(pipelines_.Get("matrix", {tile.outputs, tile.rows, tile.columns}, tile.subgroup));
    const uint64_t operations = uint64_t{2} * tile.outputs * tile.rows * tile.columns;
    return Rate(pipeline, Push{out_.address(), kStepsOfChain, 1},
                operations * kChains * kStepsOfChain * kGroups * (kGroupSize / tile.subgroup));
  }

  // `work` of one dispatch, times dispatches a second.
  template <typename Push>
  Result<double> Rate(const Pipeline& pipeline, const Push& push, uint64_t work,
                      uint32_t groups = kGroups) {
    const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(&push), sizeof(push));
    // Dispatches are doubled until they take long enough.
    uint32_t dispatches = 1;
    double seconds = TRY(Time(pipeline, bytes, dispatches, groups));
    while (seconds < kLeastSeconds && dispatches < 1 << 16) {
      dispatches *= 2;
      seconds = TRY(Time(pipeline, bytes, dispatches, groups));
    }
    std::vector<double> rounds;
    for (int round = 0; round < kRounds; ++round)
      rounds.push_back(TRY(Time(pipeline, bytes, dispatches, groups)));
    std::ranges::nth_element(rounds, rounds.begin() + kRounds / 2);
    return static_cast<double>(work) * dispatches / rounds[kRounds / 2];
  }

  Result<double> Time(const Pipeline& pipeline, std::span<const uint8_t> push, uint32_t dispatches,
                      uint32_t groups) {
    Commands commands = TRY(Commands::Create(device_));
    TRY(commands.Begin());
    for (uint32_t i = 0; i < dispatches; ++i) {
      commands.Dispatch(pipeline, push, {.x = groups});
      commands.Barrier();
    }
    TRY(commands.End());
    const int64_t begin_ns = clock_.NowNs();
    TRY(commands.Run(kTimeoutNs));
    return static_cast<double>(clock_.NowNs() - begin_ns) / 1e9;
  }

  Device& device_;
  Pipelines pipelines_;
  SystemClock clock_;
  Buffer out_;  // [invocations] words
};

Result<nlohmann::json> PeaksOf(size_t index) {
  const auto instance = TRY(Instance::Create(TRY(Library::Open())));
  const auto devices = TRY(instance->PhysicalDevices());
  if (index >= devices.size()) return NotFound(fmt::format("there is no GPU {}", index));
  const auto device = TRY(Device::Open(instance, devices[index]));
  return Peaks::Of(*device);
}

}  // namespace
}  // namespace aster::vulkan

int main(int argc, char** argv) {
  const std::string_view text = argc > 1 ? argv[1] : "0";
  size_t index = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), index).ec != std::errc()) {
    fmt::print(stderr, "gpu_peaks {}: give the number of a device\n", text);
    return 2;
  }
  const auto peaks = aster::vulkan::PeaksOf(index);
  if (!peaks.ok()) {
    fmt::print(stderr, "gpu_peaks: {}\n", peaks.error().message());
    return 1;
  }
  fmt::print("{}\n", peaks->dump());
  return 0;
}
