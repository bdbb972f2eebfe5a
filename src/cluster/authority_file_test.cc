// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/authority_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/home_for_test.h"

namespace aster::cluster {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class AuthorityFile : public ::testing::Test {
 protected:
  Result<Authority> Parse(std::string_view text) const {
    return ParseAuthorityFile(text, code_, made_.authority.certificate);
  }

  const TestAuthority made_;
  const InviteCode code_ = InviteCode::Draw().value();
  const std::string text_ = FormatAuthorityFile(made_.authority, code_).value();
};

TEST_F(AuthorityFile, OpensWithTheCode) {
  const Authority authority = Parse(text_).value();
  EXPECT_EQ(authority.key, made_.authority.key);
  EXPECT_EQ(authority.certificate, made_.authority.certificate);
  EXPECT_THAT(text_, HasSubstr("cluster attic "));
  EXPECT_THAT(text_, Not(HasSubstr("PRIVATE")));
  EXPECT_LT(text_.size(), kMaxAuthorityFileBytes);
}

TEST_F(AuthorityFile, AnotherCodeOrClusterIsRefused) {
  const InviteCode other = InviteCode::Draw().value();
  EXPECT_THAT(ParseAuthorityFile(text_, other, made_.authority.certificate).error().message(),
              HasSubstr("the code is not the one of this file"));
  const TestAuthority elsewhere;
  EXPECT_THAT(ParseAuthorityFile(text_, code_, elsewhere.authority.certificate).error().message(),
              HasSubstr("of another cluster, attic"));
}

TEST_F(AuthorityFile, EveryChangedByteIsNoticed) {
  const size_t name = text_.find("attic");
  for (size_t i = 0; i < text_.size(); ++i) {
    std::string damaged = text_;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    // The cluster's name is only for users.
    const bool is_in_name = i >= name && i < name + 5;
    EXPECT_EQ(Parse(damaged).ok(), is_in_name) << "byte " << i;
    EXPECT_FALSE(Parse(text_.substr(0, i)).ok()) << "cut to " << i;
  }
  EXPECT_FALSE(Parse(text_ + "key 00\n").ok());
}

}  // namespace
}  // namespace aster::cluster
