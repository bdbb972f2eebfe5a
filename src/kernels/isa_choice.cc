// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/isa_choice.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/float_mode.h"
#include "base/log.h"

#if defined(__x86_64__)
#include "kernels/x86/amx_check.h"
#endif

namespace aster::kernels {
namespace {

constexpr std::string_view kNames[kIsaCount] = {"ref", "avx2", "avxvnni", "avx512",
                                                "amx", "neon", "i8mm"};

std::vector<Isa> Detect() {
  std::vector<Isa> isas = {Isa::kRef};
#if defined(__x86_64__)
  // This also asks the operating system whether it saves the wide registers.
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2")) {
    isas.push_back(Isa::kAvx2);
    if (__builtin_cpu_supports("avxvnni")) isas.push_back(Isa::kAvxVnni);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vbmi") &&
        __builtin_cpu_supports("gfni")) {
      isas.push_back(Isa::kAvx512);
      const CpuFeatures cpu = DetectCpuFeatures();
      if (cpu.amx_int8 && cpu.amx_bf16 && AllowAmx()) isas.push_back(Isa::kAmx);
    }
  }
#elif defined(__aarch64__)
  const CpuFeatures cpu = DetectCpuFeatures();
  if (cpu.dotprod) isas.push_back(Isa::kNeon);
  if (cpu.dotprod && cpu.i8mm) isas.push_back(Isa::kI8mm);
#endif
  return isas;
}

Isa ChooseFastest() {
  const std::span<const Isa> isas = AvailableIsas();
#if defined(__x86_64__)
  if (isas.back() == Isa::kAmx) {
    const ComputeFloatMode mode;
    if (!AmxComputesAsDescribed()) {
      log::Warn("tile registers do not compute what they should, and are not used");
      return isas[isas.size() - 2];
    }
  }
#endif
  return isas.back();
}

std::string Available() {
  std::string names;
  for (const Isa isa : AvailableIsas()) {
    if (!names.empty()) names += ", ";
    names += IsaName(isa);
  }
  return names;
}

}  // namespace

std::string_view IsaName(Isa isa) { return kNames[static_cast<size_t>(isa)]; }

std::span<const Isa> AvailableIsas() {
  static const std::vector<Isa> isas = Detect();
  return isas;
}

Isa FastestIsa() {
  static const Isa fastest = ChooseFastest();
  return fastest;
}

Result<Isa> IsaFromName(std::string_view name) {
  for (const Isa isa : AvailableIsas()) {
    if (IsaName(isa) == name) return isa;
  }
  for (const std::string_view known : kNames) {
    if (known != name) continue;
    return FailedPrecondition(
        fmt::format("this machine lacks the instruction set {}; it has {}", name, Available()));
  }
  return InvalidArgument(
      fmt::format("no instruction set is called \"{}\"; this machine has {}", name, Available()));
}

Result<Isa> IsaFromEnvironment() {
  const char* name = std::getenv("ASTER_ISA");
  if (name == nullptr || *name == '\0') return FastestIsa();
  return IsaFromName(name).In("ASTER_ISA");
}

}  // namespace aster::kernels
