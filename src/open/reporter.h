// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Messages to the user while a model is opened. Must not know how they are shown.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace aster::open {

// The progress of a long step. The step ends when the last copy of the function is destroyed. One
// thread at a time may call it.
using StepProgress = std::function<void(uint64_t done_bytes, uint64_t total_bytes)>;

// Not for concurrent use.
class Reporter {
 public:
  virtual ~Reporter() = default;

  // A message that does not stop the work; `kind` is "note" or "warning".
  virtual void Complain(std::string_view kind, std::string_view message) = 0;
  // `label` names the step: "loading".
  virtual StepProgress StartProgress(std::string label) = 0;
};

}  // namespace aster::open
