// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A second back end of the processor in place of a GPU: with limited memory, and lost at a chosen
// moment together with its pages. Only for tests.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "compute/cpu/backend.h"
#include "compute/cpu/commands.h"
#include "engine/local_model.h"

namespace aster::engine {

inline constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

// How a test's GPU behaves, and what it has done.
struct FakeGpuPlan {
  uint64_t said_bytes = kUnlimited;  // that it claims to have
  uint64_t bytes = kUnlimited;       // that it has
  uint64_t batches = kUnlimited;     // that it computes; the next one loses it
  uint32_t looks = 0;                // polls until every other batch is done; others take one
  uint64_t pages = kUnlimited;       // blocks of pages that it maps; the next one loses it
  bool shares_memory = false;        // its memory is the machine's main memory
  bool is_lost = false;
  std::set<kv::MemoryBlock*> blocks = {};
  uint64_t submitted = 0;  // batches
  int in_flight = 0;       // batches in flight
  int most_in_flight = 0;

  // Overwrites its memory with bytes that no computation gives.
  Error Lose() {
    is_lost = true;
    for (kv::MemoryBlock* const block : blocks) std::memset(block->host(), 0xff, block->bytes());
    return {Code::kUnavailable, "the GPU was lost"};
  }
};

// Blocks of the processor's memory that the plan counts.
class FakeBlock final : public kv::MemoryBlock {
 public:
  FakeBlock(FakeGpuPlan& plan, std::unique_ptr<kv::MemoryBlock> block)
      : MemoryBlock(block->host(), block->bytes()), plan_(plan), block_(std::move(block)) {
    plan_.blocks.insert(this);
  }
  ~FakeBlock() override { plan_.blocks.erase(this); }

  Status Zero(size_t offset, size_t count) override {
    return Check([&] { return block_->Zero(offset, count); });
  }
  Status Copy(size_t offset, const MemoryBlock& from, size_t from_offset, size_t count) override {
    return Check([&] { return block_->Copy(offset, from, from_offset, count); });
  }
  Status Read(size_t offset, std::span<uint8_t> out) const override {
    return Check([&] { return block_->Read(offset, out); });
  }
  Status Write(size_t offset, std::span<const uint8_t> in) override {
    return Check([&] { return block_->Write(offset, in); });
  }
  Status GiveBack(size_t offset, size_t count) override {
    return Check([&] { return block_->GiveBack(offset, count); });
  }

 private:
  Status Check(FunctionRef<Status()> use) const {
    if (plan_.is_lost) return Error(Code::kUnavailable, "the GPU was lost");
    return use();
  }

  FakeGpuPlan& plan_;
  const std::unique_ptr<kv::MemoryBlock> block_;
};

class FakePages final : public kv::PageMemory {
 public:
  explicit FakePages(FakeGpuPlan& plan) : plan_(plan) {}

  Result<std::unique_ptr<kv::MemoryBlock>> Map(size_t bytes) override {
    if (plan_.is_lost || plan_.pages-- == 0) return plan_.Lose();
    return std::make_unique<FakeBlock>(plan_, TRY(kv::HostPages().Map(bytes)));
  }

 private:
  FakeGpuPlan& plan_;
};

class FakeCommands final : public compute::CpuCommands {
 public:
  FakeCommands(compute::Context& context, FakeGpuPlan& plan) : CpuCommands(context), plan_(plan) {}

  Status Submit() override {
    if (plan_.is_lost || plan_.batches-- == 0) return plan_.Lose();
    TRY(CpuCommands::Submit());
    if (plan_.looks == 0) return Ok();
    looks_ = plan_.submitted++ % 2 == 0 ? plan_.looks : 1;
    is_in_flight_ = true;
    plan_.most_in_flight = std::max(plan_.most_in_flight, ++plan_.in_flight);
    return Ok();
  }
  Result<bool> Poll() override {
    if (!plan_.is_lost && is_in_flight_ && looks_-- > 0) return false;
    TRY(Wait());
    return true;
  }
  Status Wait() override {
    if (std::exchange(is_in_flight_, false)) --plan_.in_flight;
    looks_ = 0;
    return plan_.is_lost ? Error(Code::kUnavailable, "the GPU was lost") : Ok();
  }

 private:
  bool is_in_flight_ = false;
  uint32_t looks_ = 0;  // polls that find the batch not done
  FakeGpuPlan& plan_;
};

class FakeBackend final : public compute::Backend {
 public:
  FakeBackend(compute::Context& host, FakeGpuPlan& plan) : cpu_(host), plan_(plan), pages_(plan) {}

  compute::Context& host() override { return cpu_.host(); }
  Result<std::unique_ptr<compute::Memory>> Allocate(size_t bytes) override {
    if (bytes > plan_.bytes) return ResourceExhausted("the device has no memory left");
    plan_.bytes -= bytes;
    return cpu_.Allocate(bytes);
  }
  Status Write(compute::Memory& memory, size_t offset, size_t count, size_t unit_bytes,
               WriteUnits write) override {
    return cpu_.Write(memory, offset, count, unit_bytes, write);
  }
  kv::PageMemory& pages() override { return pages_; }
  std::unique_ptr<compute::Commands> NewCommands() override {
    return std::make_unique<FakeCommands>(cpu_.host(), plan_);
  }

 private:
  compute::CpuBackend cpu_;
  FakeGpuPlan& plan_;
  FakePages pages_;
};

class FakeGpu final : public vulkan::Gpu {
 public:
  FakeGpu(compute::Context& host, std::shared_ptr<FakeGpuPlan> plan)
      : plan_(std::move(plan)), backend_(host, *plan_) {}

  compute::Backend& backend() override { return backend_; }
  const std::string& name() const override { return name_; }
  uint64_t available_bytes() const override { return plan_->said_bytes; }
  bool shares_memory() const override { return plan_->shares_memory; }
  bool lost() const override { return plan_->is_lost; }

 private:
  const std::string name_ = "a fake GPU";
  const std::shared_ptr<FakeGpuPlan> plan_;
  FakeBackend backend_;
};

// One GPU for each plan.
inline OpenGpus OpensFakes(std::vector<std::shared_ptr<FakeGpuPlan>> plans) {
  return
      [plans = std::move(plans)](const vulkan::KernelUse&, compute::Context& host) -> Result<Gpus> {
        Gpus gpus;
        for (const auto& plan : plans) gpus.push_back(std::make_unique<FakeGpu>(host, plan));
        return gpus;
      };
}

// A GPU with a new copy of the plan each time that it is opened.
inline OpenGpus OpensFake(const FakeGpuPlan& plan = {}) {
  return [plan](const vulkan::KernelUse&, compute::Context& host) -> Result<Gpus> {
    Gpus gpus;
    gpus.push_back(std::make_unique<FakeGpu>(host, std::make_shared<FakeGpuPlan>(plan)));
    return gpus;
  };
}

inline LocalModelOptions WithGpuLayers(std::optional<uint32_t> layers, OpenGpus open_gpus) {
  LocalModelOptions options;
  options.threads = 1;
  options.memory_bytes = uint64_t{64} << 20;
  options.gpu_layers = {layers};
  options.open_gpus = std::move(open_gpus);
  return options;
}

}  // namespace aster::engine
