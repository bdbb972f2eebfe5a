// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Models that clients have pulled to the server's machine. Must not know HTTP, nor how a model is
// fetched.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace aster::serve {

// Safe for concurrent use; nothing waits.
class ModelPulls {
 public:
  struct Progress {
    std::string file;
    std::string digest;  // "sha256:…" where the hub says it, else the file's name
    uint64_t done_bytes = 0;
    uint64_t total_bytes = 0;  // 0: not known
  };
  // Called on another thread, one at a time.
  struct Listener {
    std::function<void(const Progress&)> on_progress;
    std::function<void(const std::string& sentence)> on_note;
    // The last call: what to do to have the model served, or why it is not here.
    std::function<void(const Result<std::string>&)> on_end;
    // Whether the pull may end early: the client has gone.
    std::function<bool()> is_gone;
  };

  virtual ~ModelPulls() = default;
  // By its source, as `aster pull` takes it and as Ollama's clients write it.
  virtual void Pull(std::string source, Listener listener) = 0;
};

}  // namespace aster::serve
