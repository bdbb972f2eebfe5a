// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/terminal/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

namespace aster::cli {
namespace {

constexpr uint64_t kMiB = 1 << 20;

// Captures a standard error that is not a terminal.
class ProgressTest : public testing::Test {
 protected:
  ~ProgressTest() override { std::fclose(err_); }
  std::string Said() {
    std::rewind(err_);
    std::string text(1000, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), err_));
    return text;
  }

  std::FILE* const err_ = std::tmpfile();
  Console console_{stdout, err_, Console::Color::kNever};
  VirtualClock clock_;
};

TEST_F(ProgressTest, NothingIsDrawnWhereThereIsNoTerminal) {
  Progress progress(console_, clock_, "m.gguf");
  clock_.AdvanceBy(60 * kNsPerSecond);
  progress.Update(1, 2);
  EXPECT_EQ(Said(), "");
}

TEST_F(ProgressTest, ALineNowAndThenWhereThatIsWanted) {
  {
    Progress progress(console_, clock_, "m.gguf", Progress::Unit::kBytes,
                      Progress::WithoutTerminal::kPlainLines);
    // From an earlier run.
    progress.Update(100 * kMiB, 400 * kMiB);
    EXPECT_EQ(Said(), "");
    clock_.AdvanceBy(10 * kNsPerSecond);
    progress.Update(200 * kMiB, 400 * kMiB);
    clock_.AdvanceBy(kNsPerSecond);
    progress.Update(201 * kMiB, 400 * kMiB);
  }
  EXPECT_EQ(Said(), "m.gguf  50 %  200 MiB of 400 MiB  10.5 MB/s  20.0 s left\n");
}

TEST_F(ProgressTest, ALengthThatIsNotKnownIsNotSaid) {
  Progress progress(console_, clock_, "m.gguf", Progress::Unit::kBytes,
                    Progress::WithoutTerminal::kPlainLines);
  progress.Update(0, 0);
  clock_.AdvanceBy(20 * kNsPerSecond);
  progress.Update(200 * kMiB, 0);
  EXPECT_EQ(Said(), "m.gguf  200 MiB  10.5 MB/s\n");
}

}  // namespace
}  // namespace aster::cli
