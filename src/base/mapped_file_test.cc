// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <utility>

#include "base/files.h"

namespace aster {
namespace {

using ::testing::HasSubstr;

class MappedFileTest : public ::testing::Test {
 protected:
  std::string Written(const std::string& name, std::string_view content) {
    std::string path = folder_.File(name);
    EXPECT_TRUE(WriteFileAtomically(path, AsBytes(content)).ok());
    return path;
  }

  TemporaryDirectory folder_ = TemporaryDirectory::Create().value();
};

TEST_F(MappedFileTest, ShowsTheContent) {
  const std::string path = Written("a", "content");
  const MappedFile file = MappedFile::Open(path).value();
  EXPECT_EQ(AsText(file.bytes()), "content");
  EXPECT_EQ(file.path(), path);
  EXPECT_EQ(file.identity().size_bytes, 7U);
  EXPECT_EQ(file.identity(), IdentifyFile(path).value());
}

TEST_F(MappedFileTest, AnEmptyFileHasNoBytes) {
  const MappedFile file = MappedFile::Open(Written("a", "")).value();
  EXPECT_TRUE(file.bytes().empty());
  file.WillNeed(0, 0);
  file.DontNeed(0, 0);
  EXPECT_TRUE(MappedFile().bytes().empty());
}

TEST_F(MappedFileTest, WhatIsNoFileIsRefused) {
  const std::string missing = folder_.File("missing");
  EXPECT_EQ(MappedFile::Open(missing).error().code(), Code::kNotFound);
  EXPECT_THAT(MappedFile::Open(missing).error().message(), HasSubstr(missing));
  EXPECT_EQ(IdentifyFile(missing).error().code(), Code::kNotFound);

  const auto folder = MappedFile::Open(folder_.path());
  EXPECT_EQ(folder.error().code(), Code::kInvalidArgument);
  EXPECT_THAT(folder.error().message(), HasSubstr("is a folder"));
  EXPECT_THAT(IdentifyFile(folder_.path()).error().message(), HasSubstr("is a folder"));

  EXPECT_THAT(MappedFile::Open("/dev/null").error().message(), HasSubstr("not a regular file"));
}

// Opening a pipe without a writer would wait for ever.
TEST_F(MappedFileTest, APipeIsRefusedAtOnce) {
  const std::string path = folder_.File("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(MappedFile::Open(path).error().message(), HasSubstr("not a regular file"));
}

TEST_F(MappedFileTest, TheBytesStayWhenItMoves) {
  MappedFile first = MappedFile::Open(Written("a", "first")).value();
  const uint8_t* data = first.bytes().data();
  MappedFile moved = std::move(first);
  EXPECT_EQ(moved.bytes().data(), data);
  MappedFile second = MappedFile::Open(Written("b", "second")).value();
  second = std::move(moved);
  EXPECT_EQ(AsText(second.bytes()), "first");
  EXPECT_EQ(second.path(), folder_.File("a"));
}

TEST_F(MappedFileTest, ARenamedOrReplacedFileStaysMapped) {
  const std::string path = Written("a", "old");
  const MappedFile file = MappedFile::Open(path).value();
  Written("a", "newer");
  EXPECT_EQ(AsText(file.bytes()), "old");
  EXPECT_NE(file.identity(), IdentifyFile(path).value());
}

TEST_F(MappedFileTest, HintsTakeAnyRange) {
  const std::string content(10'000, 'x');
  const MappedFile file = MappedFile::Open(Written("a", content)).value();
  for (size_t offset : {0, 1, 4095, 4096, 9'999, 10'000}) {
    for (size_t size : {0, 1, 4096, 5'000}) {
      if (offset + size > content.size()) continue;
      file.WillNeed(offset, size);
      file.DontNeed(offset, size);
    }
  }
  EXPECT_EQ(AsText(file.bytes()), content);
}

}  // namespace
}  // namespace aster
