// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The forward pass on a GPU (or on a driver that computes on the processor) against the processor's
// own back end: the same logits and the same pages, to the bit, and pages that are transferred
// between the two.
#include <gtest/gtest.h>

#include <cstring>

#include "engine/gpu/forward_gpu_for_test.h"
#include "model/drafters/block_drafter.h"
#include "model/drafters/mtp_block.h"

namespace aster::model {
namespace {

using gguf::TensorType;

TEST_F(ForwardGpuTest, EveryArchitectureInUnevenChunks) {
  constexpr size_t kChunks[] = {37, 1, 9};  // longer than the windows
  for (const Arch arch : EveryArch()) {
    Shape shape = SmallShape(arch);
    if (arch == Arch::kGemma4) shape.suppressed = {7, 11};
    SCOPED_TRACE(ArchName(arch));
    // Blocks of 256 are too long for the small DeepSeek V4.
    const TensorType type = shape.is_latent() ? TensorType::kQ8_0 : TensorType::kQ4_K;
    ExpectEqual(ModelFile(shape, type), shape, Narrowed({}, shape), kChunks);
  }
}

TEST_F(ForwardGpuTest, WeightTypes) {
  constexpr size_t kChunks[] = {9, 1};
  const Shape shape = SmallShape(Arch::kLlama);
  for (const TensorType type :
       {TensorType::kF32, TensorType::kF16, TensorType::kBF16, TensorType::kQ8_0, TensorType::kQ4_0,
        TensorType::kQ5_K, TensorType::kQ6_K, TensorType::kQ2_K, TensorType::kIQ2_XXS,
        TensorType::kMXFP4}) {
    SCOPED_TRACE(gguf::TensorTypeName(type));
    ExpectEqual(ModelFile(shape, type), shape, Narrowed({}, shape), kChunks);
  }
}

TEST_F(ForwardGpuTest, KvTypesAndWindows) {
  constexpr size_t kChunks[] = {130, 1, 9, 1};
  const Shape shape = SmallShape(Arch::kQwen3);
  const ModelFile model(shape, TensorType::kQ8_0);
  for (const MemoryOptions& memory :
       {MemoryOptions{.type = kernels::KvType::kBf16}, MemoryOptions{.type = kernels::KvType::kQ8},
        MemoryOptions{.type = kernels::KvType::kQ8Int}, MemoryOptions{.window = 64, .sinks = 4}}) {
    SCOPED_TRACE(static_cast<int>(memory.type));
    ExpectEqual(model, shape, memory, kChunks);
  }
}

// One is forked from another, goes back and continues: pages are copied on the device.
TEST_F(ForwardGpuTest, SequencesShareAndCopyPages) {
  const Shape shape = SmallShape(Arch::kLlama);
  const ModelFile model(shape, TensorType::kQ8_0);
  const auto tokens = RandomTokens(200, shape.vocab_size);
  const auto others = RandomTokens(60, shape.vocab_size, 8);
  const auto run = [&](compute::Backend& backend) {
    BackendRunner runner(model.files(), shape, backend);
    kv::PageTable first = runner.NewTable();
    constexpr size_t kWhole[] = {150};
    std::vector<float> logits = runner.Logits(first, tokens, kWhole);
    kv::PageTable second = first.Fork();
    EXPECT_EQ(second.Truncate(140), 140u);
    const Segment segments[] = {
        {.table = &second, .tokens = others, .wanted = Wanted::kAll},
        {.table = &first, .tokens = std::span(tokens).subspan(150, 2), .wanted = Wanted::kLast}};
    const Output output = runner.Run(segments).value();
    logits.insert(logits.end(), output.logits.begin(), output.logits.end());
    return std::pair(logits, std::pair(PageBytes(first), PageBytes(second)));
  };
  EXPECT_EQ(run(cpu()), run(gpu()));
}

// KV rows are transferred both ways: each back end continues as if they were its own.
TEST_F(ForwardGpuTest, PagesMoveBetweenTheGpuAndTheProcessor) {
  const Shape shape = SmallShape(Arch::kQwen2);
  const ModelFile model(shape, TensorType::kQ4_0);
  const auto tokens = RandomTokens(160, shape.vocab_size);
  BackendRunner processor(model.files(), shape, cpu());
  BackendRunner device(model.files(), shape, gpu());
  constexpr size_t kPast[] = {150};
  constexpr size_t kRest[] = {3, 1, 1};
  const auto move = [](const kv::PageTable& from, kv::PageTable& to,
                       std::span<const int32_t> past) {
    ASSERT_TRUE(to.Reserve(static_cast<uint32_t>(past.size())).ok());
    for (uint32_t layer = 0; layer < from.layout().layer_count(); ++layer) {
      const size_t bytes = from.layout().streams(layer)[0].codec->page_bytes();
      for (uint32_t page = 0; page < 2; ++page) {
        std::vector<uint8_t> copy;
        const uint8_t* const data = kv::ReadPage(from.Page(layer, page), bytes, copy).value();
        const kv::PageAddress at = to.WritablePage(layer, page);
        ASSERT_TRUE(at.block->Write(at.offset, {data, bytes}).ok());
      }
    }
    to.Advance(past);
  };
  kv::PageTable on_processor = processor.NewTable(), on_device = device.NewTable();
  processor.Logits(on_processor, tokens, kPast);
  device.Logits(on_device, tokens, kPast);
  kv::PageTable to_processor = processor.NewTable(), to_device = device.NewTable();
  move(on_device, to_processor, std::span(tokens).first(150));
  move(on_processor, to_device, std::span(tokens).first(150));
  const auto want = processor.Logits(on_processor, tokens, kRest);
  EXPECT_EQ(device.Logits(on_device, tokens, kRest), want);
  EXPECT_EQ(processor.Logits(to_processor, tokens, kRest), want);
  EXPECT_EQ(device.Logits(to_device, tokens, kRest), want);
  EXPECT_EQ(PageBytes(to_device), PageBytes(on_processor));
}

// Layers of every kind: without compressed rows, with those of an index, and with those of 128
// tokens; rows of few bits and plain ones.
TEST_F(ForwardGpuTest, DeepSeek4) {
  constexpr size_t kChunks[] = {1, 61, 1, 130, 1};
  const Shape shape = SmallDeepSeek4({0, 4, 128});
  for (const bool plain_rows : {false, true}) {
    SCOPED_TRACE(plain_rows);
    ExpectEqual(ModelFile(shape, TensorType::kQ8_0), shape,
                Narrowed({.plain_rows = plain_rows}, shape), kChunks);
  }
}

// N-grams, rows that layers share, blocks of them, and streams that are mixed ahead.
TEST_F(ForwardGpuTest, DeepSeek41) {
  constexpr size_t kChunks[] = {1, 61, 1, 130, 2, 1};
  const Shape shape = SmallShape(Arch::kDeepSeek41);
  for (const bool plain_rows : {false, true}) {
    SCOPED_TRACE(plain_rows);
    ExpectEqual(ModelFile(shape, TensorType::kQ8_0), shape,
                Narrowed({.plain_rows = plain_rows}, shape), kChunks);
  }
}

// Two sequences in a batch, at different positions, one of which has gone back: rows of both are
// completed, ranked and seen, and each follows its own tokens.
TEST_F(ForwardGpuTest, LatentSequencesTogether) {
  for (const Shape& shape : {SmallDeepSeek4({4, 128}), SmallShape(Arch::kDeepSeek41)})
    ExpectEqualTogether(shape);
}

// Both back ends draft the same tokens after the same text.
TEST_F(ForwardGpuTest, MtpBlock) {
  const Shape shape = SmallDeepSeek4({0, 4});
  const ModelFile model(shape, TensorType::kQ8_0);
  const MemoryOptions memory = Narrowed({}, shape);
  const auto tokens = RandomTokens(90, shape.vocab_size);
  const auto run = [&](compute::Backend& backend) {
    BackendRunner runner(model.files(), shape, backend, memory);
    kv::PageTable table = runner.NewTable();
    const Segment segment{.table = &table, .tokens = tokens, .hidden_wanted = Wanted::kAll};
    const Output output = runner.Run({&segment, 1}).value();
    const std::vector<float> streams(output.hidden.begin(), output.hidden.end());
    MtpBlock next(runner.weights(), memory, backend);
    const kv::Layout layout = MakeMtpLayout(shape, memory, Hash128{1, 2}).value();
    kv::Pool pages(uint64_t{16} << 20, nullptr, backend.pages());
    kv::PageTable pairs(layout, pages, {0, 1});
    const std::span<const int32_t> behind = std::span(tokens).subspan(1);
    EXPECT_TRUE(next.Follow(pairs, behind.first(80), streams.data()).ok());
    const auto drafts =
        next.Draft(pairs, behind[80], streams.data() + 80 * shape.hidden_width(), 5).value();
    EXPECT_EQ(drafts.size(), 5u);
    return std::pair(streams, std::pair(drafts, PageBytes(pairs)));
  };
  EXPECT_EQ(run(cpu()), run(gpu()));
}

// A drafter of blocks on the rows of a text, and its draft tokens' logits.
TEST_F(ForwardGpuTest, DraftersOfBlocks) {
  for (const Shape& shape : {SmallDeepSeek4({0, 4}), SmallShape(Arch::kQwen3)}) {
    SCOPED_TRACE(ArchName(shape.arch));
    BlockShape block = PresetDrafterFor(shape);
    block.layers.sliding_window = 24;
    const ModelFile model(shape, TensorType::kQ8_0), file(block, TensorType::kQ8_0);
    const MemoryOptions memory = Narrowed({}, shape);
    const auto tokens = RandomTokens(90, shape.vocab_size);
    const auto run = [&](compute::Backend& backend) {
      BackendRunner runner(model.files(), shape, backend, memory);
      runner.forward().Tap(block.taps);
      kv::PageTable table = runner.NewTable();
      const Segment segment{.table = &table, .tokens = tokens, .tapped_wanted = Wanted::kAll};
      const Output output = runner.Run({&segment, 1}).value();
      std::vector<float> numbers(output.tapped.begin(), output.tapped.end());
      const BlockWeights weights =
          LoadBlockWeights(file.files(), block, model.files().FindTensor("token_embd.weight"),
                           backend)
              .value();
      BlockDrafter drafter(weights, memory, runner.weights().head, backend);
      const kv::Layout layout = MakeBlockLayout(block, memory, Hash128{1, 2}).value();
      kv::Pool pages(uint64_t{16} << 20, nullptr, backend.pages());
      kv::PageTable context(layout, pages, layout.all_layers());
      const std::vector<float> rows = numbers;
      EXPECT_TRUE(drafter.Follow(context, std::span(tokens).first(70), rows.data()).ok());
      EXPECT_TRUE(drafter.Begin(context, tokens[70]).ok());
      for (size_t i = 0; i < block.drafts(); ++i) {
        const auto logits = drafter.LogitsOf(i, tokens[70 + i]).value();
        numbers.insert(numbers.end(), logits.begin(), logits.end());
        numbers.push_back(drafter.Confidence().value());
      }
      return std::pair(numbers, PageBytes(context));
    };
    EXPECT_EQ(run(cpu()), run(gpu()));
  }
}

}  // namespace
}  // namespace aster::model
