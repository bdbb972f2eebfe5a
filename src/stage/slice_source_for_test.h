// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Slices of the test model for stages. Only for tests.
#pragma once

#include <memory>
#include <optional>

#include "plan/model_for_test.h"
#include "stage/slice_source.h"

namespace aster::stage {

using plan::TestModel;

// Slices of the test model, loaded at once or after a number of calls of Take.
class TestSliceSource final : public SliceSource {
 public:
  explicit TestSliceSource(uint64_t kv_bytes = uint64_t{1} << 26, int looks = 0)
      : kv_bytes_(kv_bytes), looks_(looks) {}

  Result<std::unique_ptr<SliceLoading>> Start(const SliceRequest& request) override {
    if (TestModel::Of(request.fingerprint) == nullptr) return NotFound("no such model here");
    return std::make_unique<Loading>(request, kv_bytes_, looks_);
  }

 private:
  class Loading final : public SliceLoading {
   public:
    Loading(const SliceRequest& request, uint64_t kv_bytes, int looks)
        : request_(request), kv_bytes_(kv_bytes), looks_(looks) {}
    Progress progress() const override { return {.done_bytes = 1, .total_bytes = 2}; }
    uint64_t reserved_bytes() const override { return kv_bytes_; }
    std::optional<Result<std::unique_ptr<engine::LocalModel>>> Take() override {
      if (looks_-- > 0) return std::nullopt;
      engine::LocalModelOptions options;
      options.memory = request_.memory;
      options.memory_bytes = request_.kv_bytes > 0 ? request_.kv_bytes : kv_bytes_;
      options.name = request_.memory_name;
      return Result<std::unique_ptr<engine::LocalModel>>(
          TestModel::Of(request_.fingerprint)->Make(request_.slice, options));
    }

   private:
    const SliceRequest request_;
    const uint64_t kv_bytes_;
    int looks_;
  };

  const uint64_t kv_bytes_;
  const int looks_;
};

}  // namespace aster::stage
