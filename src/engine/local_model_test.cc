// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A model whose last layers are on other back ends: fakes in place of GPUs.
#include "engine/local_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/fake_gpu_for_test.h"
#include "engine/verify.h"
#include "model/forward/runner_for_test.h"

namespace aster::engine {
namespace {

using testing::HasSubstr;

// A GPU that claims to have `said_bytes`, and has `bytes`.
OpenGpus Opens(uint64_t said_bytes = kUnlimited, uint64_t bytes = kUnlimited) {
  return OpensFake({.said_bytes = said_bytes, .bytes = bytes});
}

OpenGpus OpensTwo(uint64_t first_bytes, uint64_t second_bytes) {
  return OpensFakes({std::make_shared<FakeGpuPlan>(FakeGpuPlan{.said_bytes = first_bytes}),
                     std::make_shared<FakeGpuPlan>(FakeGpuPlan{.said_bytes = second_bytes})});
}

TEST(GpuLayers, AreANumberOrAuto) {
  EXPECT_EQ(ParseGpuLayers("12")->count, 12u);
  EXPECT_FALSE(ParseGpuLayers("0")->wanted());
  EXPECT_EQ(ParseGpuLayers("auto")->count, std::nullopt);
  for (const char* text : {"", "-1", "12x", "all", "99999999999"})
    EXPECT_THAT(ParseGpuLayers(text).error().message(), HasSubstr("is no number of layers"));
}

TEST(LocalModel, LayersOfTwoBackEndsGiveTheSameBitsInEveryWay) {
  for (const model::Arch arch :
       {model::Arch::kLlama, model::Arch::kQwen3Moe, model::Arch::kGemma3, model::Arch::kGptOss}) {
    const model::Shape shape = model::SmallShape(arch);
    const model::ModelFile file(shape, gguf::TensorType::kQ8_0);
    VerifyOptions options;
    options.model = WithGpuLayers(std::nullopt, Opens());
    const auto tokens = model::RandomTokens(40, shape.vocab_size);
    const auto ways = Verify(file.files(), tokens, options, SystemClock(), nullptr).value();
    int on_gpu = 0;
    for (const VerifiedWay& way : ways) {
      EXPECT_EQ(way.hash, ways[0].hash) << way.name;
      on_gpu += way.name.find("GPU") != std::string::npos ? 1 : 0;
    }
    EXPECT_EQ(on_gpu, shape.experts.count > 0 ? 13 : 12);
  }
}

TEST(GpuLayers, AreSharedOutByRoom) {
  using Shares = std::vector<uint32_t>;
  const auto share = [](uint32_t layers, std::vector<uint64_t> rooms) {
    return ShareOut(layers, rooms);
  };
  EXPECT_EQ(share(10, {1, 1}), (Shares{5, 5}));
  EXPECT_EQ(share(10, {3, 1}), (Shares{8, 2}));
  EXPECT_EQ(share(1, {1, 2, 1}), (Shares{0, 1, 0}));
  EXPECT_EQ(share(10, {0, kUnlimited}), (Shares{0, 10}));
  EXPECT_EQ(share(10, {kUnlimited, kUnlimited}), (Shares{5, 5}));
  EXPECT_EQ(share(10, {0, 0}), (Shares{0, 0}));
  EXPECT_EQ(share(3, {}), Shares());
  // All layers are placed, and no device has more than fit there.
  for (uint32_t layers = 0; layers <= 12; ++layers) {
    const Shares shares = share(layers, {7, 2, 3});
    EXPECT_EQ(shares[0] + shares[1] + shares[2], layers);
    EXPECT_TRUE(shares[0] <= 7 && shares[1] <= 2 && shares[2] <= 3) << layers;
  }
}

// Six layers; the last three use KV rows of earlier ones.
TEST(GpuLayers, SharesBeginWhereTheModelCanBeCut) {
  const model::Shape shape = model::SmallShape(model::Arch::kGemma4);
  for (const std::vector<uint64_t>& rooms :
       {std::vector<uint64_t>{1}, std::vector<uint64_t>{1, 1}, std::vector<uint64_t>{3, 1, 2}}) {
    for (uint32_t layers = 0; layers <= shape.layer_count; ++layers) {
      const auto shares = SharesAtCuts(shape, shape.layer_count, ShareOut(layers, rooms));
      uint32_t begin = shape.layer_count;
      for (size_t i = shares.size(); i-- > 0;) {
        if (shares[i] == 0) continue;
        begin -= shares[i];
        EXPECT_TRUE(shape.can_begin(begin)) << layers << " layers begin at " << begin;
      }
      EXPECT_GE(begin + layers, shape.layer_count);
      // No more layers are left out than necessary.
      for (uint32_t more = shape.layer_count - layers; more < begin; ++more)
        EXPECT_FALSE(shape.can_begin(more)) << layers;
    }
  }
}

TEST(LocalModel, LayersThatBelongTogetherStayTogether) {
  const model::Shape shape = model::SmallShape(model::Arch::kGemma4);
  const model::ModelFile file(shape, gguf::TensorType::kQ8_0);
  const auto one = LocalModel::Load(file.files(), WithGpuLayers(1, Opens())).value();
  EXPECT_EQ(one->gpu_layers(), 0u);
  EXPECT_THAT(one->gpu_note(), HasSubstr("0 of 1 layers are on the GPU"));
  const auto whole = LocalModel::Load(file.files(), WithGpuLayers(std::nullopt, Opens())).value();
  EXPECT_EQ(whole->gpu_layers(), shape.layer_count);
  EXPECT_EQ(whole->gpu_note(), "");
}

TEST(LocalModel, LayersOfTwoGpusGiveTheSameBits) {
  const model::Shape shape = model::SmallShape(model::Arch::kLlama);
  const model::ModelFile file(shape, gguf::TensorType::kQ8_0);
  VerifyOptions options;
  options.model = WithGpuLayers(std::nullopt, OpensTwo(kUnlimited, kUnlimited));
  const auto tokens = model::RandomTokens(40, shape.vocab_size);
  const auto ways = Verify(file.files(), tokens, options, SystemClock(), nullptr).value();
  int on_two = 0;
  for (const VerifiedWay& way : ways) {
    EXPECT_EQ(way.hash, ways[0].hash) << way.name;
    on_two += way.name.find("2 GPUs") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(on_two, 3);
}

TEST(LocalModel, TwoGpusShareLayersByTheirMemory) {
  const model::Shape shape = model::SmallShape(model::Arch::kLlama);
  const model::ModelFile file(shape, gguf::TensorType::kQ8_0);
  const auto names = [&](uint32_t layers, OpenGpus open_gpus) {
    const auto model =
        LocalModel::Load(file.files(), WithGpuLayers(layers, std::move(open_gpus))).value();
    EXPECT_EQ(model->gpu_layers(), layers);
    return model->gpu_names();
  };
  EXPECT_EQ(names(2, OpensTwo(1000, 1000)), "a fake GPU (1) and a fake GPU (1)");
  EXPECT_EQ(names(2, OpensTwo(10, 1000)), "a fake GPU");
}

TEST(LocalModel, PagesAreSharedOutAsLayersAre) {
  const model::Shape shape = model::SmallShape(model::Arch::kLlama);
  const model::ModelFile file(shape, gguf::TensorType::kQ8_0);
  const auto whole = LocalModel::Load(file.files(), WithGpuLayers(0, Opens())).value();
  const auto split = LocalModel::Load(file.files(), WithGpuLayers(1, Opens())).value();
  EXPECT_EQ(whole->gpu_count(), 0u);
  EXPECT_EQ(split->gpu_layers(), 1u);
  EXPECT_LT(split->packed_bytes(), whole->packed_bytes());
  // The pages are whole, so they take a little less than the budget.
  EXPECT_LE(split->memory().budget_bytes, whole->memory().budget_bytes);
  EXPECT_GE(split->memory().budget_bytes, whole->memory().budget_bytes * 9 / 10);
}

TEST(LocalModel, AsManyLayersAsFitAreChosen) {
  const model::Shape shape = model::SmallShape(model::Arch::kLlama);
  const model::ModelFile file(shape, gguf::TensorType::kQ8_0);
  const auto layers = [&](uint64_t said_bytes, uint64_t bytes) {
    return LocalModel::Load(file.files(), WithGpuLayers(std::nullopt, Opens(said_bytes, bytes)))
        .value()
        ->gpu_layers();
  };
  EXPECT_EQ(layers(kUnlimited, kUnlimited), shape.layer_count);
  EXPECT_EQ(layers(uint64_t{1} << 20, kUnlimited), 0u);
  // The device has less than it claims: fewer layers are tried, down to none.
  const uint32_t fewer = layers(kUnlimited, uint64_t{400} << 10);
  EXPECT_LT(fewer, shape.layer_count);
  EXPECT_EQ(layers(kUnlimited, 0), 0u);
}

// Main memory has a limit, and the memory of a GPU that shares it counts, too.
TEST(LocalModel, MainMemoryIsNotOverfilled) {
  const model::Shape shape = model::SmallShape(model::Arch::kLlama);
  const model::ModelFile file(shape, gguf::TensorType::kQ8_0);
  const auto load = [&](std::optional<uint32_t> layers, const FakeGpuPlan& plan, uint64_t limit) {
    auto options = WithGpuLayers(layers, OpensFake(plan));
    options.main_memory_bytes = limit;
    return LocalModel::Load(file.files(), options);
  };
  const uint64_t kv = uint64_t{64} << 20;
  const auto half = load(1, {}, 0).value();
  EXPECT_LT(half->main_memory_bytes(), kv * 3 / 4);
  EXPECT_GT(half->gpu_memory_bytes(), kv / 4);
  // The limit holds half of the pages with the weights, but not all pages.
  const uint64_t limit = kv * 3 / 4;
  EXPECT_TRUE(load(1, {}, limit).ok());
  const auto refused = load(0, {}, limit);
  EXPECT_EQ(refused.error().code(), Code::kResourceExhausted);
  EXPECT_THAT(refused.error().message(), HasSubstr("of main memory that are free, with 0 of 3"));
  EXPECT_FALSE(load(1, {.shares_memory = true}, limit).ok());
  EXPECT_EQ(load(1, {.shares_memory = true}, 0).value()->gpu_memory_bytes(), 0u);
  // The GPU has less memory than it claims.
  EXPECT_FALSE(load(std::nullopt, {.bytes = 0}, limit).ok());
}

TEST(LocalModel, WithoutAGpuAutomaticChoiceGoesOnAndANumberDoesNot) {
  const model::Shape shape = model::SmallShape(model::Arch::kLlama);
  const model::ModelFile file(shape, gguf::TensorType::kQ8_0);
  const OpenGpus none = [](const vulkan::KernelUse&, compute::Context&) -> Result<Gpus> {
    return NotFound("this machine has no GPU");
  };
  const auto model = LocalModel::Load(file.files(), WithGpuLayers(std::nullopt, none)).value();
  EXPECT_EQ(model->gpu_layers(), 0u);
  EXPECT_EQ(model->gpu_note(), "no GPU is used: this machine has no GPU");
  EXPECT_EQ(LocalModel::Load(file.files(), WithGpuLayers(2, none)).error().message(),
            "--gpu-layers: this machine has no GPU");
  EXPECT_EQ(LocalModel::Load(file.files(), WithGpuLayers(2, Opens(kUnlimited, 0))).error().code(),
            Code::kResourceExhausted);
  // It is not the user's mistake if a listed GPU is lost when it is opened.
  const OpenGpus gone = [](const vulkan::KernelUse&, compute::Context&) -> Result<Gpus> {
    return Error(Code::kUnavailable, "the GPU was lost");
  };
  for (const std::optional<uint32_t> layers : {std::optional(2u), std::optional<uint32_t>()}) {
    const auto without = LocalModel::Load(file.files(), WithGpuLayers(layers, gone)).value();
    EXPECT_EQ(without->gpu_layers(), 0u);
    EXPECT_TRUE(without->lost_gpu_while_loading());
    EXPECT_EQ(without->gpu_note(), "no GPU is used: the GPU was lost");
  }
}

}  // namespace
}  // namespace aster::engine
