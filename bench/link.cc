// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A link of a given latency and rate between two network namespaces (link.py): packets pass from
// one to the other through this program, which delays each as the link would. Needs root.
//
//   link LATENCY_NS BYTES_PER_S PID PID     PID: of a process in each namespace
//
// Each namespace gets a device link0. The program prints a line when both exist. A line on standard
// input says which directions are cut: 0 (from the first process), 1, 01, or none; or, as =NUMBER,
// the new rate in bytes a second. The program ends with its input.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/clock.h"

namespace aster {
namespace {

constexpr size_t kMostPacketBytes = 66'000;

// Creates a network device in the process's namespace and returns the descriptor of its packets; -1
// on failure.
int OpenDevice(const std::string& pid) {
  const int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  const int other = open(fmt::format("/proc/{}/ns/net", pid).c_str(), O_RDONLY | O_CLOEXEC);
  if (other < 0 || setns(other, CLONE_NEWNET) != 0) return -1;
  const int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ifreq request = {};
  std::strncpy(request.ifr_name, "link0", IFNAMSIZ - 1);
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (device < 0 || ioctl(device, TUNSETIFF, &request) != 0) return -1;
  const bool is_back = setns(own, CLONE_NEWNET) == 0;
  close(own);
  close(other);
  return is_back ? device : -1;
}

// One direction: a packet waits until its last byte would have arrived.
class Way {
 public:
  Way(int source, int target, int64_t latency_ns, int64_t bytes_per_s)
      : source_(source),
        target_(target),
        latency_ns_(latency_ns),
        ns_per_byte_(1e9 / static_cast<double>(bytes_per_s)),
        packet_(kMostPacketBytes) {}

  void Take() {
    for (;;) {
      const ssize_t count = read(source_, packet_.data(), packet_.size());
      if (count <= 0) return;
      if (is_cut) continue;
      free_ns_ = std::max(free_ns_, clock_.NowNs()) +
                 static_cast<int64_t>(static_cast<double>(count) * ns_per_byte_);
      waiting_.push_back({free_ns_ + latency_ns_, {packet_.begin(), packet_.begin() + count}});
    }
  }
  void Deliver() {
    while (!waiting_.empty() && waiting_.front().due_ns <= clock_.NowNs()) {
      const std::vector<uint8_t>& bytes = waiting_.front().bytes;
      // A device that is down or full loses packets, as any network does.
      static_cast<void>(!write(target_, bytes.data(), bytes.size()));
      waiting_.pop_front();
    }
  }
  std::optional<int64_t> next_ns() const {
    return waiting_.empty() ? std::nullopt : std::optional(waiting_.front().due_ns);
  }
  int source() const { return source_; }

  void SetRate(int64_t bytes_per_s) { ns_per_byte_ = 1e9 / static_cast<double>(bytes_per_s); }

  bool is_cut = false;

 private:
  struct Packet {
    int64_t due_ns;
    std::vector<uint8_t> bytes;
  };

  const int source_;
  const int target_;
  const int64_t latency_ns_;
  double ns_per_byte_;
  SystemClock clock_;
  int64_t free_ns_ = 0;  // when the link has sent all earlier packets
  std::deque<Packet> waiting_;
  std::vector<uint8_t> packet_;
};

bool Parse(std::string_view text, int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number > 0;
}

// Executes a line of standard input; false at its end.
bool Change(std::array<Way, 2>& ways) {
  char line[32] = {};
  if (std::fgets(line, sizeof(line), stdin) == nullptr) return false;
  int64_t bytes_per_s = 0;
  if (line[0] == '=') {
    line[std::strcspn(line, "\n")] = 0;
    if (!Parse(line + 1, bytes_per_s)) return false;
    for (Way& way : ways) way.SetRate(bytes_per_s);
    return true;
  }
  ways[0].is_cut = std::strchr(line, '0') != nullptr;
  ways[1].is_cut = std::strchr(line, '1') != nullptr;
  return true;
}

void Relay(std::array<Way, 2>& ways) {
  const SystemClock clock;
  for (;;) {
    int64_t wait_ns = kNsPerSecond;
    for (const Way& way : ways) {
      if (const auto next_ns = way.next_ns())
        wait_ns = std::min(wait_ns, std::max<int64_t>(0, *next_ns - clock.NowNs()));
    }
    pollfd polled[] = {
        {STDIN_FILENO, POLLIN, 0}, {ways[0].source(), POLLIN, 0}, {ways[1].source(), POLLIN, 0}};
    const timespec wait{wait_ns / kNsPerSecond, wait_ns % kNsPerSecond};
    ppoll(polled, 3, &wait, nullptr);
    if (polled[0].revents != 0 && !Change(ways)) return;
    for (Way& way : ways) {
      way.Take();
      way.Deliver();
    }
  }
}

int Main(int argc, char** argv) {
  int64_t latency_ns = 0;
  int64_t bytes_per_s = 0;
  if (argc != 5 || !Parse(argv[1], latency_ns) || !Parse(argv[2], bytes_per_s)) {
    fmt::print(stderr, "usage: link LATENCY_NS BYTES_PER_S PID PID\n");
    return 2;
  }
  int devices[2];
  for (int i = 0; i < 2; ++i) {
    devices[i] = OpenDevice(argv[3 + i]);
    if (devices[i] >= 0) continue;
    fmt::print(stderr, "the network of process {}: {}; run it as root\n", argv[3 + i],
               std::generic_category().message(errno));
    return 1;
  }
  // The program has little to do, but must do it without delay.
  const sched_param ahead{.sched_priority = 1};
  sched_setscheduler(0, SCHED_FIFO, &ahead);
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  fmt::print("ready\n");
  std::fflush(stdout);
  std::array<Way, 2> ways = {Way(devices[0], devices[1], latency_ns, bytes_per_s),
                             Way(devices[1], devices[0], latency_ns, bytes_per_s)};
  Relay(ways);
  return 0;
}

}  // namespace
}  // namespace aster

int main(int argc, char** argv) { return aster::Main(argc, argv); }
