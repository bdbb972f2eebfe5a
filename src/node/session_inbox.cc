// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/session_inbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "base/hash.h"
#include "base/units.h"
#include "disk/input_file.h"

namespace aster::node {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = ".incoming-";
// Interrupted transfers that nobody goes on with.
constexpr auto kForgotten = std::chrono::hours(24);
constexpr size_t kMaxIncoming = 16;
// The parts and the pages that are made of them are there at the same time, for a moment; and
// somebody else needs space, too.
constexpr uint64_t kCopies = 2;
constexpr uint64_t kSpareBytes = uint64_t{256} << 20;
constexpr size_t kHashedAtOnce = size_t{1} << 20;

uint64_t SizeOf(const std::string& path) {
  std::error_code error;
  const uint64_t bytes = fs::file_size(path, error);
  return error ? 0 : bytes;
}

Status Append(const std::string& path, Bytes data) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return SystemError(errno, path);
  Status status = Ok();
  while (!data.empty() && status.ok()) {
    const ssize_t written = write(file, data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      status = SystemError(errno, path);
    } else {
      data = data.subspan(static_cast<size_t>(written));
    }
  }
  close(file);
  return status;
}

Result<Hash128> HashOfFile(const std::string& path) {
  const disk::InputFile file = TRY(disk::InputFile::Open(path));
  Hasher hasher;
  std::vector<uint8_t> buffer;
  for (uint64_t offset = 0; offset < file.size_bytes(); offset += buffer.size()) {
    buffer.resize(std::min<uint64_t>(kHashedAtOnce, file.size_bytes() - offset));
    TRY(file.ReadAt(offset, buffer.size(), buffer.data()));
    hasher.Add(buffer);
  }
  return hasher.Digest();
}

}  // namespace

// A name is never a path: it becomes a file in the folder of sessions, and nowhere else.
Status SessionInbox::CheckName(const rpc::SessionPart& part) const {
  if (part.name.find('/') != std::string::npos) {
    return InvalidArgument("a session that moves has a name without a slash there; give one: --as");
  }
  return folder_.PathOf(part.name).ok() ? Ok() : Status(folder_.PathOf(part.name).error());
}

Status SessionInbox::MakeRoom(const rpc::SessionPart& part) {
  TRY(MakeDirectories(path_));
  if (chmod(path_.c_str(), 0700) != 0) return SystemError(errno, path_);
  size_t count = 0;
  std::error_code error;
  for (const auto& item : fs::directory_iterator(path_, error)) {
    if (!item.path().filename().string().starts_with(kPrefix)) continue;
    std::error_code ignored;
    const auto age = fs::file_time_type::clock::now() - fs::last_write_time(item.path(), ignored);
    if (!ignored && age > kForgotten) {
      fs::remove(item.path(), ignored);
    } else {
      ++count;
    }
  }
  if (count >= kMaxIncoming) {
    return ResourceExhausted("too many sessions are on their way to this node; try again later");
  }
  const fs::space_info space = fs::space(path_, error);
  const uint64_t needed_bytes = part.total_bytes * kCopies + kSpareBytes;
  if (!error && space.available < needed_bytes) {
    return ResourceExhausted(fmt::format(
        "there is no space for it: {} are needed for a session of {}, and {} are free in {}; make "
        "room there, or move it elsewhere",
        FormatBytes(needed_bytes), FormatBytes(part.total_bytes), FormatBytes(space.available),
        path_));
  }
  return Ok();
}

Result<rpc::SessionReceipt> SessionInbox::Take(const rpc::NodeId& from,
                                               const rpc::SessionPart& part) {
  TRY(CheckName(part));
  const MutexLock lock(mu_);
  const std::string path =
      fmt::format("{}/{}{}-{}", path_, kPrefix, from.value.ToHex(), part.content.ToHex());
  const auto kept = std::ranges::find_if(kept_, [&](const Kept& other) {
    return other.content == part.content && other.name == part.name;
  });
  if (kept != kept_.end() && folder_.Has(part.name, kept->session)) {
    return rpc::SessionReceipt{.received_bytes = part.total_bytes, .is_kept = true};
  }
  const bool begins = !fs::exists(path);
  if (fs::exists(TRY(folder_.PathOf(part.name))) && !part.is_last) {
    return Error(Code::kAlreadyExists,
                 fmt::format("there is a session named {} already; give it another name with --as, "
                             "or remove that one there",
                             part.name));
  }
  if (begins && part.offset == 0) TRY(MakeRoom(part));
  const uint64_t size = SizeOf(path);
  if (part.offset != size || size + part.data.size() > part.total_bytes) {
    return rpc::SessionReceipt{.received_bytes = size, .is_kept = false};
  }
  if (!part.data.empty()) TRY(Append(path, part.data));
  if (part.is_last) return Finish(path, part);
  return rpc::SessionReceipt{.received_bytes = size + part.data.size(), .is_kept = false};
}

Result<rpc::SessionReceipt> SessionInbox::Finish(const std::string& path,
                                                 const rpc::SessionPart& part) {
  const uint64_t size = SizeOf(path);
  if (size < part.total_bytes) return rpc::SessionReceipt{.received_bytes = size, .is_kept = false};
  const auto import = [&]() -> Status {
    if (TRY(HashOfFile(path)) != part.content) {
      return DataLoss("what came is not what was sent; move it again");
    }
    return folder_.Import(path, part.name, disk::SessionFolder::IfThere::kRefuse);
  };
  Status imported = import();
  std::error_code ignored;
  fs::remove(path, ignored);
  TRY(std::move(imported));
  kept_.push_back({part.content, part.name, TRY(folder_.Open(part.name)).session});
  if (kept_.size() > kMaxIncoming) kept_.pop_front();
  return rpc::SessionReceipt{.received_bytes = size, .is_kept = true};
}

}  // namespace aster::node
