// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/stops.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace aster::engine {
namespace {

struct Stopped {
  std::string shown;
  std::optional<std::string> found;
  bool operator==(const Stopped&) const = default;
};

// The text before the stop string that ends first, the longest of several.
Stopped Expected(std::string_view text, const std::vector<std::string>& stops) {
  for (size_t end = 1; end <= text.size(); ++end) {
    const std::string_view so_far = text.substr(0, end);
    const std::string* longest = nullptr;
    for (const std::string& stop : stops) {
      if (!so_far.ends_with(stop)) continue;
      if (longest == nullptr || stop.size() > longest->size()) longest = &stop;
    }
    if (longest != nullptr) return {std::string(text.substr(0, end - longest->size())), *longest};
  }
  return {std::string(text), std::nullopt};
}

Stopped InPieces(const std::vector<std::string>& pieces, const std::vector<std::string>& stops) {
  StopStrings matcher(stops);
  std::string shown;
  for (const std::string& piece : pieces) {
    matcher.Push(piece, shown);
    if (matcher.found()) break;
  }
  if (!matcher.found()) matcher.Finish(shown);
  return {shown, matcher.found()};
}

TEST(StopStrings, EndTheTextBeforeThem) {
  EXPECT_EQ(InPieces({"one two STOP three"}, {"STOP"}), (Stopped{"one two ", "STOP"}));
  EXPECT_EQ(InPieces({"one", " S", "T", "OP"}, {"STOP"}), (Stopped{"one ", "STOP"}));
  EXPECT_EQ(InPieces({"one ST", "ONE"}, {"STOP"}), (Stopped{"one STONE", std::nullopt}));
  EXPECT_EQ(InPieces({"one ST"}, {"STOP"}), (Stopped{"one ST", std::nullopt}));
  EXPECT_EQ(InPieces({"any", "thing"}, {}), (Stopped{"anything", std::nullopt}));
  EXPECT_EQ(InPieces({"\n\n"}, {"\n\n", "\n"}), (Stopped{"", "\n"}));
  EXPECT_EQ(InPieces({"xabc"}, {"c", "abc", "bc"}), (Stopped{"x", "abc"}));
}

TEST(StopStrings, TextIsShownAsSoonAsItCannotBecomeOne) {
  StopStrings matcher({"<|end|>", "\nUser:"});
  std::string shown;
  matcher.Push("Hello\nU", shown);
  EXPECT_EQ(shown, "Hello");
  matcher.Push("nknown <", shown);
  EXPECT_EQ(shown, "Hello\nUnknown ");
  matcher.Push("<|e", shown);
  EXPECT_EQ(shown, "Hello\nUnknown <");
  matcher.Push("nd|>", shown);
  EXPECT_EQ(shown, "Hello\nUnknown <");
  EXPECT_EQ(matcher.found(), "<|end|>");
}

TEST(StopStrings, RandomTextsInRandomPiecesEndAlike) {
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    Random random(seed);
    const auto word = [&](size_t length) {
      std::string text;
      for (size_t i = 0; i < length; ++i) text += static_cast<char>('a' + random.NextBelow(2));
      return text;
    };
    std::vector<std::string> stops(random.NextBelow(4));
    for (std::string& stop : stops) stop = word(1 + random.NextBelow(9));
    std::vector<std::string> pieces(random.NextBelow(8));
    std::string text;
    for (std::string& piece : pieces) text += piece = word(random.NextBelow(7));
    ASSERT_EQ(InPieces(pieces, stops), Expected(text, stops)) << seed;
  }
}

TEST(StopStrings, BadOnesAreRefused) {
  const auto refused = [](std::vector<std::string> stops) { return !CheckStopStrings(stops).ok(); };
  EXPECT_FALSE(refused({}));
  EXPECT_FALSE(refused({"a", "é", std::string(1024, 'x')}));
  EXPECT_TRUE(refused({""}));
  EXPECT_TRUE(refused({"a", ""}));
  EXPECT_TRUE(refused({"\xff"}));
  EXPECT_TRUE(refused({"\xc3"}));
  EXPECT_TRUE(refused({std::string(1025, 'x')}));
  EXPECT_TRUE(refused(std::vector<std::string>(65, "x")));
}

}  // namespace
}  // namespace aster::engine
