// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "gguf/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "gguf/file.h"
#include "gguf/raw_file_for_test.h"

namespace aster::gguf {
namespace {

using ::testing::HasSubstr;

class MetadataTest : public ::testing::Test {
 protected:
  MetadataTest() {
    raw_.Header(0, 9)
        .Key("u8", ValueType::kUint8, uint8_t{200})
        .Key("i32", ValueType::kInt32, int32_t{-5})
        .Key("u64", ValueType::kUint64, std::numeric_limits<uint64_t>::max())
        .Key("f32", ValueType::kFloat32, 1.5F)
        .Key("f64", ValueType::kFloat64, 1e300)
        .Key("bool", ValueType::kBool, uint8_t{1})
        .Key("text", "a \"b\"\n\x01");
    raw_.Text("words").Put(ValueType::kArray).Put(ValueType::kString).Put<uint64_t>(3);
    raw_.Text("one").Text("").Text("three");
    raw_.Text("heads").Put(ValueType::kArray).Put(ValueType::kInt32).Put<uint64_t>(2);
    raw_.Put<int32_t>(8).Put<int32_t>(-1);
    auto file = File::Parse(raw_.bytes());
    EXPECT_TRUE(file.ok()) << file.error().message();
    metadata_ = file->metadata();
  }

  template <typename T>
  std::string ErrorOf(std::string_view key) const {
    const auto value = metadata_.Get<T>(key);
    return value.ok() ? "no error" : value.error().message();
  }

  RawFile raw_;
  Metadata metadata_;
};

TEST_F(MetadataTest, NumbersConvertWhereTheyFit) {
  EXPECT_EQ(*metadata_.Get<uint8_t>("u8"), 200);
  EXPECT_EQ(*metadata_.Get<int64_t>("u8"), 200);
  EXPECT_EQ(*metadata_.Get<float>("u8"), 200.0F);
  EXPECT_EQ(*metadata_.Get<int8_t>("i32"), -5);
  EXPECT_EQ(*metadata_.Get<double>("i32"), -5.0);
  EXPECT_EQ(*metadata_.Get<uint64_t>("u64"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(*metadata_.Get<float>("f32"), 1.5F);
  EXPECT_EQ(*metadata_.Get<double>("f32"), 1.5);
  EXPECT_EQ(*metadata_.Get<double>("f64"), 1e300);
  EXPECT_TRUE(*metadata_.Get<bool>("bool"));
}

TEST_F(MetadataTest, OtherwiseTheErrorSaysWhatWasNeededAndFound) {
  EXPECT_EQ(ErrorOf<int8_t>("u8"),
            "the key u8 holds 200 (u8); a whole number from -128 to 127 is needed");
  EXPECT_EQ(ErrorOf<uint32_t>("i32"),
            "the key i32 holds -5 (i32); a whole number from 0 to 4294967295 is needed");
  EXPECT_THAT(ErrorOf<int64_t>("u64"), HasSubstr("18446744073709551615 (u64)"));
  EXPECT_THAT(ErrorOf<uint32_t>("f32"), HasSubstr("holds 1.5 (f32)"));
  EXPECT_THAT(ErrorOf<float>("f64"), HasSubstr("a number is needed"));
  EXPECT_THAT(ErrorOf<uint32_t>("bool"), HasSubstr("holds true (bool)"));
  EXPECT_THAT(ErrorOf<bool>("u8"), HasSubstr("true or false is needed"));
  EXPECT_THAT(ErrorOf<std::string>("u8"), HasSubstr("a string is needed"));
  EXPECT_THAT(ErrorOf<uint32_t>("text"), HasSubstr("(string)"));
  EXPECT_THAT(ErrorOf<Array>("text"), HasSubstr("holds a string; an array is needed"));
  EXPECT_THAT(ErrorOf<uint32_t>("words"), HasSubstr(R"(["one", "", "three"] (string[3]))"));
  EXPECT_THAT(ErrorOf<std::vector<float>>("words"), HasSubstr("element 0 of the key words"));
  EXPECT_THAT(ErrorOf<std::vector<uint32_t>>("heads"), HasSubstr("element 1 of the key heads"));
  EXPECT_THAT(ErrorOf<std::vector<std::string>>("heads"), HasSubstr("one of strings is needed"));
  EXPECT_EQ(ErrorOf<uint32_t>("none"), "the key none is missing");
}

TEST_F(MetadataTest, AMissingKeyMayBeNoError) {
  EXPECT_EQ(*metadata_.GetOr<uint32_t>("none", 7), 7u);
  EXPECT_EQ(*metadata_.GetOr<uint32_t>("u8", 7), 200u);
  EXPECT_FALSE(metadata_.GetOr<uint32_t>("text", 7).ok());
  EXPECT_FALSE(metadata_.GetIfPresent<uint32_t>("none")->has_value());
  EXPECT_EQ(**metadata_.GetIfPresent<uint32_t>("u8"), 200u);
  EXPECT_FALSE(metadata_.GetIfPresent<uint32_t>("text").ok());
}

TEST_F(MetadataTest, OneNumberStandsForEveryLayer) {
  EXPECT_EQ(*metadata_.GetPerLayer<uint32_t>("u8", 3), (std::vector<uint32_t>{200, 200, 200}));
  EXPECT_EQ(*metadata_.GetPerLayer<int32_t>("heads", 2), (std::vector<int32_t>{8, -1}));
  EXPECT_FALSE(metadata_.GetPerLayer<int32_t>("heads", 3).ok());
  EXPECT_FALSE(metadata_.GetPerLayer<int32_t>("none", 3).ok());
}

TEST_F(MetadataTest, StringsAreWalkedInPlace) {
  const auto strings = metadata_.Get<Array>("words")->Strings();
  ASSERT_TRUE(strings.ok()) << strings.error().message();
  EXPECT_THAT(std::vector<std::string_view>(strings->begin(), strings->end()),
              ::testing::ElementsAre("one", "", "three"));
  for (const std::string_view word : *strings) {
    EXPECT_GE(reinterpret_cast<const uint8_t*>(word.data()), raw_.bytes().data());
    EXPECT_LE(reinterpret_cast<const uint8_t*>(word.data()),
              raw_.bytes().data() + raw_.bytes().size());
  }
}

TEST_F(MetadataTest, ValuesCanBeShown) {
  EXPECT_EQ(ToText(*metadata_.Find("text")), R"("a \"b\"\n\x01")");
  EXPECT_EQ(ToText(*metadata_.Find("text"), 8, 3), R"("a \"...")");
  EXPECT_EQ(ToText(*metadata_.Find("heads")), "[8, -1]");
  EXPECT_EQ(ToText(*metadata_.Find("words"), 1), R"(["one", ...])");
  EXPECT_EQ(metadata_.Find("words")->TypeText(), "string[3]");
  EXPECT_EQ(NameText("a\x1b[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(NameText(std::string(1000, 'n')).size(), 123u);
}

}  // namespace
}  // namespace aster::gguf
