// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/cpu.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace aster {
namespace {

// The processor's features, under the kernel's names.
std::set<std::string> KernelsFlags() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with("flags") && !line.starts_with("Features")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

TEST(Cpu, AgreesWithTheKernel) {
  const std::set<std::string> flags = KernelsFlags();
  if (flags.empty()) GTEST_SKIP() << "/proc/cpuinfo names no flags here";
  const CpuFeatures cpu = DetectCpuFeatures();
#if defined(__x86_64__)
  if (!flags.contains("sse2")) GTEST_SKIP() << "/proc/cpuinfo is another processor's (an emulator)";
  EXPECT_EQ(cpu.sse42, flags.contains("sse4_2"));
  EXPECT_EQ(cpu.avx, flags.contains("avx"));
  EXPECT_EQ(cpu.f16c, flags.contains("f16c"));
  EXPECT_EQ(cpu.fma, flags.contains("fma"));
  EXPECT_EQ(cpu.avx2, flags.contains("avx2"));
  EXPECT_EQ(cpu.avx_vnni, flags.contains("avx_vnni"));
  EXPECT_EQ(cpu.avx512f, flags.contains("avx512f"));
  EXPECT_EQ(cpu.avx512bw, flags.contains("avx512bw"));
  EXPECT_EQ(cpu.avx512vl, flags.contains("avx512vl"));
  EXPECT_EQ(cpu.avx512dq, flags.contains("avx512dq"));
  EXPECT_EQ(cpu.avx512_vnni, flags.contains("avx512_vnni"));
  EXPECT_EQ(cpu.avx512_bf16, flags.contains("avx512_bf16"));
  EXPECT_EQ(cpu.avx512_fp16, flags.contains("avx512_fp16"));
  EXPECT_EQ(cpu.amx_tile, flags.contains("amx_tile"));
  EXPECT_EQ(cpu.amx_int8, flags.contains("amx_int8"));
  EXPECT_EQ(cpu.amx_bf16, flags.contains("amx_bf16"));
#elif defined(__aarch64__)
  if (!flags.contains("asimd")) GTEST_SKIP() << "/proc/cpuinfo is another processor's (emulator)";
  EXPECT_EQ(cpu.neon, flags.contains("asimd"));
  EXPECT_EQ(cpu.dotprod, flags.contains("asimddp"));
  EXPECT_EQ(cpu.i8mm, flags.contains("i8mm"));
  EXPECT_EQ(cpu.bf16, flags.contains("bf16"));
  EXPECT_EQ(cpu.sve, flags.contains("sve"));
#endif
}

TEST(Cpu, NamesWhatIsPresent) {
  EXPECT_EQ(CpuFeatures{}.ToString(), "");
  CpuFeatures cpu;
  cpu.avx2 = cpu.amx_int8 = cpu.dotprod = true;
  EXPECT_EQ(cpu.ToString(), "avx2 amx_int8 dotprod");
}

TEST(Cpu, TilesAreAllowedOnlyWhereTheyExist) {
  if (!DetectCpuFeatures().amx_tile) {
    EXPECT_FALSE(AllowAmx());
  } else {
    EXPECT_TRUE(AllowAmx());
  }
}

}  // namespace
}  // namespace aster
