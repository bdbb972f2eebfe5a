// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "pull/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"

namespace aster::pull {
namespace {

using ::testing::HasSubstr;

class LibraryTest : public testing::Test {
 protected:
  void Put(const std::string& name) {
    ASSERT_TRUE(WriteFileAtomically(folder_.File(name), AsBytes("12345")).ok());
  }

  const TemporaryDirectory folder_ = TemporaryDirectory::Create().value();
};

TEST_F(LibraryTest, HasAModelOnceHoweverManyPartsItHas) {
  Put("a-00001-of-00002.gguf");
  Put("a-00002-of-00002.gguf");
  Put("b.gguf");
  Put("c.gguf.part");
  Put("d-00001-of-00002.gguf");
  Put("notes.txt");
  const auto models = ListLibrary(folder_.path());
  ASSERT_EQ(models.size(), 4U);
  EXPECT_EQ(models[0].name, "a");
  EXPECT_EQ(models[0].paths.size(), 2U);
  EXPECT_EQ(models[0].size_bytes, 10U);
  EXPECT_FALSE(models[0].is_partial);
  EXPECT_FALSE(models[1].is_partial);
  EXPECT_TRUE(models[2].is_partial);
  EXPECT_TRUE(models[3].is_partial);
}

TEST_F(LibraryTest, FindsAModelByWhatPeopleCallIt) {
  Put("Model-Q4_K_M.gguf");
  ASSERT_TRUE(WriteSource(folder_.File("Model-Q4_K_M.gguf"), "hf:org/Model-GGUF").ok());
  for (const char* const name :
       {"Model-Q4_K_M", "model-q4_k_m", "model-q4_k_m.gguf", "hf:org/model-gguf"}) {
    EXPECT_TRUE(FindInLibrary(folder_.path(), name).ok()) << name;
  }
  EXPECT_THAT(FindInLibrary(folder_.path(), "other").error().message(), HasSubstr("Model-Q4_K_M"));
  EXPECT_EQ(FindInLibrary(folder_.path() + "/none", "other").error().code(), Code::kNotFound);
}

TEST_F(LibraryTest, TakesNoPartialModelForAModel) {
  Put("a.gguf.part");
  EXPECT_FALSE(FindInLibrary(folder_.path(), "a").ok());
}

TEST_F(LibraryTest, RemovesAllThatBelongsToAModel) {
  Put("a.gguf");
  Put("b.gguf");
  ASSERT_TRUE(WriteSource(folder_.File("a.gguf"), "https://host/a.gguf").ok());
  ASSERT_TRUE(RemoveFromLibrary(FindInLibrary(folder_.path(), "a").value()).ok());
  EXPECT_FALSE(std::filesystem::exists(folder_.File("a.gguf.source")));
  ASSERT_EQ(ListLibrary(folder_.path()).size(), 1U);
}

}  // namespace
}  // namespace aster::pull
