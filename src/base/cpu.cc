// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/cpu.h"

#include <cstdint>
#include <string_view>
#include <utility>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace aster {
namespace {

#if defined(__x86_64__)

struct CpuidRegisters {
  uint32_t eax = 0;
  uint32_t ebx = 0;
  uint32_t ecx = 0;
  uint32_t edx = 0;
};

// All zero if the processor does not know the leaf.
CpuidRegisters Cpuid(uint32_t leaf, uint32_t subleaf) {
  CpuidRegisters r;
  if (__get_cpuid_max(0, nullptr) >= leaf) __cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
  return r;
}

constexpr bool Bit(uint32_t word, int bit) { return ((word >> bit) & 1) != 0; }

// Which register sets the system saves when it switches threads: the word XCR0.
uint64_t SavedRegisterSets() {
  uint32_t low;
  uint32_t high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t{high} << 32) | low;
}

constexpr uint64_t kAvxState = 0x6;                      // SSE and the upper halves of ymm
constexpr uint64_t kAvx512State = 0xE0 | kAvxState;      // masks, upper halves of zmm, zmm16-31
constexpr uint64_t kAmxState = (1U << 17) | (1U << 18);  // tile configuration and tile data

CpuFeatures Detect() {
  const CpuidRegisters basic = Cpuid(1, 0);
  CpuFeatures f;
  f.sse42 = Bit(basic.ecx, 20);
  const bool system_uses_xsave = Bit(basic.ecx, 27);
  if (!system_uses_xsave) return f;

  const uint64_t saved = SavedRegisterSets();
  const CpuidRegisters extended = Cpuid(7, 0);
  const CpuidRegisters more = extended.eax >= 1 ? Cpuid(7, 1) : CpuidRegisters{};
  if ((saved & kAvxState) == kAvxState) {
    f.avx = Bit(basic.ecx, 28);
    f.f16c = f.avx && Bit(basic.ecx, 29);
    f.fma = f.avx && Bit(basic.ecx, 12);
    f.avx2 = f.avx && Bit(extended.ebx, 5);
    f.avx_vnni = f.avx2 && Bit(more.eax, 4);
  }
  if ((saved & kAvx512State) == kAvx512State && Bit(extended.ebx, 16)) {
    f.avx512f = true;
    f.avx512dq = Bit(extended.ebx, 17);
    f.avx512bw = Bit(extended.ebx, 30);
    f.avx512vl = Bit(extended.ebx, 31);
    f.avx512_vnni = Bit(extended.ecx, 11);
    f.avx512_bf16 = Bit(more.eax, 5);
    f.avx512_fp16 = Bit(extended.edx, 23);
  }
  if ((saved & kAmxState) == kAmxState && Bit(extended.edx, 24)) {
    f.amx_tile = true;
    f.amx_bf16 = Bit(extended.edx, 22);
    f.amx_int8 = Bit(extended.edx, 25);
  }
  return f;
}

#elif defined(__aarch64__)

CpuFeatures Detect() {
  const uint64_t first = getauxval(AT_HWCAP);
  const uint64_t second = getauxval(AT_HWCAP2);
  CpuFeatures f;
  f.neon = (first & HWCAP_ASIMD) != 0;
  f.dotprod = (first & HWCAP_ASIMDDP) != 0;
  f.sve = (first & HWCAP_SVE) != 0;
  f.i8mm = (second & HWCAP2_I8MM) != 0;
  f.bf16 = (second & HWCAP2_BF16) != 0;
  return f;
}

#else

CpuFeatures Detect() { return {}; }

#endif

}  // namespace

CpuFeatures DetectCpuFeatures() { return Detect(); }

bool AllowAmx() {
#if defined(__x86_64__)
  if (!Detect().amx_tile) return false;
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;               // its bit in XCR0
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

std::string CpuFeatures::ToString() const {
  const std::pair<bool, std::string_view> names[] = {
      {sse42, "sse4.2"},
      {avx, "avx"},
      {f16c, "f16c"},
      {fma, "fma"},
      {avx2, "avx2"},
      {avx_vnni, "avx_vnni"},
      {avx512f, "avx512f"},
      {avx512bw, "avx512bw"},
      {avx512vl, "avx512vl"},
      {avx512dq, "avx512dq"},
      {avx512_vnni, "avx512_vnni"},
      {avx512_bf16, "avx512_bf16"},
      {avx512_fp16, "avx512_fp16"},
      {amx_tile, "amx_tile"},
      {amx_int8, "amx_int8"},
      {amx_bf16, "amx_bf16"},
      {neon, "neon"},
      {dotprod, "dotprod"},
      {i8mm, "i8mm"},
      {bf16, "bf16"},
      {sve, "sve"},
  };
  std::string text;
  for (const auto& [present, name] : names) {
    if (!present) continue;
    if (!text.empty()) text += ' ';
    text += name;
  }
  return text;
}

}  // namespace aster
