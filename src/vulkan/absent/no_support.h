// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The error of a program without GPU support.
#pragma once

#include "base/result.h"

namespace aster::vulkan {

inline Error NoSupport() {
  return Unimplemented(
      "this program was built without GPU support; install glslc and Vulkan's headers "
      "(tools/setup does) and build it again");
}

}  // namespace aster::vulkan
