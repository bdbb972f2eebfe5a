// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The threads that a computation may use and the instruction set that it runs on. Passed by
// reference; there is no global one.
#pragma once

#include "base/thread_pool.h"
#include "kernels/attention.h"
#include "kernels/isa.h"
#include "kernels/ops.h"

namespace aster::compute {

// One computation at a time: its pool runs one call at a time.
struct Context {
  ThreadPool& pool;
  const kernels::Isa isa;

  const kernels::OpsTable& ops() const { return kernels::Ops(isa); }
  const kernels::AttentionTable& attention() const { return kernels::Attention(isa); }
};

}  // namespace aster::compute
