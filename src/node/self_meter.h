// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Measures this machine again from time to time while it has no layers, so that plans use its
// present rates and not those of the start. (If it has layers, their times say more.) The better of
// the last two measurements counts, as other programs may be busy during one of them; if they
// differ, the next one comes soon. Must not know what is measured, nor what the figures are for.
#pragma once

#include <functional>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "engine/machine_speed.h"

namespace aster::node {

struct SelfMeterOptions {
  // Until the second measurement; doubled each time that the last two are alike.
  int64_t confirm_ns = 60 * kNsPerSecond;
  int64_t again_ns = 1800 * kNsPerSecond;  // longest pause
  int64_t idle_ns = 60 * kNsPerSecond;     // time without work before a measurement
  int64_t look_ns = 5 * kNsPerSecond;
};

// Start and Stop belong to one thread; speed is safe for concurrent use.
class SelfMeter {
 public:
  using Measure = std::function<Result<engine::MachineSpeed>()>;
  using IsIdle = std::function<bool()>;

  // The clock outlives it; its thread calls the functions.
  SelfMeter(engine::MachineSpeed first, Measure measure, IsIdle is_idle, Clock& clock,
            const SelfMeterOptions& options = {});
  ~SelfMeter();
  SelfMeter(const SelfMeter&) = delete;
  SelfMeter& operator=(const SelfMeter&) = delete;

  Status Start();
  void Stop();

  engine::MachineSpeed speed() const EXCLUDES(mu_);

  // One round of the thread, which tests call without Start. Returns whether it has measured.
  bool Look() EXCLUDES(mu_);

 private:
  void Main() EXCLUDES(mu_);
  void Take(const engine::MachineSpeed& measured) EXCLUDES(mu_);

  const Measure measure_;
  const IsIdle is_idle_;
  Clock& clock_;
  const SelfMeterOptions options_;
  // Used by its thread.
  engine::MachineSpeed last_;
  int64_t measured_ns_;
  int64_t pause_ns_;  // until the next measurement
  int64_t idle_since_ns_;

  mutable Mutex mu_;
  CondVar stop_asked_;
  bool stopping_ GUARDED_BY(mu_) = false;
  engine::MachineSpeed speed_ GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace aster::node
