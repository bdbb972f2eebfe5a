// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A GPU, or a driver that computes on the processor, beside the processor's own back end, with
// models on both. Only for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "model/forward/runner_for_test.h"
#include "vulkan/gpu.h"

namespace aster::model {

// A model on a back end.
class BackendRunner {
 public:
  BackendRunner(const gguf::ModelFiles& files, const Shape& shape, compute::Backend& backend,
                const MemoryOptions& memory = {})
      : weights_(LoadWeights(files, Slice::Whole(shape), backend).value()),
        layout_(MakeMemoryLayout(weights_.shape, memory, Hash128{1, 2}).value()),
        pages_(uint64_t{64} << 20, nullptr, backend.pages()),
        forward_(weights_, memory, backend) {}

  kv::PageTable NewTable() { return {layout_, pages_, layout_.all_layers()}; }
  Result<Output> Run(std::span<const Segment> segments) { return forward_.Run(segments); }
  const Weights& weights() const { return weights_; }
  Forward& forward() { return forward_; }

  // All logits of a sequence that is computed in chunks of these sizes.
  std::vector<float> Logits(kv::PageTable& table, std::span<const int32_t> tokens,
                            std::span<const size_t> chunks) {
    std::vector<float> logits;
    for (const size_t chunk : chunks) {
      const Segment segment{
          .table = &table, .tokens = tokens.subspan(table.length(), chunk), .wanted = Wanted::kAll};
      const Output output = forward_.Run({&segment, 1}).value();
      logits.insert(logits.end(), output.logits.begin(), output.logits.end());
    }
    return logits;
  }

 private:
  Weights weights_;
  kv::Layout layout_;
  kv::Pool pages_;
  Forward forward_;
};

inline std::vector<uint8_t> PageBytes(const kv::PageTable& table) {
  std::vector<uint8_t> all;
  const kv::Layout& layout = table.layout();
  for (uint32_t layer = 0; layer < layout.layer_count(); ++layer) {
    for (uint32_t stream = 0; stream < layout.streams(layer).size(); ++stream) {
      const size_t bytes = layout.streams(layer)[stream].codec->page_bytes();
      for (uint32_t page = 0; page * kernels::kPagePositions < table.length(); ++page) {
        std::vector<uint8_t> copy;
        const kv::PageAddress at = table.Page(layer, page, stream);
        if (!at) continue;
        const uint8_t* const data = kv::ReadPage(at, bytes, copy).value();
        all.insert(all.end(), data, data + bytes);
      }
    }
  }
  return all;
}

class ForwardGpuTest : public testing::Test {
 protected:
  // Opened once: the self-check takes seconds.
  static void SetUpTestSuite() { opened_ = std::make_unique<Opened>(); }
  static void TearDownTestSuite() { opened_.reset(); }

  void SetUp() override {
    if (!opened_->gpu.ok())
      GTEST_SKIP() << "no GPU to test with: " << opened_->gpu.error().message();
  }

  compute::Backend& cpu() { return opened_->cpu; }
  compute::Backend& gpu() { return (*opened_->gpu)->backend(); }

  // Both back ends compute the tokens in these chunks: logits and pages must be equal.
  void ExpectEqual(const ModelFile& model, const Shape& shape, const MemoryOptions& memory,
                   std::span<const size_t> chunks) {
    size_t count = 0;
    for (const size_t chunk : chunks) count += chunk;
    const auto tokens = RandomTokens(count, shape.vocab_size);
    BackendRunner processor(model.files(), shape, cpu(), memory);
    BackendRunner device(model.files(), shape, gpu(), memory);
    kv::PageTable a = processor.NewTable(), b = device.NewTable();
    const auto want = processor.Logits(a, tokens, chunks);
    const auto got = device.Logits(b, tokens, chunks);
    ASSERT_EQ(want.size(), got.size());
    EXPECT_EQ(std::memcmp(want.data(), got.data(), want.size() * sizeof(float)), 0);
    EXPECT_EQ(PageBytes(a), PageBytes(b));
  }

  // The same for two sequences.
  void ExpectEqualTogether(const Shape& shape) {
    SCOPED_TRACE(ArchName(shape.arch));
    const ModelFile model(shape, gguf::TensorType::kQ8_0);
    const auto tokens = RandomTokens(150, shape.vocab_size);
    const auto others = RandomTokens(60, shape.vocab_size, 8);
    const auto run = [&](compute::Backend& backend) {
      BackendRunner runner(model.files(), shape, backend, Narrowed({}, shape));
      kv::PageTable first = runner.NewTable();
      constexpr size_t kWhole[] = {125};
      std::vector<float> logits = runner.Logits(first, tokens, kWhole);
      kv::PageTable second = first.Fork();
      second.Truncate(119);
      const Segment segments[] = {
          {.table = &second, .tokens = others, .wanted = Wanted::kAll},
          {.table = &first, .tokens = std::span(tokens).subspan(125, 7), .wanted = Wanted::kAll}};
      const Output output = runner.Run(segments).value();
      logits.insert(logits.end(), output.logits.begin(), output.logits.end());
      return std::pair(logits, std::pair(PageBytes(first), PageBytes(second)));
    };
    EXPECT_EQ(run(cpu()), run(gpu()));
  }

 private:
  struct Opened {
    ThreadPool pool{1};
    compute::Context host{pool, kernels::FastestIsa()};
    compute::CpuBackend cpu{host};
    Result<std::unique_ptr<vulkan::Gpu>> gpu = vulkan::OpenGpu(
        {.kind = vulkan::GpuChoice::Kind::kIndex, .index = 0}, vulkan::KernelUse::All(), host);
  };

  static inline std::unique_ptr<Opened> opened_;
};

}  // namespace aster::model
