// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "gguf/block_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "gguf/model_files.h"
#include "gguf/model_for_test.h"

namespace aster::gguf {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kBlock = "blk.6.";  // after kTestLayers

MetadataBuilder KeysOfCompanion() {
  MetadataBuilder keys = TestKeys();
  keys.Set("llama.block_count", kTestLayers + 1);
  keys.Set("llama.nextn_predict_layers", uint32_t{1});
  return keys;
}

MetadataBuilder KeysOfApart() {
  MetadataBuilder keys;
  keys.Set("general.architecture", "support");
  keys.Set("general.name", "block");
  keys.Set("llama.nextn_predict_layers", uint32_t{1});
  keys.Set("llama.expert_count", uint64_t{8});
  return keys;
}

std::vector<TensorSpec> Block() {
  return {TestTensor(kBlock + "attn_q.weight"), TestTensor(kBlock + "nextn.enorm.weight")};
}

// The block with copies of the model's tensors, of other types.
std::vector<TensorSpec> Companion() {
  auto specs = With(With(Block(), "output_hc_fn.weight"), "output_norm.weight");
  specs.push_back({"token_embd.weight", TensorType::kF16, {8, 2}});
  return specs;
}

class BlockFile : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const MetadataBuilder& keys,
                    const std::vector<TensorSpec>& specs) {
    WriteTestFile(folder_.File(name), keys, specs);
    return folder_.File(name);
  }
  std::string Main() {
    return Write("main.gguf", TestKeys(), With(TestModel(), "output_hc_fn.weight"));
  }

 private:
  TemporaryDirectory folder_ = TemporaryDirectory::Create().value();
};

TEST_F(BlockFile, ItsKeysAreNotTheModels) {
  const std::string main = Main();
  const std::string apart = Write("apart.gguf", KeysOfApart(), {TestTensor("mtp.0.enorm.weight")});
  for (const auto& paths : {std::vector{main, apart}, std::vector{apart, main}}) {
    const auto model = ModelFiles::Open(paths);
    ASSERT_TRUE(model.ok()) << model.error().message();
    EXPECT_EQ(*model->metadata().Get<std::string>("general.architecture"), "llama");
    EXPECT_EQ(*model->metadata().Get<std::string>("general.name"), "test");
    EXPECT_FALSE(model->metadata().Contains("llama.nextn_predict_layers"));
    EXPECT_NE(model->FindTensor("mtp.0.enorm.weight"), nullptr);
    EXPECT_THAT(*model->MissingParts(), IsEmpty());
  }
  // A file that also has something else is a slice, whose keys count.
  const std::string slice = Write("slice.gguf", KeysOfApart(),
                                  {TestTensor("mtp.0.enorm.weight"), TestTensor("blk.0.x.weight")});
  EXPECT_FALSE(ModelFiles::Open({main, slice}).ok());
  EXPECT_EQ(*ModelFiles::Open(apart)->metadata().Get<std::string>("general.architecture"),
            "support");
}

TEST_F(BlockFile, OfAnotherModelItIsRefused) {
  MetadataBuilder keys = TestKeys();
  keys.Set("llama.expert_count", uint32_t{7});
  const auto model =
      ModelFiles::Open({Write("main.gguf", keys, TestModel()),
                        Write("apart.gguf", KeysOfApart(), {TestTensor("mtp.0.enorm.weight")})});
  ASSERT_FALSE(model.ok());
  EXPECT_THAT(model.error().message(), HasSubstr("llama.expert_count is 8 in it, and 7"));
}

TEST_F(BlockFile, ACompanionGivesItsBlockAlone) {
  const std::string main = Main();
  const std::string companion = Write("companion.gguf", KeysOfCompanion(), Companion());
  for (const auto& paths : {std::vector{main, companion}, std::vector{companion, main}}) {
    const auto model = ModelFiles::Open(paths);
    ASSERT_TRUE(model.ok()) << model.error().message();
    EXPECT_EQ(*model->metadata().Get<uint32_t>("llama.block_count"), kTestLayers);
    EXPECT_EQ(model->entries().size(), TestModel().size() + 1 + 3);
    EXPECT_THAT(model->repeated(), IsEmpty());
    const size_t its_index = paths[0] == companion ? 0 : 1;
    EXPECT_NE(model->FindEntry("output_hc_fn.weight")->file_index, its_index);
    EXPECT_EQ(model->FindTensor("token_embd.weight")->type, TensorType::kF32);
    const auto* own = model->FindEntry(kBlock + "nextn.hc_head_fn.weight");
    ASSERT_NE(own, nullptr);
    EXPECT_EQ(own->file_index, its_index);
    EXPECT_EQ(model->files()[its_index].FindTensor("output_hc_fn.weight"), nullptr);
    EXPECT_EQ(model->files()[its_index].FindTensor(kBlock + "nextn.hc_head_fn.weight"),
              own->tensor);
  }
  EXPECT_NE(ModelFiles::Open(companion)->FindTensor("output_hc_fn.weight"), nullptr);
}

// A node may have only some tensors of each file, or none.
TEST_F(BlockFile, IsTheSameWhereverOnlySomeOfItIs) {
  const std::string paths[] = {Main(), Write("companion.gguf", KeysOfCompanion(), Companion())};
  for (const std::string_view wanted : {"blk.0.", "output", "none"}) {
    std::vector<File> parts;
    for (const std::string& path : paths) {
      const File whole = File::Open(path).value();
      const auto is_there = [&](size_t i) { return whole.tensors()[i].name.starts_with(wanted); };
      const std::vector<uint8_t> head(whole.head().begin(), whole.head().end());
      parts.push_back(File::OpenPartial(head, path, is_there).value());
    }
    const auto model = ModelFiles::Join(std::move(parts));
    ASSERT_TRUE(model.ok()) << model.error().message();
    EXPECT_EQ(*model->metadata().Get<uint32_t>("llama.block_count"), kTestLayers);
    const auto* own = model->FindEntry(kBlock + "nextn.hc_head_fn.weight");
    EXPECT_EQ(own != nullptr, wanted == "output");
  }
}

TEST_F(BlockFile, ASliceThatEndsWithTheBlockIsASlice) {
  MetadataBuilder keys = KeysOfCompanion();
  const std::string low = Write("low.gguf", keys, With(TestLayers(0, 6), "token_embd.weight"));
  const std::string high =
      Write("high.gguf", keys, With(With(Block(), "output_hc_fn.weight"), "output_norm.weight"));
  const auto model = ModelFiles::Open({low, high});
  ASSERT_TRUE(model.ok()) << model.error().message();
  EXPECT_NE(model->FindTensor("output_hc_fn.weight"), nullptr);
  EXPECT_EQ(model->FindTensor(kBlock + "nextn.hc_head_fn.weight"), nullptr);
  EXPECT_THAT(*model->MissingParts(), IsEmpty());
}

TEST_F(BlockFile, CopiesAreCompared) {
  const auto specs = With(TestLayers(0, 3), "token_embd.weight");
  const std::string low = Write("low.gguf", TestKeys(), specs);
  const auto rest = With(With(TestLayers(3, 6), "output_norm.weight"), "token_embd.weight");
  const std::string same = Write("same.gguf", TestKeys(), rest);
  EXPECT_TRUE(ModelFiles::Open({low, same})->CompareCopies().ok());

  const std::string path = low + ".other";
  auto writer = Writer::Create(path, TestKeys(), rest);
  ASSERT_TRUE(writer.ok());
  for (const TensorSpec& spec : rest) {
    auto data = TestData(spec);
    if (spec.name == "token_embd.weight") data.back() ^= 1;
    ASSERT_TRUE(writer->Append(spec.name, data).ok());
  }
  ASSERT_TRUE(writer->Finish().ok());
  const Status compared = ModelFiles::Open({low, path})->CompareCopies();
  ASSERT_FALSE(compared.ok());
  EXPECT_THAT(compared.error().message(), HasSubstr("token_embd.weight differs in its content"));
  EXPECT_THAT(compared.error().message(), Not(HasSubstr("blk.")));
}

}  // namespace
}  // namespace aster::gguf
