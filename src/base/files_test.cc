// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

namespace aster {
namespace {

using ::testing::HasSubstr;

class Files : public ::testing::Test {
 protected:
  size_t FileCount() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_.path()),
                                             std::filesystem::directory_iterator()));
  }

  TemporaryDirectory folder_ = TemporaryDirectory::Create().value();
};

// Sets an environment variable, or removes it, until the end of the scope.
class ScopedVariable {
 public:
  ScopedVariable(std::string name, const std::optional<std::string>& value)
      : name_(std::move(name)) {
    if (const char* earlier = std::getenv(name_.c_str())) earlier_ = earlier;
    Set(value);
  }
  ~ScopedVariable() { Set(earlier_); }

 private:
  void Set(const std::optional<std::string>& value) {
    if (value) {
      setenv(name_.c_str(), value->c_str(), /*replace=*/1);
    } else {
      unsetenv(name_.c_str());
    }
  }
  std::string name_;
  std::optional<std::string> earlier_;
};

TEST_F(Files, WhatIsWrittenIsRead) {
  const std::string path = folder_.File("a");
  const std::string content("one\0two", 7);
  ASSERT_TRUE(WriteFileAtomically(path, AsBytes(content)).ok());
  EXPECT_EQ(ReadFile(path, 7).value(), content);
  ASSERT_TRUE(WriteFileAtomically(path, {}).ok());
  EXPECT_EQ(ReadFile(path, 0).value(), "");
  EXPECT_EQ(FileCount(), 1U);
}

TEST_F(Files, OnlyOrdinaryFilesAreReplaced) {
  const std::string pipe = folder_.File("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, folder_.path(), std::string("/dev/null")}) {
    const Status refused = WriteFileAtomically(path, AsBytes("x"));
    ASSERT_FALSE(refused.ok()) << path;
    EXPECT_EQ(refused.error().code(), Code::kInvalidArgument);
  }
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_EQ(FileCount(), 1U);
}

TEST_F(Files, LinksStayAndWhatTheyNameIsReplaced) {
  const std::string file = folder_.File("file"), link = folder_.File("link");
  ASSERT_TRUE(WriteFileAtomically(file, AsBytes("old")).ok());
  std::filesystem::create_symlink("file", link);
  for (const std::string content : {"new", "newer"}) {
    ASSERT_TRUE(WriteFileAtomically(link, AsBytes(content)).ok());
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_EQ(ReadFile(file, 10).value(), content);
  }
}

TEST_F(Files, ReadingIsBounded) {
  const std::string path = folder_.File("a");
  for (size_t size : {1, 4095, 4096, 4097, 100'000}) {
    const std::string content(size, 'x');
    ASSERT_TRUE(WriteFileAtomically(path, AsBytes(content)).ok());
    EXPECT_EQ(ReadFile(path, size).value(), content);
    EXPECT_EQ(ReadFile(path, SIZE_MAX).value(), content);
    const auto refused = ReadFile(path, size - 1);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), Code::kResourceExhausted);
  }
}

TEST_F(Files, ReadsFilesThatSayTheyAreEmpty) {
  if (access("/proc/self/status", R_OK) != 0) GTEST_SKIP() << "no /proc here";
  EXPECT_THAT(ReadFile("/proc/self/status", 1 << 20).value(), HasSubstr("Pid:"));
}

TEST_F(Files, ErrorsNameTheFile) {
  const std::string missing = folder_.File("missing");
  EXPECT_EQ(ReadFile(missing, 1).error().code(), Code::kNotFound);
  EXPECT_THAT(ReadFile(missing, 1).error().message(), HasSubstr(missing));
  EXPECT_EQ(ReadFile(folder_.path(), 1).error().code(), Code::kInvalidArgument);
  const std::string below = missing + "/b";
  EXPECT_EQ(WriteFileAtomically(below, {}).error().code(), Code::kNotFound);
  EXPECT_THAT(WriteFileAtomically(below, {}).error().message(), HasSubstr(below));
}

TEST_F(Files, AnUnfinishedFileNeverAppears) {
  const std::string path = folder_.File("a");
  ASSERT_TRUE(WriteFileAtomically(path, AsBytes("old")).ok());
  {
    AtomicFile file = AtomicFile::Create(path).value();
    ASSERT_TRUE(file.Write(AsBytes("new")).ok());
    EXPECT_EQ(FileCount(), 2U);
    EXPECT_EQ(ReadFile(path, 10).value(), "old");
  }
  EXPECT_EQ(ReadFile(path, 10).value(), "old");
  EXPECT_EQ(FileCount(), 1U);
}

TEST_F(Files, AHeaderCanBeFilledInLast) {
  const std::string path = folder_.File("a");
  AtomicFile file = AtomicFile::Create(path).value();
  ASSERT_TRUE(file.Write(AsBytes("....body")).ok());
  ASSERT_TRUE(file.WriteAt(0, AsBytes("head")).ok());
  EXPECT_EQ(file.size_bytes(), 8U);
  ASSERT_TRUE(file.WriteAt(6, AsBytes("dily!")).ok());
  EXPECT_EQ(file.size_bytes(), 11U);
  ASSERT_TRUE(file.Commit().ok());
  EXPECT_EQ(ReadFile(path, 100).value(), "headbodily!");
}

TEST_F(Files, AnAtomicFileMoves) {
  AtomicFile first = AtomicFile::Create(folder_.File("a")).value();
  AtomicFile second = AtomicFile::Create(folder_.File("b")).value();
  AtomicFile moved = std::move(first);
  ASSERT_TRUE(moved.Write(AsBytes("a")).ok());
  moved = std::move(second);
  ASSERT_TRUE(moved.Commit().ok());
  EXPECT_TRUE(std::filesystem::exists(folder_.File("b")));
  EXPECT_FALSE(std::filesystem::exists(folder_.File("a")));
}

TEST_F(Files, MakesFoldersAboveToo) {
  const std::string path = folder_.File("a/b/c");
  EXPECT_TRUE(MakeDirectories(path).ok());
  EXPECT_TRUE(MakeDirectories(path).ok());
  EXPECT_TRUE(std::filesystem::is_directory(path));
  ASSERT_TRUE(WriteFileAtomically(folder_.File("file"), {}).ok());
  EXPECT_FALSE(MakeDirectories(folder_.File("file")).ok());
  EXPECT_FALSE(MakeDirectories(folder_.File("file/below")).ok());
}

TEST_F(Files, UserFoldersFollowTheEnvironment) {
  const ScopedVariable home("HOME", "/users/x");
  {
    const ScopedVariable unset("XDG_CACHE_HOME", std::nullopt);
    EXPECT_EQ(CacheDirectory().value(), "/users/x/.cache/asterism");
  }
  const ScopedVariable cache("XDG_CACHE_HOME", "/fast");
  EXPECT_EQ(CacheDirectory().value(), "/fast/asterism");
  const ScopedVariable config("XDG_CONFIG_HOME", "not/absolute");
  EXPECT_EQ(ConfigDirectory().value(), "/users/x/.config/asterism");
  const ScopedVariable data("XDG_DATA_HOME", "");
  EXPECT_EQ(DataDirectory().value(), "/users/x/.local/share/asterism");
}

TEST_F(Files, WithoutAHomeTheErrorSaysWhatToSet) {
  const ScopedVariable home("HOME", std::nullopt);
  const ScopedVariable cache("XDG_CACHE_HOME", std::nullopt);
  EXPECT_THAT(CacheDirectory().error().message(), HasSubstr("XDG_CACHE_HOME"));
}

TEST_F(Files, ALockIsHeldOnce) {
  const std::string path = folder_.File("lock");
  {
    FileLock lock = FileLock::TryAcquire(path).value();
    EXPECT_EQ(FileLock::TryAcquire(path).error().code(), Code::kUnavailable);
    const FileLock moved = std::move(lock);
    EXPECT_EQ(FileLock::TryAcquire(path).error().code(), Code::kUnavailable);
  }
  EXPECT_TRUE(FileLock::TryAcquire(path).ok());
}

TEST(TemporaryDirectoryTest, IsRemovedWithItsContent) {
  std::string path;
  {
    TemporaryDirectory folder = TemporaryDirectory::Create().value();
    const TemporaryDirectory moved = std::move(folder);
    path = moved.path();
    ASSERT_TRUE(MakeDirectories(moved.File("a/b")).ok());
    ASSERT_TRUE(WriteFileAtomically(moved.File("a/b/c"), AsBytes("x")).ok());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace aster
