// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/file_slice_source.h"
#include "model/shape/tensors.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/files.h"
#include "gguf/writer.h"
#include "kv/page_store.h"
#include "plan/model_for_test.h"
#include "plan/route_model.h"

namespace aster::stage {
namespace {

std::shared_ptr<const gguf::ModelFiles> Files() {
  // Not owned: the test model lives as long as the program.
  return {std::shared_ptr<void>(), &plan::TestModel::Get().files()};
}

SliceRequest RequestOf(const model::Slice& slice) {
  return {.fingerprint = plan::TestModel::kFingerprint,
          .memory_name = plan::TestModel::kFingerprint,
          .slice = slice,
          .kv_bytes = uint64_t{1} << 20};
}

TEST(FileSliceSource, LoadsASliceWhileOthersCompute) {
  FileSliceSource source({.threads = 1});
  source.Add(plan::TestModel::kFingerprint, Files());
  auto loading = source.Start(RequestOf({1, 3, false, false})).value();
  std::optional<Result<std::unique_ptr<engine::LocalModel>>> taken;
  SystemClock clock;
  const int64_t deadline_ns = clock.NowNs() + 60 * kNsPerSecond;
  while (!(taken = loading->Take()) && clock.NowNs() < deadline_ns) clock.SleepFor(kNsPerMs);
  ASSERT_TRUE(taken && taken->ok());
  const engine::LocalModel& model = ***taken;
  EXPECT_EQ(model.slice(), (model::Slice{1, 3, false, false}));
  EXPECT_EQ(loading->progress().done_bytes, loading->progress().total_bytes);
  // All machines use the same names for its pages.
  engine::LocalModelOptions options;
  options.name = plan::TestModel::kFingerprint;
  EXPECT_EQ(model.layout().digest(),
            plan::TestModel::Get().Make({0, 1, true, false}, options)->layout().digest());
}

TEST(FileSliceSource, SaysWhatFits) {
  const model::Slice slice{0, 3, true, false};
  const uint64_t bytes = SliceBytes(*Files(), plan::TestModel::Get().shape(), slice);
  FileSliceSource source({.memory_bytes = bytes + (uint64_t{1} << 20) - 1});
  source.Add(plan::TestModel::kFingerprint, Files());
  const auto refused = source.Start(RequestOf(slice));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kResourceExhausted);
  EXPECT_NE(refused.error().message().find("2 of these 3 layers would fit: layers 0 to 1"),
            std::string::npos)
      << refused.error().message();
  EXPECT_TRUE(source.Start(RequestOf({0, 2, true, false})).ok());
  SliceRequest beside = RequestOf({0, 2, true, false});
  beside.used_bytes = bytes;
  EXPECT_FALSE(source.Start(beside).ok());
}

engine::OpenGpus NoGpus() {
  return [](const vulkan::KernelUse&, compute::Context&) -> Result<engine::Gpus> {
    return NotFound("none");
  };
}

// The room of the requested layers with these options; without open_gpus there is no GPU.
SliceRoom RoomWith(FileSliceOptions options, SliceRequest request) {
  if (!options.open_gpus) options.open_gpus = NoGpus();
  return FindRoom(*Files(), request, options).value();
}

TEST(FindRoom, WhatGpusHoldTakesNoMainMemory) {
  const model::Slice whole{0, plan::kTestLayers, true, true};
  const model::Shape& shape = plan::TestModel::Get().shape();
  SliceRequest request = RequestOf(whole);
  const uint64_t kv = request.kv_bytes;
  const SliceRoom plain = RoomWith({}, request);
  EXPECT_EQ(plain.main_bytes, SliceBytes(*Files(), shape, whole) + kv);
  EXPECT_EQ(plain.gpu_bytes, 0u);
  // If the GPU's memory is unknown, the given number of layers counts.
  const SliceRoom three = RoomWith({.gpu_layers = {3}}, request);
  EXPECT_EQ(three.main_bytes, SliceBytes(*Files(), shape, {0, 1, true, false}) + kv / 4);
  EXPECT_EQ(three.main_bytes + three.gpu_bytes, plain.main_bytes);
  // A node that has lost its GPU has the processor only.
  request.may_use_gpu = false;
  EXPECT_EQ(RoomWith({.gpu_layers = {3}}, request).gpu_bytes, 0u);
  request.may_use_gpu = true;
  // In a group only the node's part of these layers counts.
  SliceRequest other = request;
  other.slice.part = {.count = 2, .shares = {1, 1}};
  EXPECT_EQ(RoomWith({.gpu_layers = {3}}, other).main_bytes,
            SliceBytes(*Files(), shape, {0, 1, true, false, other.slice.part}) + kv / 4);
  // As many layers as fit into the known memory beside other slices.
  const uint64_t reserve = uint64_t{1} << 30;
  const FileSliceOptions automatic{.gpu_layers = {std::nullopt},
                                   .gpu_bytes = std::vector<uint64_t>{reserve}};
  EXPECT_EQ(RoomWith(automatic, request).main_bytes,
            SliceBytes(*Files(), shape, {0, 0, true, false}));
  request.used_gpu_bytes = reserve;
  EXPECT_EQ(RoomWith(automatic, request).gpu_bytes, 0u);
}

TEST(FindRoom, AGpuLetsALargerSliceIn) {
  const model::Slice whole{0, plan::kTestLayers, true, true};
  const model::Shape& shape = plan::TestModel::Get().shape();
  SliceRequest request = RequestOf(whole);
  FileSliceOptions options{.open_gpus = NoGpus()};
  options.memory_bytes = SliceBytes(*Files(), shape, {0, 2, true, false}) + request.kv_bytes / 2;
  EXPECT_FALSE(FindRoom(*Files(), request, options).ok());
  options.gpu_layers = {2};
  EXPECT_TRUE(FindRoom(*Files(), request, options).ok());
  options.memory_bytes -= 1;
  const auto refused = FindRoom(*Files(), request, options);
  EXPECT_EQ(refused.error().code(), Code::kResourceExhausted);
  EXPECT_NE(refused.error().message().find(", beside 2 layers in GPU memory; "), std::string::npos)
      << refused.error().message();
}

// A slice with the last layers keeps the head: the one that fits begins later, but ends with it.
TEST(FileSliceSource, SaysWhatFitsBesideTheHead) {
  const model::Slice fitting{2, plan::kTestLayers, false, true};
  const uint64_t bytes = SliceBytes(*Files(), plan::TestModel::Get().shape(), fitting);
  FileSliceSource source({.threads = 1, .memory_bytes = bytes + (uint64_t{1} << 20)});
  source.Add(plan::TestModel::kFingerprint, Files());
  const auto refused = source.Start(RequestOf({1, plan::kTestLayers, false, true}));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(
      refused.error().message().find("2 of these 3 layers would fit: layers 2 to 3 and the head"),
      std::string::npos)
      << refused.error().message();
  EXPECT_TRUE(source.Start(RequestOf(fitting)).ok());
}

TEST(FileSliceSource, SaysThatNothingFits) {
  FileSliceSource source({.memory_bytes = uint64_t{1} << 20});
  source.Add(plan::TestModel::kFingerprint, Files());
  const auto refused = source.Start(RequestOf({0, plan::kTestLayers, true, true}));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("none of these 4 layers would fit"), std::string::npos)
      << refused.error().message();
}

// Writes a file with only the tensors of one slice, as for a node with a small disk.
void WriteSlice(const model::Slice& slice, const std::string& path) {
  const gguf::ModelFiles& whole = *Files();
  std::vector<gguf::TensorSpec> specs;
  for (const model::TensorSpec& spec : model::TensorsOf(plan::TestModel::Get().shape())) {
    if (!slice.Needs(plan::TestModel::Get().shape(), spec)) continue;
    specs.push_back(gguf::TensorSpec::Like(*whole.FindTensor(spec.name)));
  }
  gguf::MetadataBuilder metadata;
  metadata.CopyAll(whole.metadata());
  auto writer = gguf::Writer::Create(path, metadata, specs).value();
  for (const gguf::TensorSpec& spec : specs) {
    ASSERT_TRUE(writer.Append(spec.name, whole.FindTensor(spec.name)->data).ok());
  }
  ASSERT_TRUE(writer.Finish().ok());
}

TEST(FileSliceSource, AFileNeedsOnlyTheTensorsOfItsSlice) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  const std::string path = folder.File("slice.gguf");
  WriteSlice({1, 3, false, false}, path);
  FileSliceSource source({.threads = 1});
  source.Add(plan::TestModel::kFingerprint,
             std::make_shared<gguf::ModelFiles>(gguf::ModelFiles::Open(path).value()));
  auto loading = source.Start(RequestOf({1, 3, false, false}));
  ASSERT_TRUE(loading.ok()) << loading.error().message();
  std::optional<Result<std::unique_ptr<engine::LocalModel>>> taken;
  SystemClock clock;
  const int64_t deadline_ns = clock.NowNs() + 60 * kNsPerSecond;
  while (!(taken = (*loading)->Take()) && clock.NowNs() < deadline_ns) clock.SleepFor(kNsPerMs);
  ASSERT_TRUE(taken && taken->ok());
  // The file has neither another layer nor the head.
  const auto more = source.Start(RequestOf({1, plan::kTestLayers, false, true}));
  ASSERT_FALSE(more.ok());
  EXPECT_NE(more.error().message().find("blk.3."), std::string::npos) << more.error().message();
}

// Counts the pages that it gets.
class CountingStore final : public kv::PageStore {
 public:
  bool Contains(const kv::PageKey&, const kv::Columns&) override { return false; }
  bool Load(const Hash128&, const kv::Columns&, std::span<const kv::StoredPage>) override {
    return false;
  }
  bool Keep(const kv::PageSet& set) override {
    kept += set.pages.size();
    return true;
  }

  size_t kept = 0;
};

TEST(FileSliceSource, RowsThatTravelledInexactlyAreNotKeptBelowMemory) {
  const auto store = std::make_shared<CountingStore>();
  FileSliceSource source({.threads = 1, .page_store = store});
  source.Add(plan::TestModel::kFingerprint, Files());
  const std::vector<int32_t> tokens = model::RandomTokens(300, 298);
  SystemClock clock;
  for (const auto encoding : {wire::RowEncoding::kQ8, wire::RowEncoding::kF32}) {
    SliceRequest request = RequestOf({0, 1, true, false});
    request.kv_bytes = uint64_t{1} << 24;
    request.memory_name = plan::MemoryName(plan::TestModel::kFingerprint, wire::RowEncoding::kF32,
                                           encoding, /*stages=*/{});
    auto loading = source.Start(request).value();
    std::optional<Result<std::unique_ptr<engine::LocalModel>>> taken;
    const int64_t deadline_ns = clock.NowNs() + 60 * kNsPerSecond;
    while (!(taken = loading->Take()) && clock.NowNs() < deadline_ns) clock.SleepFor(kNsPerMs);
    ASSERT_TRUE(taken && taken->ok());
    kv::PageTable table = (**taken)->NewTable();
    const std::vector<model::Segment> segments = {{.table = &table, .tokens = tokens}};
    ASSERT_TRUE((**taken)->Run(segments).ok());
    EXPECT_EQ(store->kept > 0, encoding == wire::RowEncoding::kF32);
  }
}

TEST(FileSliceSource, RefusesWhatItDoesNotHave) {
  FileSliceSource source;
  EXPECT_NE(source.Start(RequestOf({0, 1, true, false})).error().message().find("there are: none"),
            std::string::npos);
  source.Add(plan::TestModel::kFingerprint, Files());
  EXPECT_FALSE(source.Start(RequestOf({0, plan::kTestLayers + 1, true, true})).ok());
  SliceRequest other = RequestOf({0, 1, true, false});
  other.fingerprint.low ^= 1;
  EXPECT_EQ(source.Start(other).error().code(), Code::kNotFound);
  EXPECT_NE(source.Start(other).error().message().find("there are: model ("), std::string::npos)
      << source.Start(other).error().message();
}

}  // namespace
}  // namespace aster::stage
