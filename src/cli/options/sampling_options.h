// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The options of every command that samples tokens. Must not know what the tokens are for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/sampler.h"

namespace CLI {
class App;
}

namespace aster::cli {

struct SamplingFlags {
  engine::SamplingOptions options;  // without seed and biases
  std::optional<uint64_t> seed;
  std::vector<std::string> biases;  // "ID=BIAS"

  void Declare(CLI::App& app);
  // An error names the wrong option.
  Result<engine::SamplingOptions> ForEngine(uint32_t vocab_size, uint64_t default_seed) const;
};

}  // namespace aster::cli
