// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A back end: a processor, or a device with memory of its own. It owns the memory of tensors,
// weights and pages, and runs the operations of forward passes (commands.h); docs/devices.md says
// what a new one has to provide. All back ends compute the same bits. Must not know models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/function_ref.h"
#include "base/result.h"
#include "compute/context.h"
#include "compute/tensor.h"
#include "kv/page_memory.h"

namespace aster::compute {

class Commands;

// Belongs to one thread, like everything that it makes. It outlives its memory; memory outlives the
// commands that use it.
class Backend {
 public:
  // Writes units [begin, end), without gaps, from `out` on.
  using WriteUnits = FunctionRef<void(size_t begin, size_t end, uint8_t* out)>;

  virtual ~Backend() = default;

  // The processor, which packs weights, decodes embeddings and computes angles.
  virtual Context& host() = 0;

  // Uninitialised memory. ResourceExhausted if there is not enough.
  virtual Result<std::unique_ptr<Memory>> Allocate(size_t bytes) = 0;

  // Fills `count` units of `unit_bytes` from `offset` on, which no commands in flight use. Several
  // threads may call `write` for different units; everything is there when this returns.
  virtual Status Write(Memory& memory, size_t offset, size_t count, size_t unit_bytes,
                       WriteUnits write) = 0;

  // The memory of the KV pages that its commands read and write. Outlives the pools made on it.
  virtual kv::PageMemory& pages() = 0;

  virtual std::unique_ptr<Commands> NewCommands() = 0;
};

// A tensor with memory of its own.
class Array {
 public:
  Array() = default;
  // A single row with these numbers.
  static Result<Array> Of(Backend& backend, std::span<const float> numbers);

  // Makes it uninitialised rows without gaps. Keeps its memory if that is enough; no commands in
  // flight may use it.
  Status Shape(Backend& backend, size_t rows, size_t columns, Element element = Element::kF32);

  bool empty() const { return tensor_.empty(); }
  const Tensor& tensor() const { return tensor_; }

 private:
  std::shared_ptr<Memory> memory_;
  Tensor tensor_;
};

}  // namespace aster::compute
