// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/backend/operations.h"

namespace aster::vulkan {

Error NotOnDevice(Operations operations) {
  return Unimplemented(operations == Operations::kStreams
                           ? "a residual of several streams is not computed on a GPU; give the "
                             "model no layers there"
                           : "attention over latent rows is not computed on a GPU; give the model "
                             "no layers there");
}

}  // namespace aster::vulkan
