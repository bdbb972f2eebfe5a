// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/manual/manual_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "cli/manual/roff.h"

namespace aster::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Roff, NoTextIsARequestOrAnEscape) {
  EXPECT_EQ(RoffText("a\\b --c 'd' `e`"), "a\\eb \\-\\-c \\(aqd\\(aq \\(gae\\(ga");
  EXPECT_EQ(RoffText(".so /etc/passwd"), "\\&.so /etc/passwd");
  EXPECT_EQ(RoffText("x\n.y"), "x\n\\&.y");
}

TEST(Roff, OnlyIndentedLinesStayLines) {
  EXPECT_EQ(RoffNotes("Some text\nand more:\n  aster a\n  aster b\nText."),
            "Some text\nand more:\n.PP\n.nf\n  aster a\n  aster b\n.fi\n.PP\nText.\n");
  EXPECT_EQ(RoffNotes("  aster a"), ".PP\n.nf\n  aster a\n.fi\n");
}

class Page : public testing::Test {
 protected:
  Page() : root_("Runs things.", "aster"), sub_(*root_.add_subcommand("paint", "Paint a thing")) {
    root_.footer("Of the program.");
    sub_.footer("");
    CLI::Option* const thing =
        sub_.add_option("what", text_, "Thing")->required()->type_name("THING");
    CLI::Option* const colour = sub_.add_option("-c,--colour", text_, "Colour of the thing")
                                    ->check(CLI::IsMember({"red", "blue"}))
                                    ->envname("PAINT_COLOUR")
                                    ->type_name("COLOUR");
    sub_.add_option("--coats", coats_, "Coats")
        ->check(CLI::Range(1, 3))
        ->needs(colour)
        ->excludes(thing)
        ->group("Finish")
        ->type_name("N");
    sub_.add_subcommand("wet", "Say that it is wet");
  }
  std::string Text() const { return ManualPageOf(sub_).text; }

  CLI::App root_;
  CLI::App& sub_;
  std::string text_;
  int coats_ = 0;
};

TEST_F(Page, HasWhatTheOptionsSay) {
  EXPECT_THAT(Text(), HasSubstr(".SH NAME\naster\\-paint \\- Paint a thing\n"));
  EXPECT_THAT(Text(), HasSubstr("\\fBaster paint\\fR [\\fIOPTIONS\\fR] \\fITHING\\fR"));
  EXPECT_THAT(Text(), HasSubstr(".TP\n\\fB\\-c\\fR, \\fB\\-\\-colour\\fR \\fICOLOUR\\fR\n"
                                "Colour of the thing. One of red, blue. "
                                "Environment: PAINT_COLOUR.\n"));
  EXPECT_THAT(Text(), HasSubstr(".SS Finish\n.TP\n\\fB\\-\\-coats\\fR \\fIN\\fR\n"
                                "Coats. From 1 to 3. Only with \\-\\-colour. Not with THING.\n"));
  EXPECT_THAT(Text(), HasSubstr(".SH COMMANDS\n.TP\n\\fBaster\\-paint\\-wet\\fR(1)\n"));
  EXPECT_THAT(Text(), HasSubstr(".SH SEE ALSO\n\\fBaster\\fR(1)"));
}

TEST_F(Page, TheProgramsFooterStandsOnItsPageAlone) {
  sub_.footer(root_.get_footer());
  EXPECT_THAT(Text(), Not(HasSubstr("Of the program.")));
  EXPECT_THAT(ManualPageOf(root_).text, HasSubstr(".SH NOTES\nOf the program.\n"));
}

TEST_F(Page, EveryCommandHasOne) {
  std::vector<std::string> names;
  for (const ManualPage& page : AllManualPages(root_)) names.push_back(page.name);
  EXPECT_THAT(names, testing::ElementsAre("aster", "aster-paint", "aster-paint-wet"));
}

}  // namespace
}  // namespace aster::cli
