// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "gguf/model_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "gguf/model_for_test.h"
#include "gguf/split_name.h"
#include "gguf/split_writer.h"
#include "gguf/writer.h"

namespace aster::gguf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> WriteSplit(const std::string& prefix, uint64_t max_bytes) {
  auto writer = SplitWriter::Create(prefix, TestKeys(), TestModel(), max_bytes);
  EXPECT_TRUE(writer.ok()) << writer.error().message();
  Fill(*writer, TestModel());
  return writer->paths();
}

std::string ErrorOf(const std::vector<std::string>& paths) {
  const auto model = ModelFiles::Open(paths);
  return model.ok() ? "no error" : model.error().message();
}

TEST(ModelFiles, OneFileIsAModel) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  WriteTestFile(folder.File("m.gguf"), TestKeys(), TestModel());
  const auto model = ModelFiles::Open(folder.File("m.gguf"));
  ASSERT_TRUE(model.ok()) << model.error().message();
  EXPECT_EQ(model->entries().size(), TestModel().size());
  EXPECT_EQ(*model->metadata().Get<std::string>("general.name"), "test");
  EXPECT_NE(model->FindTensor("blk.5.ffn_up.weight"), nullptr);
  EXPECT_EQ(model->FindTensor("blk.6.ffn_up.weight"), nullptr);
  EXPECT_THAT(*model->MissingParts(), IsEmpty());
}

TEST(ModelFiles, AnyPartFindsTheOthers) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  const auto paths = WriteSplit(folder.File("m"), 200);
  ASSERT_GT(paths.size(), 3u);
  EXPECT_EQ(paths[0], folder.File("m-00001-of-00005.gguf"));
  for (const std::string& path : paths) {
    const auto model = ModelFiles::Open(path);
    ASSERT_TRUE(model.ok()) << model.error().message();
    EXPECT_EQ(model->files().size(), paths.size());
    EXPECT_EQ(model->files()[0].path(), paths[0]);
    EXPECT_EQ(model->entries().size(), TestModel().size());
    EXPECT_EQ(*model->metadata().Get<uint32_t>("llama.block_count"), kTestLayers);
    EXPECT_THAT(*model->MissingParts(), IsEmpty());
  }
  const auto all = ModelFiles::Open(paths);
  ASSERT_TRUE(all.ok()) << all.error().message();
  EXPECT_EQ(all->files().size(), paths.size());
}

TEST(ModelFiles, AMissingPartIsNamed) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  const auto paths = WriteSplit(folder.File("m"), 200);
  std::filesystem::remove(paths[2]);
  const std::string error = ErrorOf({paths[0]});
  EXPECT_THAT(error, HasSubstr(paths[2]));
  EXPECT_THAT(error, HasSubstr("part 3 of 5 of the model is missing"));
}

TEST(ModelFiles, ARenamedPartSaysHowItShouldBeCalled) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  const auto paths = WriteSplit(folder.File("m"), 200);
  std::filesystem::rename(paths[1], folder.File("other.gguf"));
  EXPECT_THAT(ErrorOf({folder.File("other.gguf")}), HasSubstr("NAME-00002-of-00005.gguf"));
}

TEST(ModelFiles, PartsOfDifferentModelsAreNotMixed) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  const auto paths = WriteSplit(folder.File("m"), 200);
  std::filesystem::copy_file(paths[1], paths[2], std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(ErrorOf({paths[0]}), HasSubstr("says that it is part 2 of 5, its name says 3 of 5"));

  // The third part of another split with as many parts, which has one tensor less.
  auto fewer = TestModel();
  fewer.erase(fewer.begin() + 6);
  auto other = SplitWriter::Create(folder.File("n"), TestKeys(), fewer, 200);
  ASSERT_TRUE(other.ok()) << other.error().message();
  Fill(*other, fewer);
  ASSERT_EQ(other->paths().size(), paths.size());
  std::filesystem::rename(other->paths()[4], paths[4]);
  std::filesystem::rename(other->paths()[2], paths[2]);
  EXPECT_THAT(ErrorOf({paths[0]}), HasSubstr("different models"));
}

TEST(ModelFiles, SlicesAreOneModel) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  const auto first = With(TestLayers(0, 4), "token_embd.weight");
  const auto second =
      With(With(TestLayers(4, kTestLayers), "output_norm.weight"), "token_embd.weight");
  auto second_keys = TestKeys();
  second_keys.Set("general.name", "test, second half");
  second_keys.Set("llama.only_here", true);
  WriteTestFile(folder.File("first.gguf"), TestKeys(), first);
  WriteTestFile(folder.File("second.gguf"), second_keys, second);

  const auto half = ModelFiles::Open(folder.File("first.gguf"));
  ASSERT_TRUE(half.ok()) << half.error().message();
  EXPECT_THAT(*half->MissingParts(), ElementsAre("layers 4-5", "output_norm.weight"));

  const auto model = ModelFiles::Open({folder.File("first.gguf"), folder.File("second.gguf")});
  ASSERT_TRUE(model.ok()) << model.error().message();
  EXPECT_THAT(*model->MissingParts(), IsEmpty());
  EXPECT_EQ(model->entries().size(), TestModel().size());
  EXPECT_EQ(model->repeated().size(), 1u);
  EXPECT_EQ(*model->metadata().Get<std::string>("general.name"), "test");
  EXPECT_TRUE(*model->metadata().Get<bool>("llama.only_here"));
  EXPECT_EQ(model->metadata().begin()->key(), "general.architecture");

  const auto twice = ModelFiles::Open({folder.File("first.gguf"), folder.File("first.gguf")});
  ASSERT_TRUE(twice.ok()) << twice.error().message();
  EXPECT_EQ(twice->files().size(), 1u);
}

TEST(ModelFiles, ASliceMayBeSplit) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  const auto first = With(TestLayers(0, 4), "token_embd.weight");
  auto split = SplitWriter::Create(folder.File("first"), TestKeys(), first, 200);
  ASSERT_TRUE(split.ok()) << split.error().message();
  Fill(*split, first);
  WriteTestFile(folder.File("second.gguf"), TestKeys(),
                With(TestLayers(4, kTestLayers), "output_norm.weight"));
  const auto model = ModelFiles::Open({split->paths()[1], folder.File("second.gguf")});
  ASSERT_TRUE(model.ok()) << model.error().message();
  EXPECT_EQ(model->files().size(), split->paths().size() + 1);
  EXPECT_EQ(model->entries().size(), TestModel().size());
  EXPECT_THAT(*model->MissingParts(), IsEmpty());
}

TEST(ModelFiles, SlicesOfDifferentModelsAreNotMixed) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  auto other_keys = TestKeys();
  other_keys.Set("llama.block_count", kTestLayers + 1);
  WriteTestFile(folder.File("a.gguf"), TestKeys(), TestLayers(0, 3));
  WriteTestFile(folder.File("b.gguf"), other_keys, TestLayers(3, 6));
  EXPECT_THAT(ErrorOf({folder.File("a.gguf"), folder.File("b.gguf")}),
              HasSubstr("the key llama.block_count is 6 in one, 7 in the other"));

  auto wider = TestLayers(2, 6);
  wider[0].dims = {8, 3};
  WriteTestFile(folder.File("c.gguf"), TestKeys(), wider);
  EXPECT_THAT(ErrorOf({folder.File("a.gguf"), folder.File("c.gguf")}),
              HasSubstr("blk.2.attn_q.weight is F32 [8, 2] in one, F32 [8, 3] in the other"));
}

TEST(ModelFiles, DraftLayersMayBeElsewhere) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  auto keys = TestKeys();
  keys.Set("llama.block_count", kTestLayers + 1);
  keys.Set("llama.nextn_predict_layers", uint32_t{1});
  WriteTestFile(folder.File("m.gguf"), keys, TestModel());
  EXPECT_THAT(*ModelFiles::Open(folder.File("m.gguf"))->MissingParts(), IsEmpty());
}

TEST(ModelFiles, AbsurdLayerCountsAreRefused) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  auto keys = TestKeys();
  keys.Set("llama.block_count", uint32_t{0xFFFFFFFF});
  WriteTestFile(folder.File("m.gguf"), keys, TestModel());
  EXPECT_FALSE(ModelFiles::Open(folder.File("m.gguf"))->MissingParts().ok());
}

TEST(ModelFiles, NothingGivenIsAnError) { EXPECT_THAT(ErrorOf({}), HasSubstr("no file")); }

TEST(NumberRanges, JoinsNeighbours) {
  EXPECT_EQ(NumberRanges({}), "");
  EXPECT_EQ(NumberRanges(std::vector<uint32_t>{4}), "4");
  EXPECT_EQ(NumberRanges(std::vector<uint32_t>{0, 1, 2, 3, 7, 9, 10}), "0-3, 7, 9-10");
}

TEST(SplitName, ReadsOnlyWhatLooksLikeOne) {
  const auto name = ParseSplitPath("dir/my-model-00002-of-00013.gguf");
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->prefix, "dir/my-model");
  EXPECT_EQ(name->index, 1u);
  EXPECT_EQ(name->count, 13u);
  EXPECT_EQ(SplitPath(name->prefix, name->index, name->count), "dir/my-model-00002-of-00013.gguf");
  for (const char* path :
       {"", ".gguf", "m.gguf", "m-00001-of-00002", "m-00000-of-00002.gguf", "m-00003-of-00002.gguf",
        "m-0001-of-0002.gguf", "m-00001-of-0000x.gguf", "m00001-of-00002.gguf",
        "m--0001-of-00002.gguf", "m-00001-of--0002.gguf"}) {
    EXPECT_FALSE(ParseSplitPath(path).has_value()) << path;
  }
}

}  // namespace
}  // namespace aster::gguf
