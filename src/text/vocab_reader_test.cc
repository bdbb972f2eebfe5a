// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "text/vocab_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gguf/metadata_builder.h"
#include "text/small_vocab_for_test.h"
#include "text/tokenizer.h"

namespace aster::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Metadata as in a file, which tests then change.
class VocabReaderTest : public testing::Test {
 protected:
  // The vocabulary's keys as converters write them.
  void Fill(const Vocab& vocab, std::string_view model) {
    builder_.Set("tokenizer.ggml.model", model);
    if (!vocab.pretokenizer.empty()) builder_.Set("tokenizer.ggml.pre", vocab.pretokenizer);
    builder_.Set("tokenizer.ggml.tokens", vocab.tokens);
    builder_.Set("tokenizer.ggml.token_type", std::vector<int32_t>(vocab.types.size(), 0));
    std::vector<int32_t> types;
    for (const TokenType type : vocab.types) types.push_back(static_cast<int32_t>(type));
    builder_.Set("tokenizer.ggml.token_type", types);
    builder_.Set("tokenizer.ggml.scores", vocab.scores);
    if (!vocab.merges.empty()) builder_.Set("tokenizer.ggml.merges", vocab.merges);
  }

  // Valid while the builder does not change.
  Result<gguf::Metadata> Written() {
    std::vector<gguf::Value> values;
    for (const std::string& key : builder_.keys()) {
      const auto* encoded = builder_.Find(key);
      Bytes payload = encoded->bytes;
      if (encoded->type == gguf::ValueType::kString) payload = payload.subspan(sizeof(uint64_t));
      values.emplace_back(key, encoded->type, payload);
    }
    return gguf::Metadata::Of(std::move(values));
  }

  Result<Vocab> Read() {
    const gguf::Metadata metadata = TRY(Written());
    return ReadVocab(metadata);
  }

  std::string ComplaintOf() {
    const auto vocab = Read();
    return vocab.ok() ? "" : vocab.error().message();
  }

  gguf::MetadataBuilder builder_;
};

TEST_F(VocabReaderTest, ReadsWhatWasWritten) {
  const Vocab written = MakeByteLevelVocab("llama-bpe");
  Fill(written, "gpt2");
  builder_.Set("tokenizer.ggml.bos_token_id", uint32_t{5});
  builder_.Set("tokenizer.ggml.eos_token_id", uint32_t{6});
  builder_.Set("tokenizer.ggml.suffix_token_id", uint32_t{7});
  builder_.Set("tokenizer.ggml.add_eos_token", true);
  const auto vocab = Read();
  ASSERT_TRUE(vocab.ok()) << vocab.error().message();
  EXPECT_EQ(vocab->kind, VocabKind::kByteLevelBpe);
  EXPECT_EQ(vocab->pretokenizer, "llama-bpe");
  EXPECT_EQ(vocab->tokens, written.tokens);
  EXPECT_EQ(vocab->types, written.types);
  EXPECT_EQ(vocab->merges, written.merges);
  EXPECT_EQ(vocab->special.bos, 5);
  EXPECT_EQ(vocab->special.eos, 6);
  EXPECT_EQ(vocab->special.fim_suffix, 7) << "an old name of the key";
  EXPECT_TRUE(vocab->add_bos) << "usual for this pre-tokenizer";
  EXPECT_TRUE(vocab->add_eos);
  EXPECT_FALSE(vocab->add_space_prefix);
  EXPECT_TRUE(vocab->notes.empty());
}

TEST_F(VocabReaderTest, SentencePieceHasItsOwnDefaults) {
  Fill(MakeSentencePieceVocab(), "llama");
  const auto vocab = Read();
  ASSERT_TRUE(vocab.ok()) << vocab.error().message();
  EXPECT_EQ(vocab->kind, VocabKind::kSentencePiece);
  EXPECT_EQ(vocab->special.bos, 1);
  EXPECT_EQ(vocab->special.eos, 2);
  EXPECT_EQ(vocab->special.unk, 0);
  EXPECT_TRUE(vocab->add_bos);
  EXPECT_TRUE(vocab->add_space_prefix);

  builder_.Set("tokenizer.ggml.add_bos_token", false);
  builder_.Set("tokenizer.ggml.add_space_prefix", false);
  const auto plain = Read();
  ASSERT_TRUE(plain.ok());
  EXPECT_FALSE(plain->add_bos);
  EXPECT_FALSE(plain->add_space_prefix);
}

TEST_F(VocabReaderTest, AnIdOutOfRangeIsIgnoredAndNoted) {
  Fill(MakeByteLevelVocab(), "gpt2");
  builder_.Set("tokenizer.ggml.padding_token_id", uint32_t{4'000'000'000});
  const auto vocab = Read();
  ASSERT_TRUE(vocab.ok()) << vocab.error().message();
  EXPECT_EQ(vocab->special.pad, kNoToken);
  EXPECT_THAT(vocab->notes, ElementsAre(HasSubstr("padding_token_id is 4000000000")));
}

TEST_F(VocabReaderTest, SaysWhatIsMissing) {
  EXPECT_THAT(ComplaintOf(), HasSubstr("tokenizer.ggml.model"));
  Fill(MakeByteLevelVocab(), "gpt2");
  builder_.Remove("tokenizer.ggml.merges");
  EXPECT_THAT(ComplaintOf(), HasSubstr("tokenizer.ggml.merges"));
  builder_.Remove("tokenizer.ggml.tokens");
  EXPECT_THAT(ComplaintOf(), HasSubstr("tokenizer.ggml.tokens"));
  builder_.Remove("tokenizer.ggml.pre");
  EXPECT_THAT(ComplaintOf(), HasSubstr("tokenizer.ggml.pre is missing"));
}

TEST_F(VocabReaderTest, ScoresAreNeededOnlyForMergesByScore) {
  Fill(MakeByteLevelVocab(), "gpt2");
  builder_.Remove("tokenizer.ggml.scores");
  EXPECT_EQ(ComplaintOf(), "");
  Fill(MakeSentencePieceVocab(), "llama");
  builder_.Remove("tokenizer.ggml.scores");
  EXPECT_THAT(ComplaintOf(), HasSubstr("tokenizer.ggml.scores is missing"));
}

TEST_F(VocabReaderTest, NamesTheKindAndThePretokenizerItDoesNotKnow) {
  Fill(MakeByteLevelVocab("qwen99"), "gpt2");
  EXPECT_THAT(ComplaintOf(), HasSubstr("\"qwen99\""));
  builder_.Set("tokenizer.ggml.model", "t5");
  EXPECT_THAT(ComplaintOf(), HasSubstr("\"t5\""));
  EXPECT_TRUE(HasVocab(Written().value()));
  builder_.Set("tokenizer.ggml.model", "none");
  EXPECT_FALSE(HasVocab(Written().value()));
  EXPECT_THAT(ComplaintOf(), HasSubstr("no tokenizer"));
}

TEST_F(VocabReaderTest, RefusesArraysThatDoNotFit) {
  Fill(MakeByteLevelVocab(), "gpt2");
  builder_.Set("tokenizer.ggml.token_type", std::vector<int32_t>{1, 1, 1});
  EXPECT_THAT(ComplaintOf(), HasSubstr("token_type has 3 entries"));
  builder_.Set("tokenizer.ggml.token_type", "text");
  EXPECT_THAT(ComplaintOf(), HasSubstr("tokenizer.ggml.token_type"));
  builder_.Remove("tokenizer.ggml.token_type");
  EXPECT_EQ(ComplaintOf(), "") << "old files have none";
  builder_.Set("tokenizer.ggml.tokens", std::vector<int32_t>{1, 2});
  EXPECT_THAT(ComplaintOf(), HasSubstr("tokenizer.ggml.tokens"));
}

TEST_F(VocabReaderTest, MergesOfEmptyOrUnknownTokensAreIgnored) {
  Vocab vocab = MakeByteLevelVocab();
  vocab.merges.insert(vocab.merges.begin(),
                      {"", " ", "nospace", "x ", " y", "zz qq", "\xFF \xFE", "a b c"});
  Fill(vocab, "gpt2");
  auto read = Read();
  ASSERT_TRUE(read.ok()) << read.error().message();
  const auto tokenizer = Tokenizer::Make(*std::move(read));
  ASSERT_TRUE(tokenizer.ok());
  const auto ids = (*tokenizer)->Encode("zzqq the", {});
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(*(*tokenizer)->Decode(*ids, {}), "zzqq the");
}

TEST_F(VocabReaderTest, Phi3DropsSpaceBehindItsSpecialTokens) {
  Vocab vocab = MakeSentencePieceVocab();
  vocab.tokens.back() = "<|end|>";
  Fill(vocab, "llama");
  const auto stripping = [&] {
    const auto read = Read();
    EXPECT_TRUE(read.ok()) << read.error().message();
    return read->strips_right;
  };
  EXPECT_THAT(stripping(), ElementsAre());
  builder_.Set("general.architecture", "phi3");
  EXPECT_THAT(stripping(), ElementsAre(2, vocab.size() - 1));
  // A Phi 3 that was converted to another architecture.
  builder_.Set("general.architecture", "llama");
  builder_.Set("general.name", "Phi3 mini");
  EXPECT_THAT(stripping(), ElementsAre(2, vocab.size() - 1));
}

}  // namespace
}  // namespace aster::text
