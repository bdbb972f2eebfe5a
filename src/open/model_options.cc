// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/model_options.h"

#include "base/units.h"
#include "open/builtin_models.h"
#include "vulkan/gpu.h"

namespace aster::open {
namespace {

// The GPUs that ASTER_GPU names, or the first suitable one.
Result<engine::Gpus> OpenChosenGpus(const vulkan::KernelUse& use, compute::Context& host) {
  engine::Gpus gpus;
  for (const vulkan::GpuChoice& choice : TRY(vulkan::GpuChoicesOfEnvironment()))
    gpus.push_back(TRY(vulkan::OpenGpu(choice, use, host)));
  return gpus;
}

}  // namespace

Status ModelOptions::Find() {
  if (paths.empty()) paths.emplace_back(kDefaultModel);
  for (std::string& path : paths) path = TRY(FindModel(path));
  return Ok();
}

Result<engine::LocalModelOptions> ModelOptions::ForEngine() const {
  engine::LocalModelOptions options;
  options.threads = threads;
  options.gpu_layers = TRY(engine::ParseGpuLayers(gpu_layers).In("--gpu-layers"));
  options.open_gpus = OpenChosenGpus;
  options.memory.type = kv_type == "f16"    ? kernels::KvType::kF16
                        : kv_type == "bf16" ? kernels::KvType::kBf16
                        : kv_type == "q8"   ? kernels::KvType::kQ8
                                            : kernels::KvType::kQ8Int;
  if (kv_sinks > 0 && kv_window == 0) {
    return InvalidArgument("--kv-sinks needs a sliding window: give --kv-window too");
  }
  options.memory.window = kv_window;
  options.memory.sinks = kv_sinks;
  options.memory.plain_rows = kv_plain;
  options.memory_bytes = TRY(ParseBytes(kv_memory).In("--kv-memory"));
  options.memory_now = kv_now;
  return options;
}

}  // namespace aster::open
