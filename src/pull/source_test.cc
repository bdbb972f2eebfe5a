// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "pull/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aster::pull {
namespace {

using ::testing::HasSubstr;

TEST(Source, OfAHubHasARepositoryARevisionAndASelector) {
  EXPECT_EQ(std::get<HubSource>(ParseSource("hf:org/model-GGUF").value()),
            (HubSource{.repository = "org/model-GGUF", .revision = "main", .selector = ""}));
  EXPECT_EQ(std::get<HubSource>(ParseSource("hf:org/m@v1.2:Q4_K_M").value()),
            (HubSource{.repository = "org/m", .revision = "v1.2", .selector = "Q4_K_M"}));
  EXPECT_EQ(
      std::get<HubSource>(ParseSource("hf:org/m:BF16/m-00001-of-00003.gguf").value()).selector,
      "BF16/m-00001-of-00003.gguf");
}

TEST(Source, IsReadAsItIsWritten) {
  for (const std::string_view text :
       {"hf:org/m", "hf:org/m:Q4_K_M", "hf:org/m@abc:a/b.gguf", "https://host/a/b.gguf"}) {
    EXPECT_EQ(ToText(ParseSource(text).value()), text);
  }
}

TEST(Source, ThatNamesNothingOrLeadsElsewhereIsRefused) {
  for (const std::string_view text :
       {"hf:", "hf:org", "hf:/m", "hf:org/", "hf:../m", "hf:org/..",
        "hf:org/m:", "hf:org/m:../a.gguf", "hf:org/m:/a", "hf:org/m@", "hf:org/m@a b",
        "hf:org/m/more", "hf:org/m?x", "nova", "ftp://host/a.gguf", "https://", "https:///a",
        "http://host/a b.gguf", ""}) {
    const auto source = ParseSource(text);
    ASSERT_FALSE(source.ok()) << text;
    EXPECT_THAT(source.error().message(), HasSubstr("hf:ORG/REPO")) << text;
  }
}

TEST(Source, DoesNotShowAPassword) {
  EXPECT_EQ(ToText(UrlSource{"https://me:secret@host/a.gguf"}), "https://host/a.gguf");
  EXPECT_EQ(ToText(UrlSource{"https://host/a@b.gguf"}), "https://host/a@b.gguf");
}

TEST(FileName, IsTheLastPartOfThePath) {
  EXPECT_EQ(FileNameOf({"https://host/a/m%2Dx.gguf?download=true#top"}).value(), "m-x.gguf");
  for (const char* const url :
       {"https://host", "https://host/", "https://host/a", "https://host/..%2fa.gguf",
        "https://host/%2e%2e", "https://host/?a.gguf"}) {
    EXPECT_FALSE(FileNameOf({url}).ok()) << url;
  }
}

}  // namespace
}  // namespace aster::pull
