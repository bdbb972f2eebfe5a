// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/isa_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/cpu.h"

namespace aster::kernels {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Restores ASTER_ISA after the test.
class IsaEnvironmentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* earlier = std::getenv("ASTER_ISA")) earlier_ = earlier;
  }
  void TearDown() override {
    if (earlier_.empty()) {
      unsetenv("ASTER_ISA");
    } else {
      setenv("ASTER_ISA", earlier_.c_str(), 1);
    }
  }

 private:
  std::string earlier_;
};

TEST(IsaTest, TheReferenceIsAlwaysThereAndComesFirst) {
  ASSERT_FALSE(AvailableIsas().empty());
  EXPECT_EQ(AvailableIsas().front(), Isa::kRef);
}

TEST(IsaTest, EveryAvailableOneIsFoundByItsName) {
  for (const Isa isa : AvailableIsas()) {
    const Result<Isa> found = IsaFromName(IsaName(isa));
    ASSERT_TRUE(found.ok()) << IsaName(isa);
    EXPECT_EQ(*found, isa);
  }
}

TEST(IsaTest, AnUnknownNameSaysWhatThereIs) {
  for (const std::string_view name : {"sse9", "AVX2", "avx512 ", ""}) {
    const Result<Isa> found = IsaFromName(name);
    ASSERT_FALSE(found.ok()) << name;
    EXPECT_EQ(found.error().code(), Code::kInvalidArgument);
    EXPECT_THAT(found.error().message(), AllOf(HasSubstr(name), HasSubstr("ref")));
  }
}

TEST(IsaTest, AnotherMachinesInstructionSetIsLacking) {
#if defined(__x86_64__)
  const Result<Isa> found = IsaFromName("neon");
#else
  const Result<Isa> found = IsaFromName("avx2");
#endif
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code(), Code::kFailedPrecondition);
  EXPECT_THAT(found.error().message(), HasSubstr("this machine lacks"));
}

TEST(IsaTest, MatrixProductsOfBytesAreThereWhereTheProcessorHasThem) {
  const CpuFeatures cpu = DetectCpuFeatures();
  EXPECT_EQ(IsaFromName("i8mm").ok(), cpu.dotprod && cpu.i8mm);
  EXPECT_EQ(FastestIsa() == Isa::kI8mm, cpu.dotprod && cpu.i8mm);
}

TEST_F(IsaEnvironmentTest, TheEnvironmentForcesOne) {
  setenv("ASTER_ISA", "ref", 1);
  ASSERT_TRUE(IsaFromEnvironment().ok());
  EXPECT_EQ(*IsaFromEnvironment(), Isa::kRef);
  setenv("ASTER_ISA", "fast", 1);
  ASSERT_FALSE(IsaFromEnvironment().ok());
  EXPECT_THAT(IsaFromEnvironment().error().message(), HasSubstr("ASTER_ISA"));
}

TEST_F(IsaEnvironmentTest, TheFastestWithoutIt) {
  unsetenv("ASTER_ISA");
  EXPECT_EQ(*IsaFromEnvironment(), FastestIsa());
  setenv("ASTER_ISA", "", 1);
  EXPECT_EQ(*IsaFromEnvironment(), FastestIsa());
}

}  // namespace
}  // namespace aster::kernels
