// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A member's generator that may be late, stalled or broken; for tests.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <thread>
#include <utility>

#include "base/result.h"
#include "engine/generator.h"

namespace aster::ensemble {

class Late final : public engine::Generator {
 public:
  explicit Late(engine::Generator& inner) : inner_(inner) {}

  const model::Shape& shape() const override { return inner_.shape(); }
  engine::Sequence NewSequence() override { return inner_.NewSequence(); }
  Result<engine::RequestId> Submit(engine::Request request) override {
    late_steps = is_warm ? lateness : warm_up;
    request.on_finish = [this, on_finish = std::move(request.on_finish)](const auto& finish) {
      is_warm = is_warm || finish.reason != engine::FinishReason::kCancelled;
      on_finish(finish);
    };
    return inner_.Submit(std::move(request));
  }
  void Cancel(engine::RequestId id) override { inner_.Cancel(id); }
  bool idle() const override { return inner_.idle(); }
  Status Step() override {
    if (is_broken) return Error(Code::kUnavailable, "no node is left");
    if (is_stalled || late_steps-- > 0) return Ok();
    if (after != nullptr && !after->has_finished) return Ok();
    std::this_thread::sleep_for(pause);  // tidy: allow(time) it is the slow one of several threads
    const Status stepped = inner_.Step();
    has_finished = inner_.idle();
    return stepped;
  }
  Status LogitsOf(std::span<const int32_t> tokens, size_t chunk, engine::LogitsSink sink) override {
    return inner_.LogitsOf(tokens, chunk, sink);
  }
  Status ExportRows(engine::Sequence& sequence, uint32_t begin, uint32_t end,
                    kv::KvChunkSink sink) override {
    return inner_.ExportRows(sequence, begin, end, sink);
  }
  Status ImportRows(engine::Sequence& sequence, Bytes chunk) override {
    return inner_.ImportRows(sequence, chunk);
  }

  int lateness = 0;  // steps before a submitted request begins
  int late_steps = 0;
  // Steps until a first request completes, as with a node that loads.
  int warm_up = 0;
  bool is_warm = true;
  std::chrono::microseconds pause{0};  // before every step
  const Late* after = nullptr;         // does nothing before that one has finished; or null
  std::atomic<bool> has_finished = false;
  std::atomic<bool> is_stalled = false;
  bool is_broken = false;

 private:
  engine::Generator& inner_;
};

}  // namespace aster::ensemble
