// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "gguf/part_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/files.h"

namespace aster::gguf {
namespace {

using ::testing::HasSubstr;

std::string ContentOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(PartFile, KeepsTheOrderOfSmallAndLargePieces) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  const std::string path = folder.File("f");
  const std::string large(3 << 20, 'L');
  auto file = PartFile::Create(path);
  ASSERT_TRUE(file.ok()) << file.error().message();
  for (const std::string& piece : {std::string("a"), large, std::string("b"), large}) {
    ASSERT_TRUE(file->Append(AsBytes(piece)).ok());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(file->Finish().ok());
  EXPECT_EQ(ContentOf(path), "a" + large + "b" + large);
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
}

TEST(PartFile, TakesOverWhatACrashLeft) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  std::ofstream(folder.File("f.part")) << "much left by a process that crashed";
  auto file = PartFile::Create(folder.File("f"), /*expected_bytes=*/1000);
  ASSERT_TRUE(file.ok()) << file.error().message();
  ASSERT_TRUE(file->Append(AsBytes("new")).ok());
  ASSERT_TRUE(file->Finish().ok());
  EXPECT_EQ(ContentOf(folder.File("f")), "new");
}

TEST(PartFile, MovesWithItsBytes) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  auto file = PartFile::Create(folder.File("f"));
  ASSERT_TRUE(file.ok()) << file.error().message();
  ASSERT_TRUE(file->Append(AsBytes("kept")).ok());
  PartFile moved = std::move(*file);
  ASSERT_TRUE(moved.Finish().ok());
  EXPECT_EQ(ContentOf(folder.File("f")), "kept");
}

// The limit on a process's file size simulates a disk that becomes full.
TEST(PartFile, ReportsAFailingWriteAndCleansUp) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  std::ofstream(folder.File("f")) << "old";
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {.rlim_cur = 2 << 20, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string error;
  {
    auto file = PartFile::Create(folder.File("f"));
    ASSERT_TRUE(file.ok()) << file.error().message();
    const std::vector<uint8_t> piece(3 << 20);
    if (const Status status = file->Append(piece); !status.ok()) error = status.error().message();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(error, HasSubstr("f.part: File too large"));
  EXPECT_FALSE(std::filesystem::exists(folder.File("f.part")));
  EXPECT_EQ(ContentOf(folder.File("f")), "old");
}

}  // namespace
}  // namespace aster::gguf
