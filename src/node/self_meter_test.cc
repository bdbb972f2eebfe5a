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
  bool gets_layers_ = false;  // layers arrive during a measurement
  Result<engine::MachineSpeed> now_ = SpeedOf(50);
  SelfMeter meter_{SpeedOf(100),
                   [this] {
                     if (gets_layers_) is_idle_ = false;
                     return now_;
                   },
                   [this] { return is_idle_; }, clock_};
};

// The pause until the next measurement grows while they are alike; one that differs counts once it
// is confirmed.
TEST_F(SelfMeterTest, MeasuresAgainWhileIdle) {
  now_ = SpeedOf(100);
  for (const int64_t pause : {60, 120, 240, 480, 960, 1800, 1800}) {
    EXPECT_FALSE(LookAfter(pause - 11)) << pause;
    EXPECT_TRUE(LookAfter(11)) << pause;
  }
  now_ = SpeedOf(50);
  EXPECT_TRUE(LookAfter(1800));
  EXPECT_EQ(meter_.speed().multiply_flops_per_s, 100);
  EXPECT_TRUE(LookAfter(60));
  EXPECT_EQ(meter_.speed().multiply_flops_per_s, 50);
  EXPECT_FALSE(LookAfter(60));
  EXPECT_TRUE(LookAfter(60));
}

// The machine was busy during the first measurement.
TEST_F(SelfMeterTest, OneAtABusyMomentIsForgottenSoon) {
  now_ = SpeedOf(220);
  EXPECT_TRUE(LookAfter(60));
  EXPECT_EQ(meter_.speed().multiply_flops_per_s, 220);
  // It is busy during the third, too.
  now_ = SpeedOf(30);
  EXPECT_TRUE(LookAfter(60));
  EXPECT_EQ(meter_.speed().multiply_flops_per_s, 220);
  now_ = SpeedOf(210);
  EXPECT_TRUE(LookAfter(60));
  EXPECT_EQ(meter_.speed().multiply_flops_per_s, 210);
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
  EXPECT_FALSE(LookAfter(60));
  EXPECT_EQ(meter_.speed().multiply_flops_per_s, 100);
  gets_layers_ = false;
  is_idle_ = true;
  now_ = ResourceExhausted("no memory");
  EXPECT_FALSE(LookAfter(60));
  EXPECT_EQ(meter_.speed().multiply_flops_per_s, 100);
  // Does not measure again at once.
  now_ = SpeedOf(170);
  EXPECT_FALSE(LookAfter(50));
  EXPECT_TRUE(LookAfter(10));
  EXPECT_EQ(meter_.speed().multiply_flops_per_s, 170);
}

TEST(SelfMeter, EndsAtOnce) {
  SystemClock clock;
  SelfMeter meter(
      SpeedOf(1), [] { return SpeedOf(2); }, [] { return true; }, clock,
      {.confirm_ns = 0, .again_ns = 0, .idle_ns = 0, .look_ns = kNsPerMs});
  ASSERT_TRUE(meter.Start().ok());
  while (meter.speed().multiply_flops_per_s < 2) clock.SleepFor(kNsPerMs);
  meter.Stop();
}

}  // namespace
}  // namespace aster::node
