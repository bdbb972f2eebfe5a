// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/machine_state.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"

namespace aster::node {
namespace {

class MachineStateTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    const std::string file = folder_.File(path);
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    ASSERT_TRUE(WriteFileAtomically(file, AsBytes(text)).ok());
  }
  void WriteSupply(const std::string& name, const std::string& type, const std::string& status,
                   const std::string& capacity) {
    const std::string folder = "sys/class/power_supply/" + name;
    Write(folder + "/type", type + "\n");
    if (!status.empty()) Write(folder + "/status", status + "\n");
    if (!capacity.empty()) Write(folder + "/capacity", capacity + "\n");
  }
  MachineState Look() { return LookAtMachine(folder_.File("")); }

  const TemporaryDirectory folder_ = TemporaryDirectory::Create().value();
};

TEST_F(MachineStateTest, ADesktopHasALoadAndNoBattery) {
  EXPECT_EQ(Look().load, 0);
  Write("proc/loadavg", "3.25 2.00 1.00 2/345 6789\n");
  WriteSupply("AC", "Mains", "", "");
  EXPECT_EQ(Look().load, 3.25);
  EXPECT_FALSE(Look().battery);
  Write("proc/loadavg", "nan 2.00\n");
  EXPECT_EQ(Look().load, 0);
}

TEST_F(MachineStateTest, ALaptopHasTheMeanOfItsBatteries) {
  WriteSupply("BAT0", "Battery", "Discharging", "50");
  WriteSupply("BAT1", "Battery", "Not charging", "100");
  WriteSupply("mouse", "Battery", "Discharging", "10");
  Write("sys/class/power_supply/mouse/scope", "Device\n");
  const auto battery = Look().battery;
  ASSERT_TRUE(battery);
  EXPECT_EQ(*battery, (cluster::Battery{.charge = 0.75, .discharges = true}));
  WriteSupply("BAT0", "Battery", "Charging", "51");
  EXPECT_FALSE(Look().battery->discharges);
  WriteSupply("BAT0", "Battery", "Charging", "");
}

}  // namespace
}  // namespace aster::node
