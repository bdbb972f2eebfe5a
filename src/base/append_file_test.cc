// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/append_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>

#include "base/files.h"

namespace aster {
namespace {

class AppendFileTest : public testing::Test {
 protected:
  std::string Content() const { return ReadFile(path_, 1 << 20).value(); }

  TemporaryDirectory folder_ = TemporaryDirectory::Create().value();
  const std::string path_ = folder_.File("log");
};

TEST_F(AppendFileTest, GrowsAndIsContinued) {
  {
    AppendFile file = AppendFile::Open(path_).value();
    ASSERT_TRUE(file.Append("one\n").ok());
    EXPECT_EQ(Content(), "one\n");
    ASSERT_TRUE(file.Append("tw").ok());
  }
  AppendFile file = AppendFile::Open(path_).value();
  ASSERT_TRUE(file.CutAt(4).ok());
  AppendFile moved = std::move(file);
  ASSERT_TRUE(moved.Append("two\n").ok());
  EXPECT_EQ(Content(), "one\ntwo\n");
}

TEST_F(AppendFileTest, BelongsToOneAtATime) {
  {
    const AppendFile file = AppendFile::Open(path_).value();
    EXPECT_EQ(AppendFile::Open(path_).error().code(), Code::kUnavailable);
  }
  EXPECT_TRUE(AppendFile::Open(path_).ok());
}

TEST_F(AppendFileTest, IsNotTheOneThatItsHolderHasRenamed) {
  constexpr int kFiles = 500;
  const auto run = [&](int begin) {
    for (int i = begin; i < begin + kFiles;) {
      Result<AppendFile> file = AppendFile::Open(path_);
      if (!file.ok()) continue;  // the other thread holds it
      ASSERT_TRUE(file->Append("whole").ok());
      std::error_code error;
      std::filesystem::rename(path_, folder_.File(std::to_string(i++)), error);
      ASSERT_FALSE(error);
    }
  };
  std::thread other(run, kFiles);
  run(0);
  other.join();
  for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
    if (file.path() == path_) continue;
    EXPECT_EQ(ReadFile(file.path().string(), 100).value(), "whole");
  }
}

TEST_F(AppendFileTest, OnlyPlainFiles) {
  EXPECT_FALSE(AppendFile::Open(folder_.path()).ok());
  EXPECT_FALSE(AppendFile::Open(folder_.File("none/log")).ok());
  const std::string pipe = folder_.File("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(AppendFile::Open(pipe).error().code(), Code::kInvalidArgument);
}

TEST_F(AppendFileTest, APieceThatDoesNotFitIsNotThereAtAll) {
  AppendFile file = AppendFile::Open(path_).value();
  ASSERT_TRUE(file.Append("before").ok());
  struct rlimit earlier = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &earlier), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small = {.rlim_cur = 10, .rlim_max = earlier.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status appended = file.Append("behind it");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &earlier), 0);
  EXPECT_FALSE(appended.ok());
  EXPECT_EQ(Content(), "before");
  ASSERT_TRUE(file.Append(" again").ok());
  EXPECT_EQ(Content(), "before again");
}

}  // namespace
}  // namespace aster
