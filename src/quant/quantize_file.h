// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Writes a model with its tensors in other types, by a plan, in bounded memory: weights are read
// from mapped files, converted in pieces by all threads, and written in order. The plan decides the
// type of each tensor.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "gguf/model_files.h"
#include "quant/quantize_plan.h"

namespace aster::quant {

// The difference between the written weights and those read.
struct QuantizeError {
  double squared_error = 0;  // the sum over all weights
  double squared_norm = 0;   // of the weights read

  // Root of the sum of squared differences, relative to that of the weights. 0 for no weights.
  double Relative() const;
  QuantizeError& operator+=(const QuantizeError& other);
};

struct QuantizeReport {
  std::vector<QuantizeError> errors;  // of plan.tensors; zeros if a tensor was copied
  uint64_t file_bytes = 0;
};

// Called at times in the calling thread, with the number of bytes read.
using QuantizeProgress = std::function<void(uint64_t done_bytes, uint64_t total_bytes)>;

// The file appears when it is complete. The result does not depend on the number of threads.
Result<QuantizeReport> WriteQuantized(const gguf::ModelFiles& files, const QuantizePlan& plan,
                                      const std::string& path, ThreadPool& pool,
                                      const QuantizeProgress& progress = {});

}  // namespace aster::quant
