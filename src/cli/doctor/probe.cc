// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/doctor/probe.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

#include "base/machine.h"
#include "base/mapped_file.h"
#include "kernels/isa_choice.h"
#include "net/socket.h"
#include "vulkan/devices.h"

namespace aster::cli {
namespace {

constexpr int kPatienceMs = 1000;

bool AwaitReady(int descriptor, short what) {
  pollfd waited = {.fd = descriptor, .events = what, .revents = 0};
  int ready = 0;
  do {
    ready = poll(&waited, 1, kPatienceMs);
  } while (ready < 0 && errno == EINTR);
  return ready == 1;
}

bool ReadByte(int descriptor) {
  char byte = 0;
  return AwaitReady(descriptor, POLLIN) && read(descriptor, &byte, 1) == 1;
}

bool WriteByte(int descriptor) {
  const char byte = 1;
  return AwaitReady(descriptor, POLLOUT) && write(descriptor, &byte, 1) == 1;
}

struct Ends {
  net::Socket asks;
  net::Socket answers;
};

// Both ends of a connection of this process to itself.
Result<Ends> ConnectToOurselves() {
  const auto any = TRY(net::Resolve({"127.0.0.1", "0"}));
  const net::Socket listener = TRY(net::Listen(any.front()));
  Ends ends;
  ends.asks = TRY(net::BeginConnect(TRY(net::LocalEndpoint(listener))));
  if (!AwaitReady(listener.descriptor(), POLLIN)) {
    return Error(Code::kUnavailable, "127.0.0.1: no connection within a second");
  }
  ends.answers = TRY(net::Accept(listener));
  if (!AwaitReady(ends.asks.descriptor(), POLLOUT)) {
    return Error(Code::kUnavailable, "127.0.0.1: no connection within a second");
  }
  TRY(net::FinishConnect(ends.asks.descriptor()));
  return ends;
}

std::vector<GpuFact> ProbeGpus(std::string& no_gpus_because) {
  const auto choices = vulkan::GpuChoicesOfEnvironment();
  const auto devices = choices.ok() ? vulkan::ListDevices(*choices) : choices.error();
  std::vector<GpuFact> gpus;
  if (!devices.ok()) {
    no_gpus_because = devices.error().message();
    return gpus;
  }
  for (const vulkan::DeviceInfo& info : *devices) gpus.push_back({info.name, info.why_not_used});
  return gpus;
}

// The mapped bytes that are in memory, in whole pages.
Result<uint64_t> CachedBytes(const MappedFile& file) {
  const size_t page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const Bytes bytes = file.bytes();
  if (bytes.empty()) return 0;
  std::vector<unsigned char> pages((bytes.size() + page_bytes - 1) / page_bytes);
  // mincore does not write through this pointer.
  if (mincore(const_cast<uint8_t*>(bytes.data()), bytes.size(), pages.data()) != 0) {
    return SystemError(errno, file.path());
  }
  const auto present = std::ranges::count_if(pages, [](unsigned char page) { return page & 1; });
  return std::min<uint64_t>(static_cast<uint64_t>(present) * page_bytes, bytes.size());
}

}  // namespace

std::optional<int64_t> MeasureLoopback(const Clock& clock) {
  auto ends = ConnectToOurselves();
  if (!ends.ok()) return std::nullopt;
  std::thread echo([descriptor = ends->answers.descriptor()] {
    while (ReadByte(descriptor) && WriteByte(descriptor)) {
    }
  });
  std::array<int64_t, 41> times_ns{};
  bool is_whole = true;
  for (int64_t& time_ns : times_ns) {
    const int64_t begin_ns = clock.NowNs();
    is_whole = is_whole && WriteByte(ends->asks.descriptor()) && ReadByte(ends->asks.descriptor());
    time_ns = clock.NowNs() - begin_ns;
  }
  ends->asks = net::Socket();  // the other end stops reading
  echo.join();
  if (!is_whole) return std::nullopt;
  std::ranges::nth_element(times_ns, times_ns.begin() + times_ns.size() / 2);
  return times_ns[times_ns.size() / 2];
}

Result<ModelFact> ProbeModel(const std::string& path) {
  const MappedFile file = TRY(MappedFile::Open(path));
  ModelFact fact;
  fact.path = path;
  fact.bytes = file.bytes().size();
  fact.cached_bytes = TRY(CachedBytes(file));
  fact.device_major = major(file.identity().device);
  fact.device_minor = minor(file.identity().device);
  return fact;
}

Result<Probes> ProbeMachine(std::span<const std::string> model_paths, const Clock& clock) {
  Probes probes;
  probes.isa = kernels::IsaName(TRY(kernels::IsaFromEnvironment()));
  probes.fastest_isa = kernels::IsaName(kernels::FastestIsa());
  probes.usable_cpus = UsableCpuCount();
  const MemorySizes memory = DetectMemory();
  probes.memory_bytes = memory.total_bytes;
  probes.available_bytes = memory.available_bytes;
  probes.loopback_ns = MeasureLoopback(clock);
  probes.gpus = ProbeGpus(probes.no_gpus_because);
  for (const std::string& path : model_paths) probes.models.push_back(TRY(ProbeModel(path)));
  return probes;
}

}  // namespace aster::cli
