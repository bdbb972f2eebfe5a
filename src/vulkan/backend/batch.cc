// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/backend/batch.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/clock.h"

namespace aster::vulkan {
namespace {

constexpr uint64_t kTableBytes = 256 << 10;
constexpr uint64_t kRowBytes = 4 << 20;

}  // namespace

Batch::Batch(Device& device, DevicePages& pages, bool staged, uint64_t batches_to_trim)
    : device_(device),
      pages_(pages),
      staged_(staged),
      batches_to_trim_(batches_to_trim),
      tables_(device, MemoryKind::kUpload, kTableBytes),
      device_tables_(device, MemoryKind::kDevice, kTableBytes),
      uploads_(device, MemoryKind::kUpload, kRowBytes),
      downloads_(device, MemoryKind::kDownload, kRowBytes) {}

// If waiting fails, the device is lost, or the buffers' destructors wait once more.
Batch::~Batch() { static_cast<void>(Wait()); }

Status Batch::Begin() {
  TRY(Wait());
  TRY(device_.CheckLost("recording work"));
  hazards_.Clear();
  outgrown_.clear();
  deferred_ = nullptr;
  recorded_ = Ok();
  ++number_;
  for (Arena* const arena : arenas()) arena->Clear();
  if (number_ % batches_to_trim_ == 0) Trim();
  TimeHost("host: between batches");
  table_copies_.clear();
  part_ = 0;
  part_kernels_ = kFirstKernels;
  return BeginPart(0);
}

Status Batch::BeginPart(size_t part) {
  if (part == parts_.size()) {
    Commands tables = TRY(Commands::Create(device_));
    Commands work = TRY(Commands::Create(device_));
    parts_.push_back({std::move(tables), std::move(work)});
  }
  return parts_[part].work.Begin();
}

void Batch::TimeHost(const char* doing) {
  KernelTimes* const times = device_.times();
  if (times == nullptr || times->detail() != KernelTimes::Detail::kBatches) return;
  const int64_t now_ns = SystemClock().NowNs();
  if (timed_ns_ != 0) times->Add(doing, static_cast<double>(now_ns - timed_ns_));
  timed_ns_ = now_ns;
}

void Batch::Defer(std::function<Status()> record) {
  Settle();
  deferred_ = std::move(record);
}

void Batch::Settle() {
  if (deferred_ == nullptr) return;
  // Cleared first, as `record` calls Using, which must not run it again.
  const std::function<Status()> record = std::exchange(deferred_, nullptr);
  const Status status = record();
  if (recorded_.ok()) recorded_ = status;
}

Commands& Batch::Using(std::initializer_list<Range> reads, std::initializer_list<Range> writes) {
  Settle();
  if (hazards_.NeedsBarrier(reads, writes)) {
    // A barrier is a good place to begin a new part: nothing before it may overlap anyway.
    StartPart();
    part().work.Barrier();
  }
  return part().work;
}

Result<Address> Batch::PutBytes(std::span<const uint8_t> bytes) {
  const Piece piece = TRY(tables_.Take(bytes.size()));
  if (!bytes.empty()) std::memcpy(piece.data(), bytes.data(), bytes.size());
  return staged_ ? Stage(piece, bytes.size()) : piece.address();
}

// Notes a copy of a table into device memory. Adjacent tables are copied together.
Result<Address> Batch::Stage(const Piece& piece, uint64_t bytes) {
  const Piece to = TRY(device_tables_.Take(bytes));
  if (!table_copies_.empty()) {
    TableCopy& last = table_copies_.back();
    const bool follows = last.from.buffer == piece.buffer && last.to.buffer == to.buffer &&
                         piece.offset - last.from.offset == to.offset - last.to.offset;
    if (follows) {
      last.bytes = piece.offset - last.from.offset + bytes;
      return to.address();
    }
  }
  table_copies_.push_back({piece, to, bytes});
  return to.address();
}

void Batch::Send(const Piece& piece, const Buffer& to, uint64_t offset, uint64_t bytes) {
  Using({}, {{to.address() + offset, bytes}}).Copy(*piece.buffer, piece.offset, to, offset, bytes);
}

Result<const uint8_t*> Batch::Fetch(const Buffer& from, uint64_t offset, uint64_t bytes) {
  const Piece piece = TRY(downloads_.Take(bytes));
  Using({{from.address() + offset, bytes}}, {})
      .Copy(from, offset, *piece.buffer, piece.offset, bytes);
  return piece.data();
}

Status Batch::Grow(std::optional<Buffer>& buffer, uint64_t bytes) {
  if (buffer && buffer->bytes() >= bytes) return Ok();
  if (buffer) outgrown_.push_back(*std::exchange(buffer, std::nullopt));
  buffer = TRY(Buffer::Allocate(device_, std::max<uint64_t>(bytes, 4), MemoryKind::kDevice));
  return Ok();
}

Result<Address> Batch::ScratchMemory(Scratch which, uint64_t bytes) {
  ScratchBuffer& scratch = scratch_[static_cast<size_t>(which)];
  scratch.most_bytes = std::max(scratch.most_bytes, bytes);
  TRY(Grow(scratch.buffer, bytes));
  return scratch.buffer->address();
}

// Frees memory that recent batches did not use: a long prompt needs much more than the decoding
// after it. Nothing may be in flight.
void Batch::Trim() {
  for (ScratchBuffer& scratch : scratch_) {
    if (scratch.buffer && scratch.buffer->bytes() > 2 * scratch.most_bytes) scratch.buffer.reset();
    scratch.most_bytes = 0;
  }
  for (Arena* const arena : arenas()) arena->Trim();
}

uint64_t Batch::memory_bytes() const {
  uint64_t bytes = 0;
  for (const ScratchBuffer& scratch : scratch_)
    bytes += scratch.buffer ? scratch.buffer->bytes() : 0;
  for (const Arena* const arena : {&tables_, &device_tables_, &uploads_, &downloads_}) {
    for (const Arena::Chunk& chunk : arena->chunks()) bytes += chunk.buffer.bytes();
  }
  return bytes;
}

// Records the copies of a part's tables. The first barrier makes the batch see all earlier work.
// The copies may run while the part before is computed, as that one does not read these tables.
Status Batch::RecordTables() {
  Commands& commands = part().tables;
  TRY(commands.Begin());
  if (part_ == 0) commands.Barrier();
  for (const TableCopy& copy : table_copies_)
    commands.Copy(*copy.from.buffer, copy.from.offset, *copy.to.buffer, copy.to.offset, copy.bytes);
  if (!table_copies_.empty()) commands.CopyBarrier();
  table_copies_.clear();
  return commands.End();
}

// Submits the current part after all recorded work on pages, which it may read.
Status Batch::SubmitPart() {
  TRY(part().work.End());
  TRY(RecordTables());
  TRY(pages_.Flush());
  const VkCommandBuffer both[] = {part().tables.handle(), part().work.handle()};
  submission_ = TRY(device_.Submit(both));
  return Ok();
}

void Batch::StartPart() {
  if (part().work.dispatches() < part_kernels_ || !recorded_.ok()) return;
  // Begins the next part first, so that there is always one to record into.
  recorded_ = BeginPart(part_ + 1);
  if (!recorded_.ok()) return;
  recorded_ = SubmitPart();
  ++part_;
  part_kernels_ *= kGrowth;
}

Status Batch::Submit() {
  Settle();
  TRY(recorded_);
  TimeHost("host: recording");
  TRY(SubmitPart());
  TimeHost("host: submitting");
  return Ok();
}

Result<bool> Batch::Poll() {
  if (!submission_) return true;
  const bool is_done = TRY(device_.HasFinished(*submission_));
  if (!is_done) return false;
  submission_.reset();
  TimeHost("host: waiting");
  return true;
}

Status Batch::Wait() {
  if (!submission_) return Ok();
  const Status status = device_.Wait(*submission_, kTimeoutNs);
  if (status.ok() || device_.lost()) submission_.reset();
  TimeHost("host: waiting");
  return status;
}

}  // namespace aster::vulkan
