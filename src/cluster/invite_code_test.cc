// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/invite_code.h"
#include "crypto/sha256.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace aster::cluster {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr std::string_view kAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

TEST(InviteCode, IsFourGroupsOfFiveAndNeverTheSame) {
  std::set<std::string> codes;
  std::set<char> symbols;
  for (int i = 0; i < 200; ++i) {
    const InviteCode code = InviteCode::Draw().value();
    EXPECT_THAT(code.ToText(), MatchesRegex("([0-9A-HJKMNP-TV-Z]{5}-){3}[0-9A-HJKMNP-TV-Z]{5}"));
    const InviteCode again = InviteCode::Parse(code.ToText()).value();
    EXPECT_EQ(again.Secret(), code.Secret());
    EXPECT_EQ(again.Id(), code.Id());
    codes.insert(code.ToText());
    for (const char c : code.ToText()) symbols.insert(c);
  }
  EXPECT_EQ(codes.size(), 200U);
  EXPECT_EQ(symbols.size(), 33U) << "every symbol occurs, and the dash";
}

TEST(InviteCode, IsReadAsPeopleTypeIt) {
  // A code with characters that can be misread.
  InviteCode code = InviteCode::Draw().value();
  const auto has_all = [](const std::string& text) {
    return std::ranges::all_of(std::string_view("01V"),
                               [&](char c) { return text.find(c) != std::string::npos; });
  };
  while (!has_all(code.ToText())) code = InviteCode::Draw().value();
  std::string typed = code.ToText();
  for (char& c : typed) {
    if (c == '0') c = 'o';
    if (c == '1') c = 'l';
    if (c == 'V') c = 'u';
    c = static_cast<char>(std::tolower(c));
  }
  EXPECT_EQ(InviteCode::Parse(typed)->ToText(), code.ToText());
  std::ranges::replace(typed, 'l', 'I');
  std::ranges::replace(typed, '-', ' ');
  EXPECT_EQ(InviteCode::Parse("  " + typed + " ")->ToText(), code.ToText());
  std::erase(typed, ' ');
  EXPECT_EQ(InviteCode::Parse(typed)->ToText(), code.ToText());
}

TEST(InviteCode, MistakesInTypingAreFound) {
  // A wrong symbol, and two swapped ones, are detected in all but one of a thousand cases.
  int tries = 0;
  int missed = 0;
  for (int round = 0; round < 20; ++round) {
    const std::string code = InviteCode::Draw()->ToText();
    for (size_t i = 0; i < code.size(); ++i) {
      if (code[i] == '-') continue;
      for (const char c : kAlphabet) {
        if (c == code[i]) continue;
        std::string wrong = code;
        wrong[i] = c;
        ++tries;
        missed += InviteCode::Parse(wrong).ok();
      }
      if (i + 1 == code.size() || code[i + 1] == '-' || code[i] == code[i + 1]) continue;
      std::string swapped = code;
      std::swap(swapped[i], swapped[i + 1]);
      ++tries;
      missed += InviteCode::Parse(swapped).ok();
    }
  }
  EXPECT_LT(missed, tries / 300) << "of " << tries;
}

TEST(InviteCode, ErrorsSayWhatToCompare) {
  const std::string code = InviteCode::Draw()->ToText();
  EXPECT_THAT(InviteCode::Parse("").error().message(), HasSubstr("has 0 letters and digits of 20"));
  EXPECT_THAT(InviteCode::Parse(code.substr(0, 22)).error().message(), HasSubstr("19 letters"));
  EXPECT_THAT(InviteCode::Parse(code + "7").error().message(), HasSubstr("four groups of five"));
  EXPECT_THAT(InviteCode::Parse("K7QMP_").error().message(), HasSubstr("not a code"));
  std::string wrong = code;
  wrong.front() = wrong.front() == '2' ? '3' : '2';
  if (!InviteCode::Parse(wrong).ok()) {
    EXPECT_THAT(InviteCode::Parse(wrong).error().message(), HasSubstr("letter by letter"));
  }
}

TEST(InviteCode, NeitherIdNorSecretTellTheOther) {
  const InviteCode code = InviteCode::Draw().value();
  EXPECT_EQ(code.Id().size(), 16U);
  EXPECT_EQ(code.Secret().size(), 32U);
  const crypto::Sha256Digest of_id = crypto::Sha256Of(AsBytes(code.Id()));
  EXPECT_NE(code.Secret(), std::vector<uint8_t>(of_id.begin(), of_id.end()));
}

}  // namespace
}  // namespace aster::cluster
