// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The self-check finds every mistake in a shader. Not in sanitizer builds, as a driver computes the
// same there, and compiling a hundred more shaders takes minutes.
#include <algorithm>

#include "vulkan/check/check_arithmetic.h"
#include "vulkan/check/check_test_support.h"
#include "vulkan/check/mutations_test_support.h"
#include "vulkan/check/self_check.h"

namespace aster::vulkan {
namespace {

class MutationsTest : public KernelTest {};
class MutationTest : public KernelTest, public testing::WithParamInterface<Mutation> {};

// The shader with the mistake in place of the right one.
ShaderSource SourceWith(const Mutation& mutation) {
  return [mutation](std::string_view name) {
    if (name == mutation.shader) return mutation.words;
    const auto emulated = EmulatedShader(name);
    return emulated.empty() ? BuiltInShader(name) : emulated;
  };
}

// Runs only the check that has to find the mistake.
Status RunCheck(Device& device, const Arithmetic& arithmetic, const Mutation& mutation) {
  const ShaderSource source = SourceWith(mutation);
  if (mutation.check == "arithmetic") {
    const auto chosen = ChooseArithmetic(device, source);
    return chosen.ok() ? Ok() : Status(chosen.error());
  }
  const auto kernels = TRY(Kernels::Create(device, source, arithmetic));
  Workbench bench(*kernels);
  for (const KernelCheck& check : KernelChecks(KernelUse::All())) {
    if (check.name == mutation.check) return check.run(bench);
  }
  kernels->UseMatrices(kEmulatedTile, kEmulatedElements);
  for (const KernelCheck& check : MatrixChecks(KernelUse::All())) {
    if (check.name == mutation.check) return check.run(bench);
  }
  return NotFound("no check of that name");
}

TEST_P(MutationTest, IsFound) {
  const Status status = RunCheck(device(), kernels().arithmetic(), GetParam());
  ASSERT_FALSE(status.ok()) << "the self-check accepts this shader";
  const bool refused = GetParam().check == "arithmetic";
  EXPECT_EQ(status.error().code(), refused ? Code::kFailedPrecondition : Code::kDataLoss)
      << status.error().message();
}

std::string NameOfMutation(const testing::TestParamInfo<Mutation>& mutation) {
  return std::string(mutation.param.name);
}

INSTANTIATE_TEST_SUITE_P(Every, MutationTest, testing::ValuesIn(Mutations()), NameOfMutation);

// The whole self-check, as in the program: the device is refused, and the error names the operation
// and the driver.
TEST_F(MutationsTest, ARefusalNamesTheOperationAndTheDriver) {
  const auto mutations = Mutations();
  const auto found = std::find_if(mutations.begin(), mutations.end(), [](const Mutation& mutation) {
    return mutation.shader == "prepare_per_32";
  });
  ASSERT_NE(found, mutations.end());
  const auto opened = OpenCheckedKernels(device(), SourceWith(*found), {});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code(), Code::kFailedPrecondition);
  EXPECT_NE(opened.error().message().find("activations as int8 per 32"), std::string::npos);
  EXPECT_NE(opened.error().message().find(device().traits().driver), std::string::npos);
}

}  // namespace
}  // namespace aster::vulkan
