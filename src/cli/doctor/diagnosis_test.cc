// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/doctor/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/clock.h"
#include "base/files.h"
#include "cli/doctor/facts.h"
#include "cli/doctor/probe.h"

namespace aster::cli {
namespace {

using testing::HasSubstr;

constexpr uint64_t kGiB = uint64_t{1} << 30;

// A machine made of files in a folder; nothing is slow until a test changes them.
class Doctor : public testing::Test {
 protected:
  Doctor() {
    Put("/sys/devices/system/cpu/online", "0-7");
    Put("/proc/loadavg", "0.10 0.20 0.30 1/100 4711");
    Put("/proc/stat", "cpu  100 0 100 9000 0 0 0 0 0 0\ncpu0 1 2 3 4 5 6 7 8 9 0");
    Put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
    Put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance");
    Limits("65536", "8388608");
    Put("/sys/class/net/eth0/operstate", "up");
    Put("/sys/class/net/eth0/speed", "1000");
    Put("/sys/class/net/lo/operstate", "unknown");
    probes_.isa = probes_.fastest_isa = "avx512";
    probes_.usable_cpus = 8;
    probes_.memory_bytes = 16 * kGiB;
    probes_.available_bytes = 12 * kGiB;
    probes_.loopback_ns = 40 * kNsPerUs;
    probes_.gpus = {{.name = "Fast GPU", .why_not_used = ""}};
  }

  void Put(const std::string& path, const std::string& text) {
    const std::string whole = folder_.path() + path;
    ASSERT_TRUE(MakeDirectories(std::filesystem::path(whole).parent_path().string()).ok());
    ASSERT_TRUE(WriteFileAtomically(whole, AsBytes(text + "\n")).ok());
  }
  void Limits(const std::string& files, const std::string& locked) {
    Put("/proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max locked memory         " +
            locked + "              " + locked +
            "              bytes     \n"
            "Max open files            " +
            files + "                 524288               files");
  }
  void PutModel(uint64_t bytes, uint64_t cached_bytes) {
    ModelFact model;
    model.path = "m.gguf";
    model.bytes = bytes;
    model.cached_bytes = cached_bytes;
    model.device_major = 8;
    model.device_minor = 1;
    probes_.models = {model};
  }
  std::vector<Finding> All() { return Diagnose(ReadFacts(KernelFiles(folder_.path()), probes_)); }
  Finding Of(const std::string& subject) {
    for (const Finding& finding : All()) {
      if (finding.subject == subject) return finding;
    }
    ADD_FAILURE() << "nothing is found of " << subject;
    return {};
  }
  void ExpectSlow(const std::string& subject, const std::string& found, const std::string& fix) {
    const Finding finding = Of(subject);
    EXPECT_EQ(finding.level, Level::kSlow) << subject;
    EXPECT_THAT(finding.found, HasSubstr(found));
    EXPECT_THAT(finding.fix, HasSubstr(fix));
    EXPECT_NE(finding.cost, "");
  }

  TemporaryDirectory folder_ = TemporaryDirectory::Create().value();
  Probes probes_;
};

TEST_F(Doctor, FindsNothingSlowWhereNothingIs) {
  for (const Finding& finding : All()) {
    EXPECT_THAT(finding.level, testing::AnyOf(Level::kGood, Level::kUnknown)) << finding.subject;
    EXPECT_EQ(finding.fix, "") << finding.subject;
  }
}

TEST_F(Doctor, AnEmptyMachineIsUnknownAndNotGood) {
  const Facts facts = ReadFacts(KernelFiles(folder_.path() + "/nothing"), probes_);
  for (const Finding& finding : Diagnose(facts)) {
    const bool is_probed = finding.subject == "instruction_set" || finding.subject == "cores" ||
                           finding.subject == "load" || finding.subject == "memory" ||
                           finding.subject == "gpu" || finding.subject == "loopback";
    EXPECT_EQ(finding.level, is_probed ? Level::kGood : Level::kUnknown) << finding.subject;
  }
}

TEST_F(Doctor, Processor) {
  probes_.isa = "ref";
  ExpectSlow("instruction_set", "ref, though this processor has avx512", "unset ASTER_ISA");
  probes_.fastest_isa = "ref";
  ExpectSlow("instruction_set", "plain C++", "--cluster");
  probes_.usable_cpus = 2;
  ExpectSlow("cores", "2 of 8 usable", "taskset");
  Put("/proc/loadavg", "1.50 0.20 0.30 1/100 4711");
  ExpectSlow("load", "1.5 on 2 cores", "ps ");
  Put("/proc/stat", "cpu  100 0 100 700 0 0 0 100 0 0");
  ExpectSlow("stolen_time", "10.0 %", "host");
}

TEST_F(Doctor, GovernorsAreReadAsTheirDriversMeanThem) {
  Put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave");
  Put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "acpi-cpufreq");
  ExpectSlow("cpu_governor", "powersave", "cpufreq/scaling_governor");
  Put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "intel_pstate");
  Put("/sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference", "balance_performance");
  EXPECT_EQ(Of("cpu_governor").level, Level::kGood);
  Put("/sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference", "power");
  ExpectSlow("cpu_governor", "preference power", "energy_performance_preference");
}

TEST_F(Doctor, Memory) {
  probes_.available_bytes = kGiB;
  ExpectSlow("memory", "1.00 GiB available of 16.0 GiB", "--sort=-rss");
  Put("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]");
  ExpectSlow("huge_pages", "never", "echo madvise | sudo tee /sys/kernel/mm");
}

TEST_F(Doctor, Limits) {
  Limits("1024", "unlimited");
  EXPECT_EQ(Of("open_files").level, Level::kNote);
  EXPECT_EQ(Of("open_files").fix, "ulimit -n 4096");
  EXPECT_THAT(Of("locked_memory").found, HasSubstr("limit none"));
}

TEST_F(Doctor, AModelThatIsNotInThePageCache) {
  Put("/sys/dev/block/8:1/queue/rotational", "1");
  PutModel(4 * kGiB, kGiB);
  ExpectSlow("model", "4.00 GiB, of which 1.00 GiB in the page cache, on a disk that",
             "cat m.gguf > /dev/null");
  EXPECT_THAT(Of("model").cost, HasSubstr("reads 3.00 GiB"));
  PutModel(4 * kGiB, 4 * kGiB);
  EXPECT_EQ(Of("model").level, Level::kGood);
}

TEST_F(Doctor, AModelThatDoesNotFit) {
  PutModel(14 * kGiB, 0);
  ExpectSlow("model", "14.0 GiB", "--cluster");
  PutModel(40 * kGiB, 0);
  EXPECT_EQ(Of("model").level, Level::kBad);
  EXPECT_THAT(Of("model").fix, HasSubstr("aster plan m.gguf"));
}

TEST_F(Doctor, Network) {
  probes_.loopback_ns = 900 * kNsPerUs;
  ExpectSlow("loopback", "900 µs", "cpupower");
  probes_.loopback_ns.reset();
  EXPECT_EQ(Of("loopback").level, Level::kBad);
  Put("/sys/class/net/eth0/speed", "100");
  EXPECT_EQ(Of("interface eth0").level, Level::kNote);
  EXPECT_THAT(Of("interface eth0").cost, HasSubstr("1 min 26 s"));
  Put("/sys/class/net/eth0/speed", "-1");
  EXPECT_EQ(Of("interface eth0").level, Level::kUnknown);
  Put("/sys/class/net/wlan0/operstate", "up");
  Put("/sys/class/net/wlan0/wireless/here", "");
  EXPECT_THAT(Of("interface wlan0").fix, HasSubstr("cable"));
}

TEST_F(Doctor, Firewalls) {
  EXPECT_EQ(Of("firewall").level, Level::kUnknown);
  Put("/etc/nftables.conf", "chain input { type filter hook input priority 0; policy drop; }");
  EXPECT_THAT(Of("firewall").fix, HasSubstr("nft -f"));
  Put("/run/firewalld/here", "");
  EXPECT_THAT(Of("firewall").fix, HasSubstr("firewall-cmd"));
  Put("/etc/ufw/ufw.conf", "# a comment\nENABLED=yes\nLOGLEVEL=low");
  EXPECT_EQ(Of("firewall").fix, "sudo ufw allow 7424:7425/tcp");
}

TEST_F(Doctor, Gpus) {
  probes_.gpus = {{.name = "llvmpipe", .why_not_used = "computes on the processor"}};
  EXPECT_THAT(Of("gpu").cost, HasSubstr("computes on the processor"));
  probes_.gpus.clear();
  EXPECT_THAT(Of("gpu").found, HasSubstr("no Vulkan driver lists one"));
}

TEST_F(Doctor, ProbesThisMachine) {
  const SystemClock clock;
  EXPECT_GT(MeasureLoopback(clock).value_or(0), 0);
  const std::string path = folder_.path() + "/model";
  Put("/model", std::string(10'000, 'x'));
  const ModelFact model = ProbeModel(path).value();
  EXPECT_EQ(model.bytes, 10'001u);
  EXPECT_EQ(model.cached_bytes, 10'001u);  // it has just been written
  EXPECT_FALSE(ProbeModel(path + "/no").ok());
}

}  // namespace
}  // namespace aster::cli
