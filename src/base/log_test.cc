// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace aster::log {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

constexpr int64_t kWallNs = 1'769'861'084'567'000'000;  // 2026-01-31 12:04:44.567 UTC

std::string Json(std::string_view message, Fields fields) {
  return FormatLine(Format::kJson, Level::kInfo, kWallNs, message, {fields.begin(), fields.end()});
}

// The line without its time, which depends on the time zone.
std::string Text(std::string_view message, Fields fields) {
  return FormatLine(Format::kText, Level::kWarn, kWallNs, message, {fields.begin(), fields.end()})
      .substr(24);
}

TEST(Log, LinesForPrograms) {
  EXPECT_EQ(Json("opened file", {{"path", "a \"b\"\n"}, {"bytes", size_t{12}}, {"delta", -3}}),
            R"({"time":"2026-01-31T12:04:44.567Z","level":"info","message":"opened file",)"
            R"("path":"a \"b\"\n","bytes":12,"delta":-3})"
            "\n");
  EXPECT_THAT(Json("x", {{"on", true}, {"ratio", 0.1}, {"big", 1e300}, {"whole", 2.0F}}),
              EndsWith(R"("on":true,"ratio":0.1,"big":1e+300,"whole":2})"
                       "\n"));
  EXPECT_THAT(Json("x", {{"most", std::numeric_limits<uint64_t>::max()},
                         {"nan", std::numeric_limits<double>::quiet_NaN()},
                         {"inf", -std::numeric_limits<double>::infinity()}}),
              EndsWith(R"("most":18446744073709551615,"nan":"nan","inf":"-inf"})"
                       "\n"));
  EXPECT_THAT(Json("\xFF", {{"\x01", std::string("\xC3")}}),
              EndsWith("\"message\":\"\uFFFD\",\"\\u0001\":\"\uFFFD\"}\n"));
}

TEST(Log, LinesForPeople) {
  EXPECT_EQ(Text("opened file", {{"path", "a.gguf"}, {"bytes", 12U}}),
            "warn  opened file path=a.gguf bytes=12\n");
  EXPECT_EQ(Text("x", {{"path", "my file"}, {"empty", ""}, {"pair", "a=b"}, {"é", "ü"}}),
            "warn  x path=\"my file\" empty=\"\" pair=\"a=b\" \"é\"=\"ü\"\n");
  EXPECT_EQ(Text("two\nlines", {{"key", "\x1b[31m"}}),
            "warn  \"two\\nlines\" key=\"\\u001b[31m\"\n");
  EXPECT_EQ(Text("“naïve” text", {}), "warn  “naïve” text\n");
  EXPECT_EQ(Text("cut \xF0\x9F\x98", {}), "warn  \"cut \uFFFD\"\n");
  EXPECT_THAT(FormatLine(Format::kText, Level::kError, kWallNs, "x", {}),
              MatchesRegex("20[0-9-]+ [0-9:]+:44\\.567 error x\n"));
}

TEST(Log, LevelsHaveNames) {
  for (Level level : {Level::kDebug, Level::kInfo, Level::kWarn, Level::kError, Level::kOff}) {
    EXPECT_EQ(ParseLevel(LevelName(level)).value(), level);
  }
  EXPECT_THAT(ParseLevel("loud").error().message(), HasSubstr("debug, info, warn, error, off"));
}

// Collects log lines, and restores the configuration afterwards.
class LogWriting : public ::testing::Test {
 protected:
  LogWriting() {
    SetSink([this](std::string_view line) { lines_.emplace_back(line); });
  }
  ~LogWriting() override {
    SetSink({});
    Configure(Level::kInfo, Format::kText);
  }

  std::vector<std::string> lines_;
};

TEST_F(LogWriting, OnlyWhatIsImportantEnough) {
  Configure(Level::kWarn, Format::kJson);
  Debug("no");
  Info("no");
  Warn("yes", {{"n", 1}});
  Error("yes too");
  EXPECT_THAT(lines_, ElementsAre(HasSubstr(R"("message":"yes","n":1})"), EndsWith("too\"}\n")));
  EXPECT_FALSE(IsEnabled(Level::kInfo));
  EXPECT_TRUE(IsEnabled(Level::kError));
  Configure(Level::kOff, Format::kJson);
  Error("no");
  EXPECT_EQ(lines_.size(), 2U);
}

TEST_F(LogWriting, BracesAndPercentsAreJustText) {
  Info("{} %v %n {:x}", {{"key", "{0} %d"}});
  EXPECT_THAT(lines_, ElementsAre(EndsWith("info  {} %v %n {:x} key=\"{0} %d\"\n")));
}

TEST_F(LogWriting, LinesOfManyThreadsStayWhole) {
  constexpr int kThreads = 4;
  constexpr int kLines = 250;
  Configure(Level::kInfo, Format::kJson);
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([thread] {
      for (int line = 0; line < kLines; ++line) Info("line", {{"thread", thread}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lines_.size(), static_cast<size_t>(kThreads * kLines));
  for (const std::string& line : lines_) {
    EXPECT_THAT(line, StartsWith("{\"time\":\""));
    EXPECT_THAT(line, EndsWith("}\n"));
  }
}

TEST(LogStandardError, IsWhereLinesGo) {
  ::testing::internal::CaptureStderr();
  Info("hello", {{"n", 1}});
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), EndsWith(" info  hello n=1\n"));
}

}  // namespace
}  // namespace aster::log
