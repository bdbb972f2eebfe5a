// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// gpu_products N [TYPE…]: how long products of one matrix take on device N (of `aster devices`), by
// each of its shaders and for several numbers of rows. Weights are read from memory that no cache
// holds: several matrices in turn. One command buffer has many products with a barrier behind each;
// the result is the median of rounds. The bits of products by cooperative matrices are checked
// first.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/clock.h"
#include "kernels/activations.h"
#include "kernels/pack.h"
#include "vulkan/check/self_check.h"
#include "vulkan/driver/instance.h"
#include "vulkan/driver/shaders.h"
#include "vulkan/driver/uploader.h"
#include "vulkan/kernels/product_push.h"
#include "vulkan/kernels/products.h"

namespace aster::vulkan {
namespace {

using kernels::WeightType;

struct Shape {
  uint32_t outputs;
  uint32_t columns;
};
constexpr Shape kShapes[] = {{4096, 4096}, {14336, 4096}, {4096, 14336}, {8192, 2048}};
constexpr uint32_t kRowCounts[] = {1, 8, 16, 32, 128, 512, 2048};
constexpr int kRounds = 3;
constexpr double kLeastSeconds = 0.01;  // of a round
constexpr uint64_t kWeightBytes = uint64_t{256} << 20;
constexpr int64_t kTimeoutNs = int64_t{60} * 1'000'000'000;

const char* NameOf(ProductWay way) {
  constexpr const char* kNames[] = {"few", "many", "matrix"};
  return kNames[static_cast<size_t>(way)];
}

class Products {
 public:
  Products(Device& device, Kernels& kernels) : device_(device), kernels_(kernels) {}

  Status Measure(WeightType type) {
    for (const Shape& shape : kShapes) TRY(Measure(type, shape));
    return Ok();
  }

 private:
  Status Measure(WeightType type, const Shape& shape) {
    const uint64_t bytes =
        kernels::PanelCount(shape.outputs) * kernels::PanelBytes(type, shape.columns);
    const uint64_t stride =
        (bytes + Buffer::kAlignment - 1) / Buffer::kAlignment * Buffer::kAlignment;
    const auto copies = static_cast<uint32_t>(std::max<uint64_t>(kWeightBytes / stride, 1));
    const Buffer weights = TRY(Weights(stride * copies));
    const uint32_t most = *std::max_element(std::begin(kRowCounts), std::end(kRowCounts));
    const Buffer results = TRY(Buffer::Allocate(
        device_, uint64_t{most} * shape.outputs * sizeof(float), MemoryKind::kDevice));
    for (const uint32_t rows : kRowCounts) {
      const Buffer prepared = TRY(Prepared(type, rows, shape.columns));
      fmt::print("{:8} {:5} x {:4} {:4} rows", kernels::WeightTypeName(type), shape.outputs,
                 shape.columns, rows);
      for (const WorkgroupRows& together : Ways(rows)) {
        const double seconds = TRY(Median([&](Commands& commands, uint32_t n) {
          const ProductPush push{.weights = weights.address() + n % copies * stride,
                                 .ids = 0,
                                 .slots = 0,
                                 .activations = prepared.address(),
                                 .result = results.address(),
                                 .grid = kernels_.grid(),
                                 .sum = 0,
                                 .outputs = shape.outputs,
                                 .columns = shape.columns,
                                 .activation_rows = rows,
                                 .first_row = 0,
                                 .rows = rows,
                                 .out_stride = shape.outputs,
                                 .sharing = 1,
                                 .kind = ProductRows::kOneMatrix,
                                 .sum_stride = 0};
          return RecordProductPush(kernels_, commands, type, push, together,
                                   DivideRoundingUp(rows, together.rows));
        }));
        const double operations = 2.0 * rows * shape.outputs * shape.columns;
        fmt::print("   {} {}: {:.1f} us, {:.0f} GB/s, {:.2f} TOP/s", NameOf(together.way),
                   together.rows, seconds * 1e6, static_cast<double>(bytes) / seconds / 1e9,
                   operations / seconds / 1e12);
        std::fflush(stdout);
      }
      fmt::print("\n");
    }
    return Ok();
  }

  std::vector<WorkgroupRows> Ways(uint32_t rows) const {
    std::vector<WorkgroupRows> ways;
    if (rows <= 32) ways.push_back({ProductWay::kFew, std::bit_ceil(std::min(rows, kFewRows))});
    if (rows > kFewRows) ways.push_back({ProductWay::kMany, kManyRows});
    if (rows <= kFewRows || !kernels_.matrix()) return ways;
    ways.push_back({ProductWay::kMatrix, kMatrixRows});
    if (rows >= kWideMatrixRows) ways.push_back({ProductWay::kMatrix, kWideMatrixRows});
    return ways;
  }

  // Bytes that are numbers of modest size, whether read as halves, exponents or floats.
  Result<Buffer> Weights(uint64_t bytes) {
    std::vector<uint8_t> values(uint64_t{16} << 20);
    Random random(1, 1);
    for (uint8_t& value : values) value = static_cast<uint8_t>(0x64 + random.NextBelow(0x14));
    Buffer buffer = TRY(Buffer::Allocate(device_, bytes, MemoryKind::kDevice));
    Uploader uploader(device_, values.size());
    for (uint64_t at = 0; at < bytes; at += values.size()) {
      TRY(uploader.Write(std::span(values).first(std::min<uint64_t>(values.size(), bytes - at)),
                         buffer, at));
    }
    return buffer;
  }

  Result<Buffer> Prepared(WeightType type, uint32_t rows, uint32_t columns) {
    const kernels::ActivationFormat format = kernels::ActivationFormatFor(type);
    Workbench bench(kernels_);
    const Buffer floats =
        TRY(bench.Put(CheckFloats(size_t{rows} * columns, CheckValues::kOrdinary, 1)));
    Buffer prepared = TRY(Buffer::Allocate(device_, kernels::ActivationBytes(format, rows, columns),
                                           MemoryKind::kDevice));
    TRY(bench.Run([&](Commands& commands) {
      return RecordPrepare(kernels_, commands,
                           {.format = format,
                            .rows_in = floats.address(),
                            .stride = columns,
                            .rows = rows,
                            .columns = columns,
                            .prepared = prepared.address()});
    }));
    return prepared;
  }

  // The median time of one product.
  template <typename Record>
  Result<double> Median(const Record& record) {
    uint32_t count = 4;
    double seconds = TRY(Time(record, count));
    while (seconds < kLeastSeconds && count < 1 << 12) {
      count *= 2;
      seconds = TRY(Time(record, count));
    }
    std::vector<double> rounds;
    for (int round = 0; round < kRounds; ++round) rounds.push_back(TRY(Time(record, count)));
    std::ranges::nth_element(rounds, rounds.begin() + kRounds / 2);
    return rounds[kRounds / 2] / count;
  }

  template <typename Record>
  Result<double> Time(const Record& record, uint32_t count) {
    Commands commands = TRY(Commands::Create(device_));
    TRY(commands.Begin());
    for (uint32_t n = 0; n < count; ++n) {
      TRY(record(commands, n));
      commands.Barrier();
    }
    TRY(commands.End());
    const int64_t begin_ns = clock_.NowNs();
    TRY(commands.Run(kTimeoutNs));
    return static_cast<double>(clock_.NowNs() - begin_ns) / 1e9;
  }

  Device& device_;
  Kernels& kernels_;
  SystemClock clock_;
};

Result<WeightType> TypeOf(std::string_view name) {
  for (int i = static_cast<int>(WeightType::kBF16) + 1; i < kernels::kWeightTypeCount; ++i) {
    const auto type = static_cast<WeightType>(i);
    if (name == kernels::WeightTypeName(type)) return type;
  }
  return NotFound(fmt::format("there is no quantised type {}", name));
}

Status Measure(size_t index, const std::vector<WeightType>& types) {
  const auto instance = TRY(Instance::Create(TRY(Library::Open())));
  const auto devices = TRY(instance->PhysicalDevices());
  if (index >= devices.size()) return NotFound(fmt::format("there is no GPU {}", index));
  const auto device = TRY(Device::Open(instance, devices[index]));
  kernels::WeightTypes all;
  for (const WeightType type : types) all.Add(type);
  const auto kernels =
      TRY(Kernels::Create(*device, BuiltInShader, TRY(ChooseArithmetic(*device, BuiltInShader))));
  TRY(TryMatrices(*kernels, {.weights = all}));
  fmt::print("{} ({}), matrices {}\n", device->traits().name, device->traits().driver,
             kernels->matrix() ? std::string("used") : "not used: " + kernels->why_no_matrices());
  Products products(*device, *kernels);
  for (const WeightType type : types) TRY(products.Measure(type));
  return Ok();
}

}  // namespace
}  // namespace aster::vulkan

int main(int argc, char** argv) {
  using aster::kernels::WeightType;
  const std::string_view text = argc > 1 ? argv[1] : "0";
  size_t index = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), index).ec != std::errc()) {
    fmt::print(stderr, "gpu_products {}: give the number of a device\n", text);
    return 2;
  }
  std::vector<WeightType> types;
  for (int i = 2; i < argc; ++i) {
    const auto type = aster::vulkan::TypeOf(argv[i]);
    if (!type.ok()) {
      fmt::print(stderr, "gpu_products: {}\n", type.error().message());
      return 2;
    }
    types.push_back(*type);
  }
  if (types.empty())
    types = {WeightType::kQ8_0, WeightType::kQ4_0, WeightType::kQ4_K, WeightType::kQ6_K};
  const auto status = aster::vulkan::Measure(index, types);
  if (!status.ok()) {
    fmt::print(stderr, "gpu_products: {}\n", status.error().message());
    return 1;
  }
  return 0;
}
