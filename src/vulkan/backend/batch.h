// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// One batch of work on a device: it is recorded with the barriers that it needs, submitted, and
// polled. Long batches are submitted in parts, so that the device begins while the host still
// records. Tables for shaders and rows from the host go through memory that is kept from batch to
// batch. Must not know which operations there are.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "vulkan/backend/arena.h"
#include "vulkan/backend/hazards.h"
#include "vulkan/backend/pages.h"
#include "vulkan/driver/commands.h"

namespace aster::vulkan {

// Device memory for data between two kernels of an operation.
enum class Scratch : uint8_t {
  kPageResults,
  kGate,
  kUp,
  kHidden,
  kDown,
  kShared,
  kGroups,
  kGateRows,
  kUpRows,
  kMadeRows,
  kPackedRows,
  kRanks,
  kBlockRanks,
  kStateKeys,
  kStateValues,
};
inline constexpr size_t kScratchCount = 15;

// Not for concurrent use; one batch after the other. Outlived by its device and pages.
class Batch {
 public:
  // A device that takes longer for a batch has failed.
  static constexpr int64_t kTimeoutNs = int64_t{600} * 1'000'000'000;
  // Memory that this many consecutive batches (some seconds of answers) did not use is freed. Not
  // sooner, as allocating it again delays the next prompt by milliseconds.
  static constexpr uint64_t kBatchesToTrim = 4096;

  // Stands for all pages in reads and writes: there are many of them, anywhere in memory.
  static constexpr Range kPages = {1, 1};

  // With `staged`, tables are copied into device memory; else shaders read the host's memory.
  Batch(Device& device, DevicePages& pages, bool staged, uint64_t batches_to_trim = kBatchesToTrim);
  ~Batch();

  // Waits for the batch before if it is not done.
  Status Begin();
  Status Submit();
  Result<bool> Poll();
  Status Wait();

  // Differs for every batch.
  uint64_t number() const { return number_; }

  // Where to record work that reads and writes these ranges. Records deferred work first, and a
  // barrier if the work needs one.
  Commands& Using(std::initializer_list<Range> reads, std::initializer_list<Range> writes);

  // Defers some work: `record` is called before anything else is recorded, unless it is dropped
  // before. If it fails, Submit fails.
  void Defer(std::function<Status()> record);
  bool is_deferring() const { return deferred_ != nullptr; }
  void Settle();
  void Forget() { deferred_ = nullptr; }

  // Writes a table for shaders, valid for the rest of the batch.
  template <typename T>
  Result<Address> Put(std::span<const T> values) {
    return PutBytes({reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()});
  }
  template <typename T>
  Result<Address> Put(const std::vector<T>& values) {
    return Put(std::span<const T>(values));
  }

  // Host memory to write to; Send then copies it to the device as part of the batch.
  Result<Piece> TakeUpload(uint64_t bytes) { return uploads_.Take(bytes); }
  void Send(const Piece& piece, const Buffer& to, uint64_t offset, uint64_t bytes);
  // Copies to the host: the result is valid from when the batch is done until the next one begins.
  Result<const uint8_t*> Fetch(const Buffer& from, uint64_t offset, uint64_t bytes);

  // At least `bytes` uninitialised bytes, until the same scratch memory is taken again.
  Result<Address> ScratchMemory(Scratch which, uint64_t bytes);
  // The same for a buffer of the caller's. The old one stays valid for recorded work.
  Status Grow(std::optional<Buffer>& buffer, uint64_t bytes);

  // Bytes of scratch memory, and of memory for uploads, downloads and tables.
  uint64_t memory_bytes() const;

 private:
  struct ScratchBuffer {
    std::optional<Buffer> buffer;
    uint64_t most_bytes = 0;  // taken since the last Trim
  };
  // A copy of a table into device memory.
  struct TableCopy {
    Piece from;
    Piece to;
    uint64_t bytes;
  };

  Result<Address> PutBytes(std::span<const uint8_t> bytes);
  Result<Address> Stage(const Piece& piece, uint64_t bytes);
  // Kernels of the first part: few, so that the device begins at once. Each further part has
  // kGrowth times as many, as computing a part takes longer than recording the next one.
  static constexpr uint32_t kFirstKernels = 8;
  static constexpr uint32_t kGrowth = 4;
  // Work that is submitted together.
  struct Part {
    Commands tables;  // copies of tables, before `work`
    Commands work;
  };

  Part& part() { return parts_[part_]; }
  Status BeginPart(size_t part);
  Status SubmitPart();
  // Submits the current part if it is long enough, and begins the next one.
  void StartPart();
  Status RecordTables();
  // Notes the host's time since the last call, if work is timed.
  void TimeHost(const char* doing);
  std::array<Arena*, 4> arenas() { return {&tables_, &device_tables_, &uploads_, &downloads_}; }
  void Trim();

  Device& device_;
  DevicePages& pages_;
  const bool staged_;
  const uint64_t batches_to_trim_;
  std::deque<Part> parts_;
  size_t part_ = 0;            // the one that is recorded
  uint64_t part_kernels_ = 0;  // after which it is submitted
  Hazards hazards_;
  Arena tables_;                         // written by the host
  Arena device_tables_;                  // if staged, their copies, which shaders read
  std::vector<TableCopy> table_copies_;  // of the part
  Arena uploads_;
  Arena downloads_;
  std::array<ScratchBuffer, kScratchCount> scratch_;
  std::vector<Buffer> outgrown_;  // replaced, but still used by recorded work
  std::function<Status()> deferred_;
  Status recorded_ = Ok();              // or the first error of a call that cannot return one
  std::optional<uint64_t> submission_;  // the last one in flight
  uint64_t number_ = 0;
  int64_t timed_ns_ = 0;  // of the last TimeHost
};

}  // namespace aster::vulkan
