// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/lost_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/mapped_file.h"

namespace aster {
namespace {

// Reads the file's last byte after truncating it.
void ReadWhatWasCut(const std::string& path) {
  NameLostFiles();
  const MappedFile other = MappedFile::Open("/proc/self/exe").value();
  MappedFile file;
  file = MappedFile::Open(path).value();
  std::filesystem::resize_file(path, 0);
  const volatile uint8_t last = file.bytes().back();
  static_cast<void>(last);
}

TEST(LostFilesDeathTest, AFileThatIsCutIsNamed) {
  const std::string path = testing::TempDir() + "cut";
  std::ofstream(path) << std::string(100'000, 'x');
  EXPECT_EXIT(ReadWhatWasCut(path), testing::KilledBySignal(SIGBUS),
              path + " cannot be read any more: it was cut");
  std::filesystem::remove(path);
}

TEST(LostFilesDeathTest, OtherBusErrorsAreNoFiles) {
  EXPECT_EXIT(
      {
        NameLostFiles();
        raise(SIGBUS);
      },
      testing::KilledBySignal(SIGBUS), "^$");
}

}  // namespace
}  // namespace aster
