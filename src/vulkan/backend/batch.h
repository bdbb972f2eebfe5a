// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// One batch of work on a device: what it is made of is recorded with the barriers that it needs,
// submitted, and polled. The device begins while the host still records: long batches are submitted
// in parts. Tables for shaders and rows from the host go through memory that is
// kept from batch to batch. Must not know which operations there are.
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

// Device memory for what is between two kernels of an operation.
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
  // Memory that this number of batches in a row had no use for is freed: some seconds of answers.
  // Taking it again costs milliseconds, which the next prompt would wait.
  static constexpr uint64_t kBatchesToTrim = 4096;

  // Work that reads or writes pages says so by this range: they are many, and lie anywhere.
  static constexpr Range kPages = {1, 1};

  // With `staged`, tables are copied into device memory; else shaders read them where the host
  // wrote them.
  Batch(Device& device, DevicePages& pages, bool staged, uint64_t batches_to_trim = kBatchesToTrim);
  ~Batch();

  // The batch before is done, or is waited for.
  Status Begin();
  Status Submit();
  Result<bool> Poll();
  Status Wait();

  // Another one for every batch.
  uint64_t number() const { return number_; }

  // Where to record work that reads and writes these: after a barrier, where it needs one, and
  // after what was deferred.
  Commands& Using(std::initializer_list<Range> reads, std::initializer_list<Range> writes);

  // `record` records some work, by Using, before anything else is; until then it may be forgotten.
  // Where it fails, Submit does.
  void Defer(std::function<Status()> record);
  bool is_deferring() const { return deferred_ != nullptr; }
  void Settle();
  void Forget() { deferred_ = nullptr; }

  // A table for shaders, for the rest of the batch.
  template <typename T>
  Result<Address> Put(std::span<const T> values) {
    return PutBytes({reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()});
  }
  template <typename T>
  Result<Address> Put(const std::vector<T>& values) {
    return Put(std::span<const T>(values));
  }

  // Where to write, before Send, what that copies to the device as part of the batch.
  Result<Piece> TakeUpload(uint64_t bytes) { return uploads_.Take(bytes); }
  void Send(const Piece& piece, const Buffer& to, uint64_t offset, uint64_t bytes);
  // What is there when the batch is done, until the next begins.
  Result<const uint8_t*> Fetch(const Buffer& from, uint64_t offset, uint64_t bytes);

  // At least `bytes` bytes, with anything in them, until the same is asked for again.
  Result<Address> ScratchMemory(Scratch which, uint64_t bytes);
  // The same for a buffer that is kept elsewhere: it grows without losing what is recorded.
  Status Grow(std::optional<Buffer>& buffer, uint64_t bytes);

  // Of scratch memory, and of rows and tables on their way.
  uint64_t memory_bytes() const;

 private:
  struct ScratchBuffer {
    std::optional<Buffer> buffer;
    uint64_t most_bytes = 0;  // that were asked for since the last Trim
  };
  // A table on its way to where shaders read it.
  struct TableCopy {
    Piece from;
    Piece to;
    uint64_t bytes;
  };

  Result<Address> PutBytes(std::span<const uint8_t> bytes);
  Result<Address> Stage(const Piece& piece, uint64_t bytes);
  // Kernels of the first part, which are few, so that the device begins at once; the next have
  // each so many times more, as what is submitted takes longer than to record the next part.
  static constexpr uint32_t kFirstKernels = 8;
  static constexpr uint32_t kGrowth = 4;
  // What is submitted together.
  struct Part {
    Commands tables;  // first of all: copies of tables
    Commands work;
  };

  Part& part() { return parts_[part_]; }
  Status BeginPart(size_t part);
  Status SubmitPart();
  // A part that is long enough starts, and the next begins.
  void StartPart();
  Status RecordTables();
  // Since the last one; where work is timed.
  void TimeHost(const char* doing);
  std::array<Arena*, 4> arenas() { return {&tables_, &device_tables_, &uploads_, &downloads_}; }
  void Trim();

  Device& device_;
  DevicePages& pages_;
  const bool staged_;
  const uint64_t batches_to_trim_;
  std::deque<Part> parts_;
  size_t part_ = 0;            // that is recorded
  uint64_t part_kernels_ = 0;  // before it starts
  Hazards hazards_;
  Arena tables_;                         // as the host writes them
  Arena device_tables_;                  // as shaders read them; unused where they read the former
  std::vector<TableCopy> table_copies_;  // of the part
  Arena uploads_;
  Arena downloads_;
  std::array<ScratchBuffer, kScratchCount> scratch_;
  std::vector<Buffer> outgrown_;  // still used by what is recorded
  std::function<Status()> deferred_;
  Status recorded_ = Ok();              // or the first error of what could not return it
  std::optional<uint64_t> submission_;  // the last one in flight
  uint64_t number_ = 0;
  int64_t timed_ns_ = 0;  // where work is timed
};

}  // namespace aster::vulkan
