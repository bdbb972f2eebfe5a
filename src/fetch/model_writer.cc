// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "fetch/model_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/checked.h"
#include "base/files.h"

namespace aster::fetch {
namespace {

constexpr size_t kMaxTransferBytes = size_t{1} << 30;

}  // namespace

ModelWriter::ModelWriter(ModelWriter&& other) noexcept
    : model_(other.model_),
      sync_bytes_(other.sync_bytes_),
      journal_(std::move(other.journal_)),
      descriptors_(std::exchange(other.descriptors_, {})),
      log_(std::exchange(other.log_, {})),
      unsynced_bytes_(other.unsynced_bytes_),
      changed_(std::move(other.changed_)) {}

ModelWriter::~ModelWriter() {
  // However the work ends, fetched data are kept if possible.
  if (!log_.empty()) static_cast<void>(Sync());
  for (const int descriptor : descriptors_) close(descriptor);
}

Result<ModelWriter> ModelWriter::Open(const StoredModel& model, uint64_t sync_bytes) {
  ModelWriter writer(model, sync_bytes);
  for (size_t i = 0; i < model.manifest()->files.size(); ++i) TRY(writer.OpenData(i));
  // Written from scratch: short, and without the incomplete line of a crash.
  TRY(WriteFileAtomically(model.JournalPath(),
                          AsBytes(FormatJournal(writer.journal_, model.manifest_hash()))));
  writer.log_.push_back(TRY(AppendFile::Open(model.JournalPath())));
  return writer;
}

Status ModelWriter::OpenData(size_t file_index) {
  const std::string path = model_.DataPath(file_index);
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor < 0) return SystemError(errno, path);
  descriptors_.push_back(descriptor);
  struct stat status{};
  if (fstat(descriptor, &status) != 0) return SystemError(errno, path);
  if (!S_ISREG(status.st_mode)) return InvalidArgument(path + ": is no plain file");
  const auto size = CheckedCast<off_t>(model_.manifest()->files[file_index].file_bytes);
  if (size && status.st_size == *size) return Ok();
  if (!size || ftruncate(descriptor, *size) != 0) {
    return SystemError(size ? errno : EFBIG, path);
  }
  return Ok();
}

Status ModelWriter::Read(const TensorPlace& place, uint64_t offset, std::span<uint8_t> into) const {
  CHECK(offset + into.size() <= place.size);
  while (!into.empty()) {
    const ssize_t got = pread(descriptors_[place.file_index], into.data(), into.size(),
                              static_cast<off_t>(place.offset + offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return SystemError(got < 0 ? errno : EIO, model_.DataPath(place.file_index));
    into = into.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return Ok();
}

Status ModelWriter::Append(const TensorPlace& place, Bytes bytes) {
  TensorState& state = journal_.tensors[place.file_index][place.tensor_index];
  CHECK(!state.is_verified && bytes.size() <= place.size - state.bytes);
  while (!bytes.empty()) {
    const ssize_t written = pwrite(descriptors_[place.file_index], bytes.data(),
                                   std::min(bytes.size(), kMaxTransferBytes),
                                   static_cast<off_t>(place.offset + state.bytes));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int error = written < 0 ? errno : EIO;
      return SystemError(error, model_.DataPath(place.file_index));
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
    state.bytes += static_cast<uint64_t>(written);
    unsynced_bytes_ += static_cast<uint64_t>(written);
  }
  changed_.emplace_back(place.file_index, place.tensor_index);
  return unsynced_bytes_ >= sync_bytes_ ? Sync() : Ok();
}

void ModelWriter::SetVerified(const TensorPlace& place) {
  journal_.tensors[place.file_index][place.tensor_index] = {.bytes = place.size,
                                                            .is_verified = true};
  changed_.emplace_back(place.file_index, place.tensor_index);
}

void ModelWriter::Doubt(const TensorPlace& place) {
  journal_.tensors[place.file_index][place.tensor_index].is_verified = false;
}

void ModelWriter::Drop(const TensorPlace& place) {
  journal_.tensors[place.file_index][place.tensor_index] = {};
  changed_.emplace_back(place.file_index, place.tensor_index);
}

Status ModelWriter::Sync() {
  std::ranges::sort(changed_);
  const auto repeated = std::ranges::unique(changed_);
  changed_.erase(repeated.begin(), repeated.end());
  if (unsynced_bytes_ > 0) {
    for (size_t i = 0; i < descriptors_.size(); ++i) {
      const bool is_changed =
          std::ranges::any_of(changed_, [&](const auto& change) { return change.first == i; });
      if (is_changed && fdatasync(descriptors_[i]) != 0) {
        return SystemError(errno, model_.DataPath(i));
      }
    }
  }
  unsynced_bytes_ = 0;
  std::string lines;
  for (const auto& [file, tensor] : changed_) {
    lines += TensorLine(file, tensor, journal_.tensors[file][tensor]);
  }
  TRY(log_.front().Append(lines));
  changed_.clear();
  return Ok();
}

Status ModelWriter::Finish() {
  TRY(Sync());
  std::string lines;
  for (size_t i = 0; i < descriptors_.size(); ++i) {
    // Not fdatasync: the stamp needs the file's time on the disk.
    if (fsync(descriptors_[i]) != 0) return SystemError(errno, model_.DataPath(i));
    const FileIdentity identity = TRY(IdentifyFile(model_.DataPath(i)));
    lines += StampLine(i, FileStamp::Of(identity));
  }
  return log_.front().Append(lines);
}

}  // namespace aster::fetch
