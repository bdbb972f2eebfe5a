// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/verify.h"

#include <gtest/gtest.h>

#include "base/sanitized.h"
#include "kernels/isa_choice.h"
#include "model/forward/runner_for_test.h"

namespace aster::engine {
namespace {

std::vector<VerifiedWay> VerifyAll(const model::Shape& shape, std::span<const int32_t> tokens,
                                   const model::MemoryOptions& memory = {}) {
  // Blocks of 256 are too long for the small DeepSeek V4.
  const model::ModelFile file(
      shape, shape.is_latent() ? gguf::TensorType::kQ8_0 : gguf::TensorType::kQ4_K);
  VerifyOptions options;
  options.model.threads = 1;
  options.model.memory = memory;
  options.threads = {2, 3};
  // The reference is slow, with sanitizers very slow: short texts only.
  const size_t fast = tokens.size() > 20 ? 1 : 0;
  options.isas.assign(kernels::AvailableIsas().begin() + fast, kernels::AvailableIsas().end());
  std::vector<std::string> told;
  auto ways = Verify(file.files(), tokens, options, SystemClock(),
                     [&](const VerifiedWay& way) { told.push_back(way.name); });
  EXPECT_TRUE(ways.ok()) << ways.error().message();
  EXPECT_EQ(told.size(), ways->size());
  return *std::move(ways);
}

TEST(Verify, EveryWayOfEveryArchitectureGivesTheSameBits) {
  for (const model::Arch arch : model::EveryArch()) {
    const model::Shape shape = model::SmallShape(arch);
    const auto ways =
        VerifyAll(shape, model::RandomTokens(kSanitized ? 30 : 140, shape.vocab_size));
    EXPECT_GE(ways.size(), 13u);
    for (const VerifiedWay& way : ways)
      EXPECT_EQ(way.hash, ways[0].hash) << model::ArchName(arch) << ": " << way.name;
  }
}

TEST(Verify, AWindowChangesTheBitsInEveryWayAlike) {
  const model::Shape shape = model::SmallShape(model::Arch::kLlama);
  const auto tokens = model::RandomTokens(kSanitized ? 40 : 300, shape.vocab_size);
  const auto windowed = VerifyAll(shape, tokens, {.window = kSanitized ? 10u : 100u, .sinks = 4});
  for (const VerifiedWay& way : windowed) EXPECT_EQ(way.hash, windowed[0].hash) << way.name;
  EXPECT_NE(windowed[0].hash, VerifyAll(shape, tokens)[0].hash);
}

TEST(Verify, TheReferenceAgrees) {
  model::Shape shape = model::SmallShape(model::Arch::kQwen3Moe);
  shape.layer_count = 2;
  const auto ways = VerifyAll(shape, model::RandomTokens(12, shape.vocab_size));
  for (const VerifiedWay& way : ways) EXPECT_EQ(way.hash, ways[0].hash) << way.name;
}

TEST(Verify, OtherTextsHaveOtherHashes) {
  const model::Shape shape = model::SmallShape(model::Arch::kLlama);
  const auto tokens = model::RandomTokens(21, shape.vocab_size);
  auto other = tokens;
  other.back() ^= 1;
  EXPECT_NE(VerifyAll(shape, tokens)[0].hash, VerifyAll(shape, other)[0].hash);
}

TEST(Verify, OneDifferentHashIsSeen) {
  std::vector<VerifiedWay> ways = {{"a", {1, 2}}, {"b", {1, 2}}, {"c", {1, 2}}};
  EXPECT_TRUE(AllEqual(ways));
  ways[2].hash.high = 3;
  EXPECT_FALSE(AllEqual(ways));
}

TEST(Verify, TooLittleTextIsRefused) {
  const model::Shape shape = model::SmallShape(model::Arch::kLlama);
  const model::ModelFile file(shape, gguf::TensorType::kQ8_0);
  const int32_t token = 1;
  EXPECT_FALSE(Verify(file.files(), {&token, 1}, {}, SystemClock(), nullptr).ok());
}

TEST(LocalModel, TooLittleMemoryIsAnErrorThatSaysSo) {
  const model::Shape shape = model::SmallShape(model::Arch::kLlama);
  const model::ModelFile file(shape, gguf::TensorType::kQ8_0);
  LocalModelOptions options;
  options.memory_bytes = 1 << 10;
  auto model = LocalModel::Load(file.files(), options);
  ASSERT_TRUE(model.ok());
  kv::PageTable table = (*model)->NewTable();
  const auto tokens = model::RandomTokens(10, shape.vocab_size);
  const model::Segment segment{.table = &table, .tokens = tokens};
  const auto output = (*model)->Run({&segment, 1});
  ASSERT_FALSE(output.ok());
  EXPECT_EQ(output.error().code(), Code::kResourceExhausted);
  EXPECT_EQ(table.length(), 0u);
}

}  // namespace
}  // namespace aster::engine
