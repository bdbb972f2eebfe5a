// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Further ways to compute a text (engine/verify.h): the KV cache of its beginning comes from the
// disk. Must not know how results are shown.
#pragma once

#include <span>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/verify.h"
#include "gguf/model_files.h"

namespace aster::cli {

// In a temporary folder.
Result<std::vector<engine::VerifiedWay>> VerifyOnDisk(const gguf::ModelFiles& files,
                                                      std::span<const int32_t> tokens,
                                                      const engine::LocalModelOptions& options,
                                                      Clock& clock, const engine::VerifySink& sink);

}  // namespace aster::cli
