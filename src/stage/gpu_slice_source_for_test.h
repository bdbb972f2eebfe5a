// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Slices of the test model whose last layers a fake GPU computes. Only for tests.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "engine/fake_gpu_for_test.h"
#include "plan/model_for_test.h"
#include "stage/slice_source.h"

namespace aster::stage {

// Slices with a fake GPU each, which fails as `plan` says; or, after a node has lost its GPU,
// slices on the processor. `newest` is the plan of the newest GPU.
class GpuSliceSource final : public SliceSource {
 public:
  explicit GpuSliceSource(const engine::FakeGpuPlan& plan, uint32_t layers = 1)
      : plan_(plan), layers_(layers) {}

  Result<std::unique_ptr<SliceLoading>> Start(const SliceRequest& request) override {
    ++(request.may_use_gpu ? with_gpu : without_gpu);
    newest = std::make_shared<engine::FakeGpuPlan>(plan_);
    return std::make_unique<Loading>(request, layers_, newest);
  }

  std::atomic<int> with_gpu = 0;  // slices that were asked for
  std::atomic<int> without_gpu = 0;
  std::shared_ptr<engine::FakeGpuPlan> newest;  // for the thread that starts loading

 private:
  class Loading final : public SliceLoading {
   public:
    Loading(const SliceRequest& request, uint32_t layers, std::shared_ptr<engine::FakeGpuPlan> plan)
        : request_(request), layers_(layers), plan_(std::move(plan)) {}
    Progress progress() const override { return {.done_bytes = 1, .total_bytes = 2}; }
    uint64_t reserved_bytes() const override { return 1; }
    std::optional<Result<std::unique_ptr<engine::LocalModel>>> Take() override {
      auto options =
          engine::WithGpuLayers(request_.may_use_gpu ? layers_ : 0, engine::OpensFakes({plan_}));
      options.slice = request_.slice;
      options.memory = request_.memory;
      if (request_.kv_bytes > 0) options.memory_bytes = request_.kv_bytes;
      options.name = request_.memory_name;
      return engine::LocalModel::Load(plan::TestModel::Get().files(), options);
    }

   private:
    const SliceRequest request_;
    const uint32_t layers_;
    const std::shared_ptr<engine::FakeGpuPlan> plan_;
  };

  const engine::FakeGpuPlan plan_;
  const uint32_t layers_;
};

}  // namespace aster::stage
