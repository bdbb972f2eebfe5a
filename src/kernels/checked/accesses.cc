// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What kernels call for each of their accesses where addresses are checked (CMakeLists.txt): the
// sanitizer's own functions walk through the shadow of a vector and take more time than all the
// rest of a test. These read the first and the last byte, which the compiler checks, as it does
// with a vector where it writes checks into the code. Checks in the code of kernels would take
// twice as long to compile.
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

inline void Check(uintptr_t address, size_t size) {
  const auto* const bytes = reinterpret_cast<const volatile uint8_t*>(address);
  static_cast<void>(bytes[0]);
  static_cast<void>(bytes[size - 1]);
}

}  // namespace

// The names are the compiler's, behind a prefix that we choose.
extern "C" {

void aster_checked_load1(uintptr_t address) { Check(address, 1); }
void aster_checked_load2(uintptr_t address) { Check(address, 2); }
void aster_checked_load4(uintptr_t address) { Check(address, 4); }
void aster_checked_load8(uintptr_t address) { Check(address, 8); }
void aster_checked_load16(uintptr_t address) { Check(address, 16); }
void aster_checked_loadN(uintptr_t address, size_t size) { Check(address, size); }
void aster_checked_store1(uintptr_t address) { Check(address, 1); }
void aster_checked_store2(uintptr_t address) { Check(address, 2); }
void aster_checked_store4(uintptr_t address) { Check(address, 4); }
void aster_checked_store8(uintptr_t address) { Check(address, 8); }
void aster_checked_store16(uintptr_t address) { Check(address, 16); }
void aster_checked_storeN(uintptr_t address, size_t size) { Check(address, size); }

void* aster_checked_memcpy(void* to, const void* from, size_t size) {
  return std::memcpy(to, from, size);
}
void* aster_checked_memmove(void* to, const void* from, size_t size) {
  return std::memmove(to, from, size);
}
void* aster_checked_memset(void* to, int value, size_t size) {
  return std::memset(to, value, size);
}

}  // extern "C"
