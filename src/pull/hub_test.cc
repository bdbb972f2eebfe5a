// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "pull/hub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pull/http_for_test.h"

namespace aster::pull {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<std::string> kPaths = {"README.md",
                                         "m-Q4_K_M.gguf",
                                         "m-Q4_K_S.gguf",
                                         "m-Q8_0.gguf",
                                         "mmproj-m-f16.gguf",
                                         "BF16/m-BF16-00002-of-00002.gguf",
                                         "BF16/m-BF16-00001-of-00002.gguf"};

TEST(Choose, TakesWhatASelectorMeans) {
  EXPECT_THAT(Choose(kPaths, "q8_0").value(), ElementsAre("m-Q8_0.gguf"));
  EXPECT_THAT(Choose(kPaths, "m-Q4_K_S.gguf").value(), ElementsAre("m-Q4_K_S.gguf"));
  EXPECT_THAT(Choose(kPaths, "BF16").value(),
              ElementsAre("BF16/m-BF16-00001-of-00002.gguf", "BF16/m-BF16-00002-of-00002.gguf"));
  EXPECT_THAT(Choose(kPaths, "BF16/m-BF16-00002-of-00002.gguf").value(), testing::SizeIs(2));
}

TEST(Choose, TakesASmallModelWithoutASelector) {
  EXPECT_THAT(Choose(kPaths, "").value(), ElementsAre("m-Q4_K_M.gguf"));
  EXPECT_THAT(Choose(std::vector<std::string>{"odd.gguf"}, "").value(), ElementsAre("odd.gguf"));
}

TEST(Choose, NamesWhatThereIsWhereItCannotChoose) {
  const auto unknown = Choose(kPaths, "Q4_K");  // not a separate word in any name
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().message(), HasSubstr("m-Q8_0.gguf"));
  const std::vector<std::string> two = {"a-Q8_0.gguf", "b-Q8_0.gguf"};
  EXPECT_THAT(Choose(two, "Q8_0").error().message(), HasSubstr("a-Q8_0.gguf, b-Q8_0.gguf"));
  EXPECT_THAT(Choose(std::vector<std::string>{"README.md"}, "").error().message(),
              HasSubstr("no .gguf file"));
}

TEST(Choose, TakesNoSplitModelWithAMissingPart) {
  const std::vector<std::string> paths = {"m-00001-of-00003.gguf", "m-00003-of-00003.gguf"};
  EXPECT_THAT(Choose(paths, "").error().message(), HasSubstr("2 of its 3 parts"));
}

class ListTest : public testing::Test {
 protected:
  static constexpr const char* kList = "https://hub/api/models/o/m/tree/main?recursive=true";

  Result<std::vector<RemoteFile>> List() {
    return ListFiles(http_, hub_, {.repository = "o/m", .selector = "Q8_0"});
  }

  Hub hub_{.address = "https://hub", .token = "secret"};
  FakeHttp http_;
};

TEST_F(ListTest, HasSizesAndDigests) {
  const std::string digest(64, 'a');
  http_.files[kList].content = R"([{"type":"directory","path":"x"},)"
                               R"({"type":"file","path":"m-Q8_0.gguf","size":12,"lfs":{"oid":")" +
                               digest + R"(","size":12}}])";
  EXPECT_THAT(List().value(),
              ElementsAre(RemoteFile{.url = "https://hub/o/m/resolve/main/m-Q8_0.gguf",
                                     .name = "m-Q8_0.gguf",
                                     .size_bytes = 12,
                                     .sha256 = digest}));
  EXPECT_EQ(http_.requests.back().bearer, "secret");
}

TEST_F(ListTest, GoesOnPageByPageAndNeverToAnotherServer) {
  http_.files[kList] = {.content = "[]", .next_url = "https://hub/page2"};
  http_.files["https://hub/page2"].content = R"([{"type":"file","path":"m-Q8_0.gguf"}])";
  EXPECT_EQ(List().value().size(), 1U);
  http_.files[kList].next_url = "https://hub.elsewhere/page2";
  EXPECT_EQ(List().error().code(), Code::kDataLoss);
  http_.files[kList].next_url = kList;
  EXPECT_THAT(List().error().message(), HasSubstr("no end"));
}

TEST_F(ListTest, ThatIsNoneIsAnError) {
  for (const char* const content : {"", "{}", "[", "7", "[7,{},{\"type\":\"file\",\"path\":7}]"}) {
    http_.files[kList].content = content;
    EXPECT_FALSE(List().ok()) << content;
  }
}

TEST_F(ListTest, SaysWhyTheHubRefuses) {
  for (const auto& [status, words] :
       {std::pair(401, "HF_TOKEN"), {404, "no such repository"}, {500, "later"}}) {
    http_.faults = {{.status = status}};
    const auto list = List();
    ASSERT_FALSE(list.ok());
    EXPECT_THAT(list.error().message(), HasSubstr(words));
    EXPECT_THAT(list.error().message(), testing::Not(HasSubstr("secret")));
  }
}

}  // namespace
}  // namespace aster::pull
