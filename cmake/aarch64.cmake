# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
# Builds for 64-bit ARM on another machine, and runs programs in qemu: the modules that need no library of that
# processor; or the whole program, with the folder of libraries that tools/cross-build makes (ASTER_SYSROOT).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)  # googletest asks for it
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)
if(ASTER_SYSROOT)
  list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ASTER_SYSROOT)
  set(CMAKE_SYSROOT "${ASTER_SYSROOT}")
  set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L "${ASTER_SYSROOT}")
  set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
  set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
  set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
  set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
  # pkg-config must not find the packages of this machine.
  set(ENV{PKG_CONFIG_SYSROOT_DIR} "${ASTER_SYSROOT}")
  set(ENV{PKG_CONFIG_LIBDIR}
    "${ASTER_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${ASTER_SYSROOT}/usr/share/pkgconfig")
endif()
