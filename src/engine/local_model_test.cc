// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A model whose last layers another back end computes: here a second one of the processor, with a
// limit to its memory, in place of a GPU.
#include "engine/local_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "engine/verify.h"
#include "model/runner_for_test.h"

namespace aster::engine {
namespace {

using testing::HasSubstr;

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

class LimitedBackend final : public compute::Backend {
 public:
  LimitedBackend(compute::Context& host, uint64_t bytes) : cpu_(host), left_bytes_(bytes) {}

  compute::Context& host() override { return cpu_.host(); }
  Result<std::unique_ptr<compute::Memory>> Allocate(size_t bytes) override {
    if (bytes > left_bytes_) return ResourceExhausted("the device has no memory left");
    left_bytes_ -= bytes;
    return cpu_.Allocate(bytes);
  }
  Status Write(compute::Memory& memory, size_t offset, size_t count, size_t unit_bytes,
               WriteUnits write) override {
    return cpu_.Write(memory, offset, count, unit_bytes, write);
  }
  kv::PageMemory& pages() override { return cpu_.pages(); }
  std::unique_ptr<compute::Commands> NewCommands() override { return cpu_.NewCommands(); }

 private:
  compute::CpuBackend cpu_;
  uint64_t left_bytes_;
};

class FakeGpu final : public vulkan::Gpu {
 public:
  FakeGpu(compute::Context& host, uint64_t said_bytes, uint64_t bytes)
      : backend_(host, bytes), said_bytes_(said_bytes) {}

  compute::Backend& backend() override { return backend_; }
  const std::string& name() const override { return name_; }
  uint64_t available_bytes() const override { return said_bytes_; }
  bool lost() const override { return false; }

 private:
  const std::string name_ = "a fake GPU";
  LimitedBackend backend_;
  const uint64_t said_bytes_;
};

// A GPU that says it has `said_bytes`, and has `bytes`.
OpenGpu Opens(uint64_t said_bytes = kUnlimited, uint64_t bytes = kUnlimited) {
  return [=](compute::Context& host) -> Result<std::unique_ptr<vulkan::Gpu>> {
    return std::make_unique<FakeGpu>(host, said_bytes, bytes);
  };
}

LocalModelOptions With(std::optional<uint32_t> layers, OpenGpu open_gpu) {
  LocalModelOptions options;
  options.threads = 1;
  options.memory_bytes = uint64_t{64} << 20;
  options.gpu_layers = {layers};
  options.open_gpu = std::move(open_gpu);
  return options;
}

TEST(GpuLayers, AreANumberOrAuto) {
  EXPECT_EQ(ParseGpuLayers("12")->count, 12u);
  EXPECT_FALSE(ParseGpuLayers("0")->wanted());
  EXPECT_EQ(ParseGpuLayers("auto")->count, std::nullopt);
  for (const char* text : {"", "-1", "12x", "all", "99999999999"})
    EXPECT_THAT(ParseGpuLayers(text).error().message(), HasSubstr("is no number of layers"));
}

TEST(LocalModel, LayersOfTwoBackEndsGiveTheSameBitsInEveryWay) {
  for (const model::Arch arch : {model::Arch::kLlama, model::Arch::kQwen3Moe}) {
    const model::Shape shape = model::SmallShape(arch);
    const model::ModelFile file(shape, gguf::TensorType::kQ8_0);
    VerifyOptions options;
    options.model = With(std::nullopt, Opens());
    const auto tokens = model::RandomTokens(40, shape.vocab_size);
    const auto ways = Verify(file.files(), tokens, options, SystemClock(), nullptr).value();
    int on_gpu = 0;
    for (const VerifiedWay& way : ways) {
      EXPECT_EQ(way.hash, ways[0].hash) << way.name;
      on_gpu += way.name.find("GPU") != std::string::npos ? 1 : 0;
    }
    EXPECT_EQ(on_gpu, 11);
  }
}

TEST(LocalModel, PagesAreSharedOutAsLayersAre) {
  const model::Shape shape = model::SmallShape(model::Arch::kLlama);
  const model::ModelFile file(shape, gguf::TensorType::kQ8_0);
  const auto whole = LocalModel::Load(file.files(), With(0, Opens())).value();
  const auto split = LocalModel::Load(file.files(), With(1, Opens())).value();
  EXPECT_EQ(whole->gpu(), nullptr);
  EXPECT_EQ(split->gpu_layers(), 1u);
  EXPECT_LT(split->packed_bytes(), whole->packed_bytes());
  // Whole pages of all layers: a little less than the budget.
  EXPECT_LE(split->memory().budget_bytes, whole->memory().budget_bytes);
  EXPECT_GE(split->memory().budget_bytes, whole->memory().budget_bytes * 9 / 10);
}

TEST(LocalModel, AsManyLayersAsFitAreChosen) {
  const model::Shape shape = model::SmallShape(model::Arch::kLlama);
  const model::ModelFile file(shape, gguf::TensorType::kQ8_0);
  const auto layers = [&](uint64_t said_bytes, uint64_t bytes) {
    return LocalModel::Load(file.files(), With(std::nullopt, Opens(said_bytes, bytes)))
        .value()
        ->gpu_layers();
  };
  EXPECT_EQ(layers(kUnlimited, kUnlimited), shape.layer_count);
  EXPECT_EQ(layers(uint64_t{1} << 20, kUnlimited), 0u);
  // The device has less than it said: fewer layers are tried, down to none.
  const uint32_t fewer = layers(kUnlimited, uint64_t{400} << 10);
  EXPECT_LT(fewer, shape.layer_count);
  EXPECT_EQ(layers(kUnlimited, 0), 0u);
}

TEST(LocalModel, WithoutAGpuAutomaticChoiceGoesOnAndANumberDoesNot) {
  const model::Shape shape = model::SmallShape(model::Arch::kLlama);
  const model::ModelFile file(shape, gguf::TensorType::kQ8_0);
  const OpenGpu none = [](compute::Context&) -> Result<std::unique_ptr<vulkan::Gpu>> {
    return NotFound("this machine has no GPU");
  };
  const auto model = LocalModel::Load(file.files(), With(std::nullopt, none)).value();
  EXPECT_EQ(model->gpu_layers(), 0u);
  EXPECT_EQ(model->gpu_note(), "no GPU is used: this machine has no GPU");
  EXPECT_EQ(LocalModel::Load(file.files(), With(2, none)).error().message(),
            "--gpu-layers: this machine has no GPU");
  EXPECT_EQ(LocalModel::Load(file.files(), With(2, Opens(kUnlimited, 0))).error().code(),
            Code::kResourceExhausted);
}

}  // namespace
}  // namespace aster::engine
