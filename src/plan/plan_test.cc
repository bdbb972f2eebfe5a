// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/plan.h"

#include <gtest/gtest.h>

#include "model/synth/presets.h"
#include "plan/model_for_test.h"

namespace aster::plan {
namespace {

std::string Parsed(std::string_view text, size_t nodes = 2, uint32_t layers = 36) {
  const auto plan = ParseSplit(text, layers, TestNodes(nodes));
  return plan.ok() ? SplitText(*plan) : plan.error().message();
}

TEST(Plan, IsInclusiveWhereItIsTyped) {
  EXPECT_EQ(Parsed("0:20,21:out"), "a=0:20,b=21:out");
  EXPECT_EQ(Parsed("0:20,21:35"), "a=0:20,b=21:out");
  EXPECT_EQ(Parsed(" 0 : 20 , 21 : out "), "a=0:20,b=21:out");
  EXPECT_EQ(Parsed("0,1:out"), "a=0:0,b=1:out");
  EXPECT_EQ(Parsed("21:out,0:20"), "b=0:20,a=21:out");
  EXPECT_EQ(Parsed("b=0:20,a=21:out"), "b=0:20,a=21:out");
  EXPECT_EQ(Parsed("a=0:9,b=10:19,a=20:out"), "a=0:9,b=10:19,a=20:out");
  EXPECT_EQ(Parsed("0:out", 1, 1), "a=0:out");
}

TEST(Plan, GroupsComputeLayersTogether) {
  EXPECT_EQ(Parsed("a+b=0:out"), "a+b=0:out");
  EXPECT_EQ(Parsed("group", 3), "a+b+c=0:out");
  EXPECT_EQ(Parsed(" b + a = 0:20 , c = 21:out", 3), "b+a=0:20,c=21:out");
  EXPECT_EQ(Parsed("2*a+b=0:out"), "2*a+b=0:out");
  EXPECT_EQ(Parsed("3*a+3*b=0:out"), "a+b=0:out");
  EXPECT_EQ(SplitText({ParsePath("a+b", 36, TestNodes(2)).value(), {}}), "a+b=0:out");
  // The part that each node computes.
  const Plan plan = ParseSplit("2*a+b=0:out", 36, TestNodes(2)).value();
  EXPECT_TRUE(plan.has_groups());
  const std::vector<model::Slice> slices = plan.stages[0].Slices();
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(model::RangeOf(slices[0].part, 12), (model::PartRange{0, 8}));
  EXPECT_EQ(model::RangeOf(slices[1].part, 12), (model::PartRange{8, 12}));
  EXPECT_TRUE(plan.stages[0].Has(TestNode(2)));
  EXPECT_FALSE(plan.stages[0].Has(TestNode(3)));
}

TEST(Plan, NodesOfGroupsMayOwnExperts) {
  EXPECT_EQ(Parsed("a+b/experts=0:out"), "a+b/experts=0:out");
  EXPECT_EQ(Parsed("2*a + b /experts * 8 = 0:20, c=21:out", 3), "2*a+b/experts*8=0:20,c=21:out");
  EXPECT_EQ(Parsed("group/experts*8"), "a+b/experts*8=0:out");
  EXPECT_EQ(SplitText({ParsePath("a+b/experts", 36, TestNodes(2)).value(), {}}),
            "a+b/experts=0:out");
  EXPECT_EQ(SplitText({ParsePath("group/experts*2", 36, TestNodes(2)).value(), {}}),
            "a+b/experts*2=0:out");
  const Plan plan = ParseSplit("a+b/experts*8=0:out", 36, TestNodes(2)).value();
  const model::Slice second = plan.stages[0].Slices()[1];
  EXPECT_TRUE(second.part.owns_experts);
  EXPECT_EQ(second.part.replicas, 8u);
  EXPECT_FALSE(ParseSplit("a+b=0:out", 36, TestNodes(2)).value().stages[0].owns_experts);
  EXPECT_NE(Parsed("a/experts=0:out").find("as in a+other/experts"), std::string::npos);
  for (const char* bad : {"a+b/experts8=0:out", "a+b/experts*=0:out", "a+b/experts*x=0:out"})
    EXPECT_NE(Parsed(bad).find("/experts*8 where"), std::string::npos) << bad;
}

TEST(Plan, GroupsThatCannotBeAreRefused) {
  EXPECT_NE(Parsed("a+z=0:out").find("no node is called \"z\""), std::string::npos);
  EXPECT_NE(Parsed("a+=0:out").find("no node is called \"\""), std::string::npos);
  EXPECT_NE(Parsed("0*a+b=0:out").find("a number from 1"), std::string::npos);
  EXPECT_NE(Parsed("a+a=0:out").find("node a is in a split with groups twice"), std::string::npos);
  EXPECT_NE(Parsed("a+b=0:20,a=21:out").find("twice"), std::string::npos);
}

TEST(Plan, APipelinePrefillsAndAGroupDecodes) {
  Plan plan = ParseSplit("a=0:20,b=21:out", 36, TestNodes(2)).value();
  plan.decode = ParsePath("2*b+a", 36, TestNodes(2)).value();
  EXPECT_TRUE(CheckPlan(plan, 36).ok());
  EXPECT_EQ(SplitText(plan), "a=0:20,b=21:out decode 2*b+a=0:out");
  EXPECT_EQ(DescribePlan(plan),
            "a: layers 0 to 20; b: layers 21 to 35 and the head; 2*b+a decodes: layers 0 to 35 and "
            "the head");
  std::swap(plan.stages, plan.decode);
  EXPECT_TRUE(CheckPlan(plan, 36).ok());
  plan.decode = ParseSplit("a+b=0:20,c=21:out", 36, TestNodes(3)).value().stages;
  EXPECT_TRUE(CheckPlan(plan, 36).ok());
  plan.decode[1].node = TestNodes(1)[0];
  EXPECT_FALSE(CheckPlan(plan, 36).ok());
  // A node leads one group of a plan.
  plan.decode = ParseSplit("b+a=0:out", 36, TestNodes(2)).value().stages;
  const Status leads_both = CheckPlan(plan, 36);
  ASSERT_FALSE(leads_both.ok());
  EXPECT_NE(leads_both.error().message().find("node b leads a group of both splits"),
            std::string::npos);
}

TEST(Plan, ErrorsNameTheGapTheOverlapAndASplitThatWorks) {
  EXPECT_NE(Parsed("0:20,22:out").find("no node has layer 21"), std::string::npos);
  EXPECT_NE(Parsed("1:20,21:out").find("no node has layer 0"), std::string::npos);
  EXPECT_NE(Parsed("0:20,21:30").find("no node has layers 31 to 35"), std::string::npos);
  EXPECT_NE(Parsed("0:20,18:out").find("layers 18 to 20 is given twice"), std::string::npos);
  EXPECT_NE(Parsed("0:20,21:40").find("layers 0 to 35"), std::string::npos);
  for (const char* text :
       {"", ",", "0:20,", "0:20,,21:out", "x", "0:", ":5", "5:3", "0:99999999999", "-1:5",
        "0:20;21:out", "out:0", "out", "=0:out", "z=0:out"}) {
    const auto plan = ParseSplit(text, 36, TestNodes(2));
    ASSERT_FALSE(plan.ok()) << text;
    if (std::string_view(text).find('=') != std::string_view::npos) continue;
    EXPECT_NE(plan.error().message().find("0:17,18:out"), std::string::npos) << text;
  }
  EXPECT_NE(Parsed("0:9,10:19,20:out").find("there are 2 nodes"), std::string::npos);
  EXPECT_NE(Parsed("z=0:out").find("there are: a, b"), std::string::npos);
}

TEST(Plan, ExamplesInErrorsWork) {
  for (const uint32_t layers : {1u, 2u, 3u, 80u}) {
    const auto plan = ParseSplit("1:0", layers, TestNodes(2));
    ASSERT_FALSE(plan.ok());
    const std::string& message = plan.error().message();
    const std::string example = message.substr(message.rfind(' ') + 1);
    EXPECT_TRUE(ParseSplit(example, layers, TestNodes(2)).ok()) << message;
  }
}

// Layers that read KV rows of earlier layers are on one node with them.
TEST(Plan, LayersThatShareRowsStayTogether) {
  const model::Shape shape = model::ShapeOfPreset("gemma4-tiny").value();
  const auto moved = [&](std::string_view text) {
    const Plan plan = MovedCuts(ParseSplit(text, 8, TestNodes(3)).value(), shape);
    EXPECT_TRUE(CheckPlan(plan, 8).ok());
    return SplitText(plan);
  };
  EXPECT_EQ(moved("0:0,1:1,2:out"), "a=0:0,b=1:1,c=2:out");
  EXPECT_EQ(moved("0:3,4:out"), "a=0:1,b=2:out");
  EXPECT_EQ(moved("0:1,2:4,5:out"), "a=0:1,c=2:out");
}

// If layers use the rows that an earlier layer has chosen, stages begin with that one.
TEST(Plan, StagesBeginWithLayersThatCan) {
  model::Shape shape;
  shape.layer_count = 7;
  shape.index = {.heads = 1, .dim = 16, .top = 1, .own = {1, 1, 1, 0, 0, 0, 1}};
  const auto moved = [&](std::string_view text) {
    Plan plan = MovedCuts(ParseSplit(text, 7, TestNodes(3)).value(), shape);
    EXPECT_TRUE(CheckPlan(plan, 7).ok());
    return SplitText(plan);
  };
  EXPECT_EQ(moved("0:2,3:5,6:out"), "a=0:1,b=2:5,c=6:out");
  EXPECT_EQ(moved("0:1,2:3,4:out"), "a=0:1,c=2:out");
  shape.index.own = {1, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(moved("0:1,2:3,4:out"), "c=0:out");
  shape.index = {};
  EXPECT_EQ(moved("0:1,2:3,4:out"), "a=0:1,b=2:3,c=4:out");
}

TEST(Plan, SplitsEvenly) {
  EXPECT_EQ(SplitText(EvenSplit(36, TestNodes(2)).value()), "a=0:17,b=18:out");
  EXPECT_EQ(SplitText(EvenSplit(5, TestNodes(3)).value()), "a=0:0,b=1:2,c=3:out");
  EXPECT_EQ(SplitText(EvenSplit(1, TestNodes(3)).value()), "a=0:out");
  EXPECT_FALSE(EvenSplit(4, {}).ok());
  EXPECT_EQ(DescribePlan(EvenSplit(4, TestNodes(2)).value()),
            "a: layers 0 to 1; b: layers 2 to 3 and the head");
}

}  // namespace
}  // namespace aster::plan
