// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/synth/synth.h"
#include "model/shape/tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/files.h"
#include "base/hash.h"
#include "base/sanitized.h"
#include "gguf/model_files.h"
#include "gguf/writer.h"
#include "model/files/support.h"
#include "model/forward/runner_for_test.h"
#include "model/shape/write_metadata.h"
#include "model/synth/presets.h"
#include "model/synth/synth_vocab.h"
#include "quant/dequantize.h"

namespace aster::model {
namespace {

SynthOptions Options(Shape shape, gguf::TensorType type) {
  return {.shape = shape, .name = "test", .choose_type = [type](const TensorSpec& spec) {
            return spec.is_matrix ? type : gguf::TensorType::kF32;
          }};
}

Hash128 HashOfFile(const std::string& path) { return Hash128Of(MappedFile::Open(path)->bytes()); }

// Presets with every feature of the architecture, or the small one that all others share.
std::vector<Shape> TinyShapes(Arch arch) {
  std::vector<Shape> shapes;
  for (const Preset& preset : Presets()) {
    if (preset.shape.arch == arch && preset.name.ends_with("-tiny")) shapes.push_back(preset.shape);
  }
  if (!shapes.empty()) return shapes;
  Shape shape = ShapeOfPreset("tiny").value();
  shape.arch = arch;
  shape.rope_factors = arch == Arch::kLlama;
  if (HasExperts(arch)) shape.experts = {.count = 4, .used = 2, .feed_forward = 256};
  return {shape};
}

class Synth : public testing::Test {
 protected:
  std::string Write(const SynthOptions& options, const std::string& name, size_t threads = 1) {
    ThreadPool pool(threads);
    const std::string path = folder_.File(name);
    const Status status = WriteSyntheticModel(options, path, pool, nullptr);
    EXPECT_TRUE(status.ok()) << status.error().message();
    return path;
  }

  TemporaryDirectory folder_ = TemporaryDirectory::Create().value();
};

TEST_F(Synth, TheSameFileWithAnyNumberOfThreads) {
  const SynthOptions options = Options(ShapeOfPreset("tiny").value(), gguf::TensorType::kQ4_0);
  const Hash128 one = HashOfFile(Write(options, "one.gguf", 1));
  EXPECT_EQ(one, HashOfFile(Write(options, "three.gguf", 3)));
  SynthOptions other = options;
  other.seed = 2;
  EXPECT_NE(one, HashOfFile(Write(other, "other.gguf")));
}

// Otherwise tests of every architecture would miss a new one after the last.
TEST(EveryArch, HasAllThatHaveNames) {
  std::string names;
  for (const Arch arch : EveryArch()) {
    if (!names.empty()) names += ", ";
    names += ArchName(arch);
  }
  EXPECT_EQ(names, KnownArchs());
}

TEST_F(Synth, EveryArchitectureCanRun) {
  for (const Arch arch : EveryArch()) {
    for (const Shape& shape : TinyShapes(arch)) {
      const std::string path = Write(Options(shape, gguf::TensorType::kQ8_0), "model.gguf");
      const auto files = gguf::ModelFiles::Open(path);
      ASSERT_TRUE(files.ok()) << files.error().message();
      const Support support = CheckSupport(*files);
      EXPECT_TRUE(support.ok()) << ArchName(arch) << ": " << support.obstacles.front();
      EXPECT_EQ(support.shape->layer_count, shape.layer_count);
      EXPECT_EQ(support.shape->mtp_layers, shape.mtp_layers);
    }
  }
}

TEST_F(Synth, WeightsSpreadAsTheirTensorWants) {
  const std::string path =
      Write(Options(ShapeOfPreset("tiny").value(), gguf::TensorType::kF32), "model.gguf");
  const auto files = gguf::ModelFiles::Open(path);
  ASSERT_TRUE(files.ok());
  const gguf::Tensor* tensor = files->FindTensor("blk.1.ffn_down.weight");
  ASSERT_NE(tensor, nullptr);
  double sum = 0, squares = 0;
  for (size_t i = 0; i < tensor->element_count; ++i) {
    const double weight = LoadUnaligned<float>(tensor->data.data() + i * sizeof(float));
    sum += weight;
    squares += weight * weight;
  }
  const double count = static_cast<double>(tensor->element_count);
  EXPECT_NEAR(sum / count, 0.0, 0.001);
  EXPECT_NEAR(std::sqrt(squares / count), 1 / std::sqrt(768.0), 0.001);
}

TEST_F(Synth, AShapeThatCannotBeLeavesNoFile) {
  Shape shape = ShapeOfPreset("tiny").value();
  shape.kv_head_count = 3;
  ThreadPool pool(1);
  const std::string path = folder_.File("model.gguf");
  EXPECT_FALSE(
      WriteSyntheticModel(Options(shape, gguf::TensorType::kF32), path, pool, nullptr).ok());
  shape = ShapeOfPreset("tiny").value();
  shape.feed_forward = 700;  // not a whole number of blocks
  EXPECT_FALSE(
      WriteSyntheticModel(Options(shape, gguf::TensorType::kQ4_K), path, pool, nullptr).ok());
  EXPECT_FALSE(IdentifyFile(path).ok());
}

// Writes another type of the same size into the tensor's description, after its name, its number of
// dimensions and its two dimensions.
void ChangeType(const std::string& path, std::string_view tensor, gguf::TensorType type) {
  std::string content = ReadFile(path, size_t{64} << 20).value();
  const size_t name = content.find(tensor);
  ASSERT_NE(name, std::string::npos);
  content[name + tensor.size() + 4 + 2 * 8] = static_cast<char>(type);
  ASSERT_TRUE(WriteFileAtomically(path, AsBytes(content)).ok());
}

TEST(Support, NamesATypeThatHasNoKernels) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  const std::string path = folder.File("model.gguf");
  ThreadPool pool(1);
  SynthOptions options = Options(ShapeOfPreset("tiny").value(), gguf::TensorType::kQ4_0);
  ASSERT_TRUE(WriteSyntheticModel(options, path, pool, nullptr).ok());
  ASSERT_NO_FATAL_FAILURE(ChangeType(path, "blk.0.ffn_up.weight", gguf::TensorType::kQ4_0_4_4));
  const Support support = CheckSupport(gguf::ModelFiles::Open(path).value());
  ASSERT_EQ(support.obstacles.size(), 1u);
  EXPECT_NE(support.obstacles.front().find("1 tensors are Q4_0_4_4"), std::string::npos)
      << support.obstacles.front();
}

TEST(Support, GptOssInMxfp4CanRunAndHasAHeadOfItsOwn) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  const std::string path = folder.File("model.gguf");
  ThreadPool pool(1);
  Shape shape = ShapeOfPreset("gpt-oss-tiny").value();
  SynthOptions options = Options(shape, gguf::TensorType::kMXFP4);
  ASSERT_TRUE(WriteSyntheticModel(options, path, pool, nullptr).ok());
  const auto files = gguf::ModelFiles::Open(path);
  ASSERT_TRUE(files.ok());
  EXPECT_TRUE(CheckSupport(*files).ok());
  shape.tied_head = true;
  EXPECT_FALSE(CheckShape(shape).ok());
}

// Writes a file with these tensors, all zeros.
void WriteZeros(const std::string& path, const Shape& shape,
                const std::vector<gguf::TensorSpec>& tensors) {
  gguf::MetadataBuilder metadata;
  WriteShape(shape, metadata);
  gguf::Writer writer = gguf::Writer::Create(path, metadata, tensors).value();
  for (const gguf::TensorSpec& tensor : tensors) {
    const std::vector<uint8_t> zeros(gguf::TensorBytes(tensor.type, tensor.dims).value());
    ASSERT_TRUE(writer.Append(tensor.name, zeros).ok());
  }
  ASSERT_TRUE(writer.Finish().ok());
}

std::vector<gguf::TensorSpec> FloatsOf(const Shape& shape) {
  std::vector<gguf::TensorSpec> tensors;
  for (const TensorSpec& spec : TensorsOf(shape))
    tensors.push_back({spec.name, gguf::TensorType::kF32, spec.dims});
  return tensors;
}

// As in published files that have only some of its tensors.
TEST(Support, AnMtpBlockThatIsNotWholeIsLeftOut) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  const std::string path = folder.File("model.gguf");
  Shape shape = ShapeOfPreset("glm-tiny").value();
  shape.mtp_layers = 0;
  shape.left_out = 1;
  std::vector<gguf::TensorSpec> tensors = FloatsOf(shape);
  for (const char* name : {"blk.4.nextn.eh_proj.weight", "blk.4.attn_norm.weight"})
    tensors.push_back({name, gguf::TensorType::kF32, {4}});
  ASSERT_NO_FATAL_FAILURE(WriteZeros(path, shape, tensors));
  const Support support = CheckSupport(gguf::ModelFiles::Open(path).value());
  ASSERT_TRUE(support.ok()) << support.obstacles.front();
  EXPECT_TRUE(support.shape->head_norms);
  EXPECT_EQ(support.shape->layer_count, 4u);
  EXPECT_EQ(support.shape->mtp_layers, 0u);
  tensors.push_back({"blk.5.nextn.enorm.weight", gguf::TensorType::kF32, {4}});
  ASSERT_NO_FATAL_FAILURE(WriteZeros(path, shape, tensors));
  EXPECT_FALSE(CheckSupport(gguf::ModelFiles::Open(path).value()).ok());
}

// As in published files of MiMo V2, which have three.
TEST(Support, OfSeveralMtpBlocksTheFirstDrafts) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  const std::string path = folder.File("model.gguf");
  Shape shape = ShapeOfPreset("mimo2-tiny").value();
  shape.left_out = 2;
  std::vector<gguf::TensorSpec> tensors = FloatsOf(shape);
  for (const char* name : {"blk.7.nextn.eh_proj.weight", "blk.8.layer_output_norm.weight"})
    tensors.push_back({name, gguf::TensorType::kF32, {4}});
  ASSERT_NO_FATAL_FAILURE(WriteZeros(path, shape, tensors));
  const Support support = CheckSupport(gguf::ModelFiles::Open(path).value());
  ASSERT_TRUE(support.ok()) << support.obstacles.front();
  EXPECT_EQ(support.shape->layer_count, 6u);
  EXPECT_EQ(support.shape->mtp_layers, 1u);
  EXPECT_EQ(support.shape->left_out, 2u);
}

// As in published files of GLM 5.2, which have an index in every layer.
TEST(Support, AnIndexWhereNoneIsUsedIsNotRead) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  const std::string path = folder.File("model.gguf");
  const Shape shape = ShapeOfPreset("glm-5.2-tiny").value();
  ASSERT_FALSE(shape.has_index(3));
  std::vector<gguf::TensorSpec> tensors = FloatsOf(shape);
  for (const char* name : {"blk.3.indexer.proj.weight", "blk.7.indexer.k_norm.bias",
                           "blk.7.nextn.shared_head_head.weight"})
    tensors.push_back({name, gguf::TensorType::kF32, {4}});
  ASSERT_NO_FATAL_FAILURE(WriteZeros(path, shape, tensors));
  const Support support = CheckSupport(gguf::ModelFiles::Open(path).value());
  ASSERT_TRUE(support.ok()) << support.obstacles.front();
  EXPECT_EQ(support.shape->mtp_layers, 1u);
  tensors.push_back({"blk.3.nextn.embed_tokens.weight", gguf::TensorType::kF32, {4}});
  ASSERT_NO_FATAL_FAILURE(WriteZeros(path, shape, tensors));
  EXPECT_FALSE(CheckSupport(gguf::ModelFiles::Open(path).value()).ok());
}

// DeepSeek V3.2, with and without the tensors that its converters add to a DeepSeek V3.
TEST(Support, AnIndexIsNeededWhereTheArchitectureSaysSo) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  const std::string path = folder.File("model.gguf");
  Shape shape = ShapeOfPreset("deepseek32-tiny").value();
  std::vector<gguf::TensorSpec> tensors = FloatsOf(shape);
  const auto obstacles = [&] {
    WriteZeros(path, shape, tensors);
    return CheckSupport(gguf::ModelFiles::Open(path).value()).obstacles;
  };
  EXPECT_THAT(obstacles(), testing::IsEmpty());
  shape.arch = Arch::kDeepSeek2;
  shape.index = {};
  EXPECT_THAT(obstacles(),
              testing::Contains(testing::HasSubstr("indexer.attn_k.weight has no place")));
  std::erase_if(tensors, [](const auto& tensor) {
    return tensor.name.find(".indexer.") != std::string::npos;
  });
  EXPECT_THAT(obstacles(), testing::IsEmpty());
  shape = ShapeOfPreset("deepseek32-tiny").value();
  EXPECT_THAT(obstacles(),
              testing::Contains(testing::HasSubstr("indexer.proj.weight [256, 8] is missing")));
}

TEST(Support, Gemma3WithTensorsOfAnotherKindIsRefusedByName) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  const std::string path = folder.File("model.gguf");
  ThreadPool pool(1);
  const Shape shape = ShapeOfPreset("gemma3-tiny").value();
  ASSERT_TRUE(
      WriteSyntheticModel(Options(shape, gguf::TensorType::kQ4_0), path, pool, nullptr).ok());
  const auto files = gguf::ModelFiles::Open(path);
  ASSERT_TRUE(files.ok());
  const Support support = CheckSupport(*files);
  EXPECT_TRUE(support.ok());
  EXPECT_TRUE(support.shape->tied_head);
  EXPECT_NE(files->FindTensor("blk.0.post_ffw_norm.weight"), nullptr);
  EXPECT_NE(files->FindTensor("blk.0.post_attention_norm.weight"), nullptr);
  Shape factors = shape;
  factors.rope_factors = true;
  ASSERT_TRUE(
      WriteSyntheticModel(Options(factors, gguf::TensorType::kQ4_0), path, pool, nullptr).ok());
  const auto other = gguf::ModelFiles::Open(path);
  ASSERT_TRUE(other.ok());
  const Support refused = CheckSupport(*other);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.obstacles.front().find("rope_freqs.weight"), std::string::npos);
}

// A Phi 3 for long texts has two tables of factors; without them its RoPE is unknown.
TEST(Support, APhi3ForLongTextsNeedsItsFactors) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  const std::string path = folder.File("model.gguf");
  ThreadPool pool(1);
  const auto support_of = [&](const Shape& shape) {
    EXPECT_TRUE(
        WriteSyntheticModel(Options(shape, gguf::TensorType::kQ8_0), path, pool, nullptr).ok());
    return CheckSupport(gguf::ModelFiles::Open(path).value());
  };
  Shape shape = ShapeOfPreset("phi4-mini-tiny").value();
  EXPECT_TRUE(support_of(shape).ok());
  shape.rope_factors = false;
  const Support without = support_of(shape);
  ASSERT_FALSE(without.ok());
  EXPECT_NE(without.obstacles.front().find("rope_factors_long.weight"), std::string::npos);
  shape.context_length = shape.rope.original_context;
  const Support short_texts = support_of(shape);
  EXPECT_TRUE(short_texts.ok());
  EXPECT_FALSE(short_texts.shape->rope_factors);
}

TEST(SynthVocab, HasTheSizeAskedForAndNoTokenTwice) {
  for (const uint32_t size :
       {kMinSynthVocab, 300u, 1024u, 5000u, 32000u, 151936u, kMaxSynthVocab}) {
    if (kSanitized && size > 32000) break;
    const auto vocab = MakeSynthVocab(size);
    ASSERT_TRUE(vocab.ok()) << size;
    EXPECT_EQ(vocab->tokens.size(), size);
    EXPECT_EQ(vocab->types.size(), size);
    EXPECT_EQ(vocab->merges.size(), size - kMinSynthVocab);
    EXPECT_EQ(std::set(vocab->tokens.begin(), vocab->tokens.end()).size(), size);
  }
  EXPECT_FALSE(MakeSynthVocab(kMinSynthVocab - 1).ok());
  EXPECT_FALSE(MakeSynthVocab(kMaxSynthVocab + 1).ok());
}

}  // namespace
}  // namespace aster::model
