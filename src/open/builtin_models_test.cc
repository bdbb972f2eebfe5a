// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/builtin_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "base/folders_for_test.h"

namespace aster::open {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class BuiltinModelsTest : public testing::Test {
 protected:
  BuiltinModelsTest() {
    for (const std::string& folder : folders_) EXPECT_TRUE(MakeDirectories(folder).ok());
  }

  void Put(const std::string& path) { ASSERT_TRUE(WriteFileAtomically(path, AsBytes("x")).ok()); }

  const TemporaryDirectory holder_ = TemporaryDirectory::Create().value();
  const std::vector<std::string> folders_ = {holder_.File("first"), holder_.File("second")};
};

TEST_F(BuiltinModelsTest, TheFirstFolderThatHasItCounts) {
  Put(folders_[1] + "/nova.gguf");
  EXPECT_EQ(FindModelIn("nova", folders_).value(), folders_[1] + "/nova.gguf");
  Put(folders_[0] + "/nova.gguf");
  EXPECT_EQ(FindModelIn("nova", folders_).value(), folders_[0] + "/nova.gguf");
  Put(folders_[1] + "/held-out.txt");
  EXPECT_EQ(FindBesideModelsIn("held-out.txt", folders_).value(), folders_[1] + "/held-out.txt");
}

TEST_F(BuiltinModelsTest, MissingModelsAreReportedWithTheFolders) {
  EXPECT_THAT(FindModelIn("comet", folders_).error().message(),
              AllOf(HasSubstr("comet.gguf"), HasSubstr(folders_[0]), HasSubstr(folders_[1]),
                    HasSubstr("ASTER_MODELS")));
  EXPECT_EQ(FindModelIn("comet", folders_).error().code(), Code::kNotFound);
  EXPECT_THAT(FindBesideModelsIn("questions.jsonl", folders_).error().message(),
              AllOf(HasSubstr("questions.jsonl"), HasSubstr(folders_[1])));
}

TEST_F(BuiltinModelsTest, EveryNameHasAModelInTheSourceTree) {
  const std::vector<std::string> source = {ModelFolders().back()};
  for (const std::string_view name : BuiltinModels()) {
    EXPECT_TRUE(FindModelIn(std::string(name), source).ok()) << name;
  }
}

TEST_F(BuiltinModelsTest, PathsAndOtherNamesAreLeftAsTheyAre) {
  Put(folders_[0] + "/nova.gguf");
  for (const char* name : {"./nova", "nova.gguf", "other", "some/nova", "", "nova/"}) {
    EXPECT_EQ(FindModelIn(name, folders_).value(), name);
  }
}

TEST_F(BuiltinModelsTest, AFileOfThatNameComesFirst) {
  Put(folders_[0] + "/nova.gguf");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folders_[1]);
  Put("nova");
  const auto found = FindModelIn("nova", folders_);
  std::filesystem::current_path(before);
  EXPECT_EQ(found.value(), "nova");
}

TEST_F(BuiltinModelsTest, TheEnvironmentComesFirstAndTheSourceTreeLast) {
  const std::vector<std::string> without = ModelFolders();
  EXPECT_EQ(without.back(), ASTER_SOURCE_DIR "/models");
  setenv("ASTER_MODELS", "some folder", 1);
  const std::vector<std::string> with = ModelFolders();
  unsetenv("ASTER_MODELS");
  ASSERT_EQ(with.size(), without.size() + 1);
  EXPECT_EQ(with.front(), "some folder");
}

}  // namespace
}  // namespace aster::open
