// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/self_meter.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "base/log.h"

namespace aster::node {
namespace {

// Two measurements differ if their ratio is larger.
constexpr double kSpeedsDiffer = 1.15;

bool AreUnlike(double one, double other) {
  return std::max(one, other) > kSpeedsDiffer * std::min(one, other);
}

}  // namespace

SelfMeter::SelfMeter(engine::MachineSpeed first, Measure measure, IsIdle is_idle, Clock& clock,
                     const SelfMeterOptions& options)
    : measure_(std::move(measure)),
      is_idle_(std::move(is_idle)),
      clock_(clock),
      options_(options),
      last_(first),
      measured_ns_(clock.NowNs()),
      pause_ns_(options.confirm_ns),
      idle_since_ns_(clock.NowNs()),
      speed_(std::move(first)) {}

SelfMeter::~SelfMeter() { Stop(); }

Status SelfMeter::Start() {
  try {
    thread_ = std::thread([this] { Main(); });
  } catch (const std::system_error& error) {
    return ResourceExhausted(std::string("no thread to measure this machine: ") + error.what());
  }
  return Ok();
}

void SelfMeter::Stop() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mu_);
    stopping_ = true;
    stop_asked_.NotifyAll();
  }
  thread_.join();
}

engine::MachineSpeed SelfMeter::speed() const {
  const MutexLock lock(mu_);
  return speed_;
}

bool SelfMeter::Look() {
  const int64_t now_ns = clock_.NowNs();
  if (!is_idle_()) {
    idle_since_ns_ = now_ns;
    return false;
  }
  const bool is_due = now_ns - measured_ns_ >= pause_ns_;
  if (!is_due || now_ns - idle_since_ns_ < options_.idle_ns) return false;
  auto measured = measure_();
  // Layers assigned meanwhile have used the machine, too.
  if (!is_idle_()) {
    idle_since_ns_ = clock_.NowNs();
    return false;
  }
  measured_ns_ = clock_.NowNs();
  if (!measured.ok()) {
    log::Debug("this machine was not measured again", {{"why", measured.error().message()}});
    return false;
  }
  log::Debug("measured this machine again",
             {{"multiply_flops_per_s", measured->multiply_flops_per_s},
              {"memory_bytes_per_s", measured->memory_bytes_per_s}});
  Take(*measured);
  return true;
}

void SelfMeter::Take(const engine::MachineSpeed& measured) {
  const bool differs = AreUnlike(measured.multiply_flops_per_s, last_.multiply_flops_per_s) ||
                       AreUnlike(measured.memory_bytes_per_s, last_.memory_bytes_per_s);
  pause_ns_ = differs ? options_.confirm_ns : std::min(2 * pause_ns_, options_.again_ns);
  const MutexLock lock(mu_);
  speed_ = measured;
  speed_.multiply_flops_per_s = std::max(measured.multiply_flops_per_s, last_.multiply_flops_per_s);
  speed_.memory_bytes_per_s = std::max(measured.memory_bytes_per_s, last_.memory_bytes_per_s);
  last_ = measured;
}

void SelfMeter::Main() {
  for (;;) {
    {
      const MutexLock lock(mu_);
      const int64_t deadline_ns = clock_.NowNs() + options_.look_ns;
      while (!stopping_ && clock_.WaitUntil(stop_asked_, mu_, deadline_ns)) {
      }
      if (stopping_) return;
    }
    Look();
  }
}

}  // namespace aster::node
