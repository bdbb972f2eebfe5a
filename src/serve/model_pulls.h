// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Pulls models to the server's machine for clients. Must not know HTTP, nor how a model is fetched.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace aster::serve {

// Safe for concurrent use; nothing blocks.
class ModelPulls {
 public:
  struct Progress {
    std::string file;
    std::string digest;  // "sha256:…" if the hub gives it, otherwise the file's name
    uint64_t done_bytes = 0;
    uint64_t total_bytes = 0;  // 0: unknown
  };
  // Called on another thread, one at a time.
  struct Listener {
    std::function<void(const Progress&)> on_progress;
    std::function<void(const std::string& sentence)> on_note;
    // The last call: how to have the model served, or the error.
    std::function<void(const Result<std::string>&)> on_end;
    // Whether the client is gone, so that the pull may end early.
    std::function<bool()> is_gone;
  };

  virtual ~ModelPulls() = default;
  // `source`: as `aster pull` takes it, and as Ollama's clients write it.
  virtual void Pull(std::string source, Listener listener) = 0;
};

}  // namespace aster::serve
