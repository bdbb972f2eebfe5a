// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The parts of a group compute the same bits as a machine that computes whole layers.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "kernels/activation_blocks.h"
#include "kernels/activations.h"
#include "kernels/pack.h"
#include "model/drafters/mtp_block.h"
#include "model/forward/group_for_test.h"
#include "model/memory/weight_sizes.h"
#include "model/shape/tensors.h"

namespace aster::model {
namespace {

using gguf::TensorType;

struct Case {
  Arch arch;
  TensorType type;
  std::string_view kind = {};
};

class ForwardGroup : public testing::TestWithParam<Case> {};

// Bytes that parts send in all layers for a token, as plans count them.
uint64_t SentOfLayers(const gguf::ModelFiles& files, const Shape& shape, const GroupPart& group) {
  std::vector<PartRanges> parts;
  for (uint32_t i = 0; i < group.count; ++i) parts.push_back(RangesOf(group.At(i), shape));
  uint64_t bytes = 0;
  for (uint32_t layer = 0; layer < shape.layer_count; ++layer) {
    const LayerGathers gathers = GathersOf(shape, layer, /*owns_experts=*/false);
    bytes += gathers.numbers * sizeof(float);
    for (const LayerGathers::Input& input : gathers.inputs) {
      const gguf::Tensor& read =
          *files.FindTensor(fmt::format("blk.{}.{}.weight", layer, input.product));
      const auto format = kernels::ActivationFormatFor(*kernels::WeightTypeOf(read.type));
      const size_t columns = size_t{(parts.back().*input.range).end} * input.each;
      bytes += AreInSteps(parts, input.range, input.each, kernels::BlockStep(format))
                   ? kernels::BlockBytes(format, input.rows, columns)
                   : input.rows * columns * sizeof(float);
    }
  }
  return bytes;
}

void ExpectTheBitsOfOneMachine(const Case& of, std::span<const GroupPart> groups) {
  const Shape shape = FourHeads(of.arch, of.kind);
  const ModelFile model(shape, of.type);
  const auto batches = Batches(shape);
  const std::vector<float> whole = WholeLogits(model.files(), shape, batches);
  for (const GroupPart& part : groups) {
    Group group(model.files(), shape, part, 2);
    std::vector<float> logits;
    for (const std::vector<Piece>& batch : batches) {
      const std::vector<float> more = group.Run(batch);
      logits.insert(logits.end(), more.begin(), more.end());
    }
    ASSERT_EQ(logits.size(), whole.size());
    EXPECT_EQ(std::memcmp(logits.data(), whole.data(), whole.size() * sizeof(float)), 0)
        << part.count << " parts, " << part.replicas << " replicas";
    if (part.owns_experts) continue;
    const uint64_t rows = batches.back().size();
    EXPECT_EQ(group.sent_bytes(),
              rows * (SentOfLayers(model.files(), shape, part) + 4 * shape.vocab_size))
        << part.count << " parts";
  }
}

TEST_P(ForwardGroup, GivesTheBitsOfOneMachine) {
  const GroupPart groups[] = {PartOf({1, 1}), PartOf({3, 1}), PartOf({1, 2, 1}),
                              PartOf({1, 1, 1, 1})};
  ExpectTheBitsOfOneMachine(GetParam(), groups);
}

// Blocks are sent if each part has whole blocks of the next product's input; floats if a program
// does not know blocks. The bits are the same.
TEST(ForwardGroupBlocks, TravelWhereTheyAreWhole) {
  for (const TensorType type : {TensorType::kQ8_0, TensorType::kQ4_K}) {
    Shape shape = FourHeads(Arch::kLlama);
    shape.head_dim = 256;
    shape.feed_forward = 1024;
    const ModelFile model(shape, type);
    const Piece prompt{0, RandomTokens(21, shape.vocab_size, 1)};
    const std::vector<std::vector<Piece>> batches = {{prompt}};
    const std::vector<float> whole = WholeLogits(model.files(), shape, batches);
    constexpr uint32_t kNone = GroupPart::kMostParts;
    for (const uint32_t older : {kNone, 1u}) {
      Group group(model.files(), shape, PartOf({1, 1, 2}), 1, older);
      const std::vector<float> logits = group.Run({&prompt, 1});
      EXPECT_EQ(std::memcmp(logits.data(), whole.data(), whole.size() * sizeof(float)), 0);
      // Two of a layer's four gathers.
      EXPECT_EQ(group.sent_blocks(), (older == kNone ? 3u : 2u) * 2 * shape.layer_count);
      if (older != kNone) continue;
      const size_t block = type == TensorType::kQ8_0 ? 32 : 256;
      const uint64_t columns = shape.head_count * shape.head_dim + shape.feed_forward;
      const uint64_t of_layer = columns + columns / block * 4 + 2 * 4 * shape.embedding;
      const uint64_t rows = prompt.tokens.size();
      EXPECT_EQ(group.sent_bytes(), rows * (shape.layer_count * of_layer + 4 * shape.vocab_size));
    }
  }
}

// Rows of chosen and shared experts are in one message; those of several shared ones as floats.
TEST(ForwardGroupBlocks, TravelBesideNumbers) {
  for (const char* const kind : {"", "two shared"}) {
    const Shape shape = FourHeads(Arch::kDeepSeek2, kind);
    const ModelFile model(shape, TensorType::kQ8_0);
    const Piece prompt{0, RandomTokens(21, shape.vocab_size, 1)};
    const std::vector<std::vector<Piece>> batches = {{prompt}};
    const std::vector<float> whole = WholeLogits(model.files(), shape, batches);
    Group group(model.files(), shape, PartOf({1, 1}), 1, /*older=*/1);
    const std::vector<float> logits = group.Run({&prompt, 1});
    EXPECT_EQ(std::memcmp(logits.data(), whole.data(), whole.size() * sizeof(float)), 0);
    // Each layer's attention output and wide rows, from the part that is not older.
    EXPECT_EQ(group.sent_blocks(), 2 * shape.layer_count);
  }
}

class ForwardOwners : public testing::TestWithParam<Case> {};

TEST_P(ForwardOwners, GiveTheBitsOfOneMachine) {
  GroupPart listed = OwnersOf({1, 1}, 1);
  listed.replicated.assign(FourHeads(GetParam().arch, GetParam().kind).layer_count, 0);
  const GroupPart groups[] = {OwnersOf({1, 1}, 0), OwnersOf({3, 1}, 2), OwnersOf({1, 2, 1}, 1),
                              OwnersOf({1, 1, 1, 1}, 0), listed};
  ExpectTheBitsOfOneMachine(GetParam(), groups);
}

std::string NameOfGroup(const testing::TestParamInfo<Case>& info) {
  std::string name = fmt::format("{}{}{}", ArchName(info.param.arch), info.param.kind,
                                 gguf::TensorTypeName(info.param.type));
  std::erase_if(name, [](char c) { return c == '-' || c == ' '; });
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Types, ForwardGroup,
    testing::Values(Case{Arch::kLlama, TensorType::kF32}, Case{Arch::kLlama, TensorType::kBF16},
                    Case{Arch::kLlama, TensorType::kQ8_0}, Case{Arch::kLlama, TensorType::kQ4_K},
                    Case{Arch::kQwen2, TensorType::kQ8_0}, Case{Arch::kQwen3, TensorType::kQ6_K},
                    Case{Arch::kGemma3, TensorType::kF32}, Case{Arch::kGemma3, TensorType::kQ4_0}),
    NameOfGroup);

INSTANTIATE_TEST_SUITE_P(Families, ForwardGroup,
                         testing::Values(Case{Arch::kMistral3, TensorType::kQ8_0},
                                         Case{Arch::kGemma2, TensorType::kQ8_0},
                                         Case{Arch::kPhi3, TensorType::kQ8_0}),
                         NameOfGroup);

INSTANTIATE_TEST_SUITE_P(
    EveryType, ForwardGroup,
    testing::Values(Case{Arch::kLlama, TensorType::kF16}, Case{Arch::kLlama, TensorType::kQ4_0},
                    Case{Arch::kLlama, TensorType::kMXFP4}, Case{Arch::kLlama, TensorType::kQ2_K},
                    Case{Arch::kLlama, TensorType::kQ5_K}, Case{Arch::kLlama, TensorType::kQ6_K},
                    Case{Arch::kLlama, TensorType::kIQ2_XXS}),
    NameOfGroup);

INSTANTIATE_TEST_SUITE_P(
    Experts, ForwardGroup,
    testing::Values(
        Case{Arch::kQwen3Moe, TensorType::kF32}, Case{Arch::kQwen3Moe, TensorType::kF16},
        Case{Arch::kQwen3Moe, TensorType::kBF16}, Case{Arch::kQwen3Moe, TensorType::kQ8_0},
        Case{Arch::kQwen3Moe, TensorType::kQ4_0}, Case{Arch::kQwen3Moe, TensorType::kMXFP4},
        Case{Arch::kQwen3Moe, TensorType::kQ2_K}, Case{Arch::kQwen3Moe, TensorType::kQ4_K},
        Case{Arch::kQwen3Moe, TensorType::kQ5_K}, Case{Arch::kQwen3Moe, TensorType::kQ6_K},
        Case{Arch::kQwen3Moe, TensorType::kIQ2_XXS}, Case{Arch::kGptOss, TensorType::kMXFP4},
        Case{Arch::kGptOss, TensorType::kQ8_0}, Case{Arch::kGptOss, TensorType::kF32}),
    NameOfGroup);

INSTANTIATE_TEST_SUITE_P(DeepSeek, ForwardGroup,
                         testing::Values(Case{Arch::kDeepSeek4, TensorType::kF32},
                                         Case{Arch::kDeepSeek4, TensorType::kQ8_0},
                                         Case{Arch::kDeepSeek4, TensorType::kMXFP4},
                                         Case{Arch::kDeepSeek4, TensorType::kQ4_K},
                                         Case{Arch::kDeepSeek4, TensorType::kIQ2_XXS}),
                         NameOfGroup);

// Dense layers before those with experts, norms over all heads, MLA, layers that keep states,
// layers of two kinds.
INSTANTIATE_TEST_SUITE_P(
    MoreFamilies, ForwardGroup,
    testing::Values(
        Case{Arch::kGlm4Moe, TensorType::kQ8_0}, Case{Arch::kMiniMaxM2, TensorType::kQ8_0},
        Case{Arch::kDeepSeek2, TensorType::kQ8_0}, Case{Arch::kDeepSeek2, TensorType::kQ4_K},
        Case{Arch::kDeepSeek2, TensorType::kQ8_0, "two shared"},
        Case{Arch::kDeepSeek2, TensorType::kQ8_0, "joint"},
        Case{Arch::kQwen3Moe, TensorType::kQ4_K, "fused experts"},
        Case{Arch::kDeepSeek32, TensorType::kQ8_0}, Case{Arch::kGlmDsa, TensorType::kQ8_0},
        Case{Arch::kMimo2, TensorType::kQ8_0}, Case{Arch::kQwen3Next, TensorType::kQ4_K},
        Case{Arch::kQwen3Next, TensorType::kQ8_0, "one matrix"},
        Case{Arch::kQwen35, TensorType::kQ8_0}, Case{Arch::kQwen35Moe, TensorType::kQ8_0},
        Case{Arch::kGemma4, TensorType::kQ8_0},
        Case{Arch::kGemma4, TensorType::kQ8_0, "gemma4-dense-tiny"},
        Case{Arch::kGemma4, TensorType::kQ4_K, "gemma4-moe-tiny"}),
    NameOfGroup);

INSTANTIATE_TEST_SUITE_P(MoreFamilies, ForwardOwners,
                         testing::Values(Case{Arch::kGlm4Moe, TensorType::kQ8_0},
                                         Case{Arch::kMiniMaxM2, TensorType::kQ8_0},
                                         Case{Arch::kDeepSeek2, TensorType::kQ8_0, "two shared"},
                                         Case{Arch::kMimo2, TensorType::kQ8_0},
                                         Case{Arch::kQwen35Moe, TensorType::kQ8_0},
                                         Case{Arch::kGemma4, TensorType::kQ8_0, "gemma4-moe-tiny"}),
                         NameOfGroup);

INSTANTIATE_TEST_SUITE_P(Experts, ForwardOwners,
                         testing::Values(Case{Arch::kQwen3Moe, TensorType::kF32},
                                         Case{Arch::kQwen3Moe, TensorType::kQ8_0},
                                         Case{Arch::kQwen3Moe, TensorType::kQ4_K},
                                         Case{Arch::kQwen3Moe, TensorType::kQ8_0, "fused experts"},
                                         Case{Arch::kQwen3Moe, TensorType::kIQ2_XXS},
                                         Case{Arch::kGptOss, TensorType::kMXFP4},
                                         Case{Arch::kDeepSeek4, TensorType::kQ8_0},
                                         Case{Arch::kDeepSeek4, TensorType::kQ4_K}),
                         NameOfGroup);

// A part packs its own experts and those that all parts have, and sends a row of sums for each row
// that has an expert there.
TEST(ForwardOwners, HaveTheirExpertsOnly) {
  const Shape shape = FourHeads(Arch::kQwen3Moe);
  const ModelFile model(shape, TensorType::kQ8_0);
  Group group(model.files(), shape, OwnersOf({1, 1}, 1), 2);
  const uint32_t count = shape.experts.count, layer = 1;
  for (uint32_t i = 0; i < 2; ++i) {
    const Weights& weights = group.weights(i);
    const auto ids = ExpertsOf(weights.slice.part, shape, layer);
    EXPECT_GE(ids.size(), count / 2);
    EXPECT_LT(ids.size(), count);
    for (uint16_t id = 0; id < count; ++id) {
      const bool is_here = std::ranges::count(ids, id) > 0;
      const compute::ExpertWeights& expert = weights.layers[layer].experts[id];
      EXPECT_EQ(expert.gate.rows(), is_here ? shape.experts.feed_forward : 0);
      EXPECT_EQ(expert.down.rows(), is_here ? shape.embedding : 0);
    }
    const auto type_of = [](const TensorSpec& spec) {
      return spec.is_matrix ? TensorType::kQ8_0 : TensorType::kF32;
    };
    const double planned =
        SizesOf(Place::kMemory, shape, type_of, weights.slice.part).value().Of(weights.slice);
    const auto packed = static_cast<double>(weights.PackedBytes());
    EXPECT_NEAR(planned, packed, 0.06 * packed);
  }
  const Piece prompt{0, RandomTokens(40, shape.vocab_size, 1)};
  group.Run({&prompt, 1});
  const uint64_t rows = 40, attended = shape.head_count * shape.head_dim;
  // The attention output is sent in blocks of 32 with a scale.
  const uint64_t columns = attended + attended / 32 * sizeof(float);
  const uint64_t gathered = shape.layer_count * rows * (columns + shape.embedding * sizeof(float));
  const uint64_t logits = rows * shape.vocab_size * sizeof(float);  // from all parts
  const uint64_t sums = shape.layer_count * rows * shape.embedding * sizeof(int64_t);
  EXPECT_GT(group.sent_bytes(), gathered + sums);
  EXPECT_LE(group.sent_bytes(), gathered + 2 * sums + logits);
}

// A part packs only its own rows of every matrix of heads, rows and experts.
class ForwardGroupWeights : public testing::TestWithParam<Arch> {};

TEST_P(ForwardGroupWeights, PartsShareThemOut) {
  const Shape shape = FourHeads(GetParam());
  const ModelFile model(shape, TensorType::kQ8_0);
  const Group whole(model.files(), shape, PartOf({1}), 0);
  const Group group(model.files(), shape, PartOf({1, 1}), 0);
  const Weights& all = whole.weights(0);
  const Weights& first = group.weights(0);
  const Weights& second = group.weights(1);
  for (size_t layer = 0; layer < all.layers.size(); ++layer) {
    const auto bytes_of = [layer](const Weights& weights) {
      const LayerWeights& of = weights.layers[layer];
      uint64_t bytes = of.query.bytes() + of.output.bytes() + of.dense.gate.bytes() +
                       of.dense.down.bytes() + of.latent.query_high.bytes() +
                       of.latent.output_high.bytes() + of.shared.up.bytes() +
                       of.mla.query_nope.bytes() + of.mla.output.bytes() + of.delta.mixed.bytes() +
                       of.delta.gate.bytes() + of.delta.output.bytes() + of.output_gate.bytes();
      for (const auto* heads : {&of.mla.keys, &of.mla.values, &of.mla.query_rope}) {
        for (const compute::Matrix& matrix : *heads) bytes += matrix.bytes();
      }
      for (const compute::ExpertWeights& expert : of.experts)
        bytes += expert.gate.bytes() + expert.up.bytes() + expert.down.bytes();
      for (const compute::Matrix& low : of.latent.output_low) bytes += low.bytes();
      return bytes;
    };
    EXPECT_EQ(bytes_of(first) + bytes_of(second), bytes_of(all));
  }
  EXPECT_EQ(first.head.bytes() + second.head.bytes(), all.head.bytes());
  // The planned bytes are the packed ones, the norms, and the tensors that stay in the file.
  const Slice& slice = first.slice;
  const auto type_of = [](const TensorSpec& spec) {
    return spec.is_matrix ? TensorType::kQ8_0 : TensorType::kF32;
  };
  const WeightSizes sizes = SizesOf(Place::kMemory, shape, type_of, slice.part).value();
  const WeightSizes of_all = SizesOf(Place::kMemory, shape, type_of).value();
  const uint64_t planned = sizes.Of(slice), packed = first.PackedBytes();
  uint64_t in_file = 0;
  for (const TensorSpec& spec : TensorsOf(shape)) {
    const bool is_rows =
        spec.name == kLayerEmbedding || (spec.name == "token_embd.weight" && !shape.tied_head);
    if (is_rows) in_file += TensorBytesIn(Place::kMemory, spec, type_of(spec)).value();
  }
  EXPECT_LT(planned, of_all.Of(slice) * 3 / 4);
  EXPECT_NEAR(static_cast<double>(planned - in_file), static_cast<double>(packed), 0.06 * packed);
}

INSTANTIATE_TEST_SUITE_P(All, ForwardGroupWeights,
                         testing::Values(Arch::kLlama, Arch::kQwen3Moe, Arch::kGptOss,
                                         Arch::kDeepSeek4, Arch::kGlm4Moe, Arch::kMiniMaxM2,
                                         Arch::kDeepSeek2, Arch::kDeepSeek32, Arch::kGlmDsa,
                                         Arch::kMimo2, Arch::kQwen3Next, Arch::kQwen35Moe,
                                         Arch::kGemma4));

// A batch that a part abandons leaves nothing in a table.
TEST(ForwardGroup, ADroppedBatchChangesNothing) {
  const Shape shape = FourHeads(Arch::kLlama);
  const ModelFile model(shape, TensorType::kQ8_0);
  const auto batches = Batches(shape);
  Slice slice = Slice::Whole(shape);
  slice.part = {.index = 0, .count = 2, .shares = {1, 1}};
  Runner runner(model.files(), slice);
  kv::PageTable table = runner.NewTable();
  const Segment segment{.table = &table, .tokens = batches[0][0].tokens};
  Board board;
  BoardExchange exchange(board, 0);
  {
    ForwardJob job = runner.forward().Begin({&segment, 1}, slice, &exchange).value();
    EXPECT_EQ(job.Advance().value(), Progress::kWaiting);
  }
  EXPECT_EQ(table.length({0, shape.layer_count}), 0u);
  // Floats and blocks from another part are checked for their size.
  for (const bool are_blocks : {false, true}) {
    board.sent.clear();
    board.sent[{0, 1}] = {1, 2, 3, 4};
    if (are_blocks) board.blocks.insert({0, 1});
    ForwardJob job = runner.forward().Begin({&segment, 1}, slice, &exchange).value();
    EXPECT_EQ(job.Advance().error().code(), Code::kDataLoss);
  }
}

// The block needs the whole head, which the leading part has beside its own rows.
TEST(ForwardGroup, OnlyTheLeaderHasTheMtpBlock) {
  const Shape shape = FourGroups();
  ASSERT_EQ(shape.mtp_layers, 1u);
  const ModelFile model(shape, TensorType::kQ8_0);
  const MemoryOptions memory = Narrowed({}, shape);
  const kv::Layout layout = MakeMtpLayout(shape, memory, Hash128{1, 2}).value();
  std::vector<float> streams(shape.hidden_width());
  for (size_t i = 0; i < streams.size(); ++i) streams[i] = static_cast<float>(i * i % 17) - 8;
  const auto drafts_of = [&](const GroupPart& part) {
    Slice slice = Slice::Whole(shape);
    slice.part = part;
    const auto runner = NewRunner(model.files(), shape, slice);
    MtpBlock next(runner->weights(), memory, runner->backend());
    kv::Pool pages(uint64_t{1} << 24);
    const kv::PageTable table(layout, pages, {0, 1});
    return next.Draft(table, 5, streams.data(), 6).value();
  };
  EXPECT_EQ(drafts_of(PartOf({1, 2})), drafts_of(PartOf({1})));
  EXPECT_EQ(drafts_of(OwnersOf({1, 1}, 2)), drafts_of(PartOf({1})));
  EXPECT_EQ(Group(model.files(), shape, PartOf({1, 1}), 0).weights(1).mtp, nullptr);
}

}  // namespace
}  // namespace aster::model
