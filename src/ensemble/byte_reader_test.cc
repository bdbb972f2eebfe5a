// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/byte_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "ensemble/mixture.h"
#include "text/small_vocab_for_test.h"

namespace aster::ensemble {
namespace {

// A model with other probabilities after every history, for texts and ends only.
class ToyModel {
 public:
  explicit ToyModel(text::Vocab vocab)
      : tokenizer_(text::Tokenizer::Make(std::move(vocab)).value()),
        spelling_(*tokenizer_, tokenizer_->vocab().size()),
        is_possible_(tokenizer_->vocab().size(), false) {
    for (uint32_t place = 0; place < spelling_.all().end; ++place)
      is_possible_[static_cast<size_t>(spelling_.token(place))] = true;
    for (const int32_t end : spelling_.ends()) is_possible_[static_cast<size_t>(end)] = true;
  }

  const Spelling& spelling() const { return spelling_; }
  bool drops_space() const { return tokenizer_->vocab().add_space_prefix; }

  std::vector<float> Logits(const std::vector<int32_t>& tokens) const {
    std::vector<float> logits;
    const Bytes history{reinterpret_cast<const uint8_t*>(tokens.data()), 4 * tokens.size()};
    for (size_t token = 0; token < is_possible_.size(); ++token) {
      const auto logit = static_cast<float>(Hash64Of(history, token) % 1000) / 100;
      logits.push_back(is_possible_[token] ? logit : -INFINITY);
    }
    return logits;
  }
  std::vector<double> Probabilities(const std::vector<int32_t>& tokens) const {
    const std::vector<float> logits = Logits(tokens);
    double sum = 0;
    std::vector<double> probabilities;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
    for (const float logit : logits)
      probabilities.push_back(std::exp(static_cast<double>(logit)) / sum);
    return probabilities;
  }

  // The probability that a text begins so, or (`ends`) is exactly this, over all spellings.
  double ProbabilityOf(std::string_view text, bool ends, std::vector<int32_t> before = {}) const {
    if (text.empty() && !ends) return 1;
    const std::vector<double> probabilities = Probabilities(before);
    double sum = 0;
    for (const int32_t end : spelling_.ends())
      sum += text.empty() ? probabilities[static_cast<size_t>(end)] : 0;
    for (uint32_t place = 0; place < spelling_.all().end; ++place) {
      std::string_view bytes = spelling_.bytes(place);
      if (before.empty() && drops_space() && bytes.starts_with(' ')) bytes.remove_prefix(1);
      const double probability = probabilities[static_cast<size_t>(spelling_.token(place))];
      if (text.starts_with(bytes)) {
        std::vector<int32_t> tokens = before;
        tokens.push_back(spelling_.token(place));
        sum += probability * ProbabilityOf(text.substr(bytes.size()), ends, std::move(tokens));
      } else if (bytes.starts_with(text) && !ends) {
        sum += probability;
      }
    }
    return sum;
  }

  void Feed(ByteReader& reader) const {
    for (auto wanted = reader.Wanted(); !wanted.empty(); wanted = reader.Wanted()) {
      for (const size_t history : wanted)
        ASSERT_TRUE(reader.Give(history, Logits(reader.tokens(history))).ok());
    }
  }

 private:
  const std::unique_ptr<text::Tokenizer> tokenizer_;
  const Spelling spelling_;
  std::vector<bool> is_possible_;
};

void ExpectEveryWay(const ToyModel& toy_model, std::string_view text) {
  ByteReader reader(toy_model.spelling(), toy_model.drops_space(), /*least_share=*/0);
  double log_probability = 0;
  for (size_t n = 0; n < text.size(); ++n) {
    toy_model.Feed(reader);
    log_probability += reader.Next()[static_cast<uint8_t>(text[n])];
    EXPECT_NEAR(std::exp(log_probability) / toy_model.ProbabilityOf(text.substr(0, n + 1), false),
                1, 1e-9)
        << n;
    reader.Push(static_cast<uint8_t>(text[n]));
  }
  toy_model.Feed(reader);
  const auto next = reader.Next();
  EXPECT_NEAR(std::exp(log_probability + next[kEndSymbol]) / toy_model.ProbabilityOf(text, true), 1,
              1e-9);
  double sum = 0;
  for (const double each : next) sum += std::exp(each);
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_EQ(reader.left_out(), 0);
}

TEST(ByteReader, SumsOverEveryWayToSpellAText) {
  const ToyModel toy_model(text::MakeByteLevelVocab());
  ExpectEveryWay(toy_model, "the o");
  ExpectEveryWay(toy_model, " \xC3\xA9x");
}

TEST(ByteReader, LeavesOutTheSpaceOfAFirstToken) {
  const ToyModel toy_model(text::MakeSentencePieceVocab());
  ExpectEveryWay(toy_model, "the");
  ExpectEveryWay(toy_model, " an");
}

TEST(ByteReader, SaysWhatItLeavesOut) {
  const ToyModel toy_model(text::MakeByteLevelVocab());
  const std::string text = "the other foxes";
  ByteReader whole(toy_model.spelling(), false, /*least_share=*/1e-9);
  ByteReader rough(toy_model.spelling(), false, /*least_share=*/1e-3);
  double of_whole = 0, of_rough = 0;
  for (const char c : text) {
    toy_model.Feed(whole);
    toy_model.Feed(rough);
    of_whole += whole.Next()[static_cast<uint8_t>(c)];
    of_rough += rough.Next()[static_cast<uint8_t>(c)];
    whole.Push(static_cast<uint8_t>(c));
    rough.Push(static_cast<uint8_t>(c));
  }
  EXPECT_LT(whole.left_out(), 1e-4);
  EXPECT_GT(rough.left_out(), whole.left_out());
  EXPECT_NE(of_rough, of_whole);
  EXPECT_NEAR(of_rough, of_whole, 0.1);
  EXPECT_GT(whole.length(), 0u);
}

TEST(ByteReader, RefusesLogitsOfNothing) {
  const ToyModel toy_model(text::MakeByteLevelVocab());
  ByteReader reader(toy_model.spelling(), false);
  const std::vector<float> logits(toy_model.Logits({}).size(), -INFINITY);
  EXPECT_FALSE(reader.Give(0, logits).ok());
}

}  // namespace
}  // namespace aster::ensemble
