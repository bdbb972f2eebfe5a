// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/self_meter.h"

#include <gtest/gtest.h>

namespace aster::node {
namespace {

engine::MachineSpeed SpeedOf(double flops) {
  return {.multiply_flops_per_s = flops, .memory_bytes_per_s = 1, .how = {}};
}

class SelfMeterTest : public testing::Test {
 protected:
  bool LookAfter(int64_t seconds) {
    clock_.AdvanceTo(clock_.NowNs() + seconds * kNsPerSecond);
    return meter_.Look();
  }

  VirtualClock clock_;
  bool is_idle_ = true;
  bool gets_layers_ = false;  // while it measures
  Result<engine::MachineSpeed> now_ = SpeedOf(50);
  SelfMeter meter_{SpeedOf(100),
                   [this] {
                     if (gets_layers_) is_idle_ = false;
                     return now_;
                   },
                   [this] { return is_idle_; }, clock_};
};

TEST_F(SelfMeterTest, MeasuresAnewWhileIdle) {
  EXPECT_FALSE(LookAfter(1700));
  EXPECT_EQ(meter_.speed().multiply_flops_per_s, 100);
  EXPECT_TRUE(LookAfter(100));
  EXPECT_EQ(meter_.speed().multiply_flops_per_s, 50);
  EXPECT_FALSE(LookAfter(1000));
  EXPECT_TRUE(LookAfter(800));
}

TEST_F(SelfMeterTest, WaitsUntilThereIsNothingToCompute) {
  is_idle_ = false;
  EXPECT_FALSE(LookAfter(3600));
  is_idle_ = true;
  EXPECT_FALSE(LookAfter(50));
  EXPECT_TRUE(LookAfter(10));
}

TEST_F(SelfMeterTest, LayersThatComeMeanwhileSpoilIt) {
  gets_layers_ = true;
  EXPECT_FALSE(LookAfter(1800));
  EXPECT_EQ(meter_.speed().multiply_flops_per_s, 100);
  gets_layers_ = false;
  is_idle_ = true;
  now_ = ResourceExhausted("no memory");
  EXPECT_FALSE(LookAfter(60));
  EXPECT_EQ(meter_.speed().multiply_flops_per_s, 100);
  // Not at once again.
  now_ = SpeedOf(70);
  EXPECT_FALSE(LookAfter(60));
  EXPECT_TRUE(LookAfter(1740));
  EXPECT_EQ(meter_.speed().multiply_flops_per_s, 70);
}

TEST(SelfMeter, EndsAtOnce) {
  SystemClock clock;
  SelfMeter meter(
      SpeedOf(1), [] { return SpeedOf(2); }, [] { return true; }, clock,
      {.again_ns = 0, .idle_ns = 0, .look_ns = kNsPerMs});
  ASSERT_TRUE(meter.Start().ok());
  while (meter.speed().multiply_flops_per_s < 2) clock.SleepFor(kNsPerMs);
  meter.Stop();
}

}  // namespace
}  // namespace aster::node
