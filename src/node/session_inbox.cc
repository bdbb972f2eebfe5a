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
#include "base/log.h"
#include "base/units.h"
#include "disk/input_file.h"

namespace aster::node {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = ".incoming-";
// Interrupted transfers older than this are removed.
constexpr auto kForgotten = std::chrono::hours(24);
constexpr int64_t kCleanNs = 3600 * kNsPerSecond;
constexpr size_t kMaxIncoming = 16;
// Per sender, so that one cannot block the others.
constexpr size_t kMaxOfSender = 4;
// A transfer without a new part for this time is interrupted: others may use its place and the
// space that it has announced.
constexpr int64_t kInterruptedNs = 60 * kNsPerSecond;
// The parts and the pages made from them exist at the same time for a moment, and other programs
// need space, too.
constexpr uint64_t kCopies = 2;
constexpr uint64_t kSpareBytes = uint64_t{256} << 20;
constexpr size_t kHashedAtOnce = size_t{1} << 20;

// The reason without the path at its start: senders must not learn where this machine keeps its
// files.
std::string WithoutPath(const std::string& why, const std::string& folder) {
  if (why.find(folder) == std::string::npos) return why;
  const size_t end = why.starts_with(folder) ? why.find(": ") : std::string::npos;
  std::string rest = end == std::string::npos ? "" : why.substr(end + 2);
  return rest.empty() || rest.find(folder) != std::string::npos
             ? "it cannot be kept there; the log of the node says why"
             : rest;
}

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

rpc::SessionReceipt NextAt(uint64_t offset) {
  return {.received_bytes = offset, .is_kept = false, .transfer = {}};
}

rpc::SessionReceipt KeptBy(const rpc::SessionPart& part) {
  return {.received_bytes = part.total_bytes, .is_kept = true, .transfer = part.transfer};
}

// Whether the same bytes can never become a session here.
bool IsPermanent(Code code) {
  return code == Code::kDataLoss || code == Code::kInvalidArgument ||
         code == Code::kUnimplemented || code == Code::kResourceExhausted;
}

}  // namespace

// A name is never a path: its file lies directly in the folder of sessions.
Status SessionInbox::CheckName(const rpc::SessionPart& part) const {
  if (part.name.find('/') != std::string::npos) {
    return InvalidArgument("a session to move needs a name without a slash there; give one: --as");
  }
  return folder_.PathOf(part.name).ok() ? Ok() : Status(folder_.PathOf(part.name).error());
}

SessionInbox::SessionInbox(std::string folder, Clock& clock)
    : clock_(clock), path_(folder), folder_(std::move(folder), clock) {
  const MutexLock lock(mu_);
  CountFiles();
}

// Removes files of transfers that are not resumed, and counts the others.
size_t SessionInbox::CountFiles() {
  cleaned_ns_ = clock_.NowNs();
  // Transfers without a file that no call is about to write.
  std::erase_if(incoming_, [](const auto& item) {
    return item.second.use_count() == 1 && !fs::exists(item.first);
  });
  size_t count = 0;
  std::error_code error;
  for (fs::directory_iterator item(path_, error), end; !error && item != end;
       item.increment(error)) {
    if (!item->path().filename().string().starts_with(kPrefix)) continue;
    std::error_code ignored;
    const auto age = fs::file_time_type::clock::now() - fs::last_write_time(item->path(), ignored);
    if (!ignored && age > kForgotten) {
      fs::remove(item->path(), ignored);
      incoming_.erase(item->path().string());
    } else {
      ++count;
    }
  }
  return count;
}

bool SessionInbox::IsActive(const Incoming& incoming) const {
  return clock_.NowNs() - incoming.news_ns < kInterruptedNs;
}

// Removes the transfer that has been silent for longest; false if none is interrupted.
bool SessionInbox::RemoveInterrupted() {
  std::string oldest;
  fs::file_time_type oldest_time;
  std::error_code error;
  for (fs::directory_iterator item(path_, error), end; !error && item != end;
       item.increment(error)) {
    const std::string path = item->path().string();
    if (!item->path().filename().string().starts_with(kPrefix)) continue;
    // Nor one that a call is about to write.
    const auto found = incoming_.find(path);
    if (found != incoming_.end() && (found->second.use_count() > 1 || IsActive(*found->second))) {
      continue;
    }
    std::error_code ignored;
    const auto time = fs::last_write_time(item->path(), ignored);
    if (!oldest.empty() && time >= oldest_time) continue;
    oldest = path;
    oldest_time = time;
  }
  incoming_.erase(oldest);
  return !oldest.empty() && fs::remove(oldest, error);
}

Status SessionInbox::CheckSender(const rpc::NodeId& from) const {
  const auto is_of_sender = [&](const auto& item) {
    return item.second->from == from && IsActive(*item.second);
  };
  if (static_cast<size_t>(std::ranges::count_if(incoming_, is_of_sender)) < kMaxOfSender)
    return Ok();
  return ResourceExhausted(fmt::format(
      "{} sessions are on their way from your machine to this node; wait for one of them "
      "to arrive",
      kMaxOfSender));
}

Status SessionInbox::MakeRoom(const rpc::SessionPart& part) {
  TRY(MakeDirectories(path_));
  if (chmod(path_.c_str(), 0700) != 0) return SystemError(errno, path_);
  while (std::max(CountFiles(), incoming_.size()) >= kMaxIncoming) {
    if (!RemoveInterrupted())
      return ResourceExhausted("too many sessions are on their way to this node; try again later");
  }
  uint64_t needed_bytes = part.total_bytes * kCopies + kSpareBytes;
  // Space that other transfers have announced and not used yet is reserved.
  for (const auto& [path, incoming] : incoming_) {
    if (!IsActive(*incoming)) continue;
    const uint64_t bytes = incoming->total_bytes * kCopies;
    needed_bytes += bytes - std::min(bytes, SizeOf(path));
  }
  std::error_code error;
  const fs::space_info space = fs::space(path_, error);
  if (!error && space.available < needed_bytes) {
    return ResourceExhausted(fmt::format(
        "no space for it: {} are needed for a session of {}, and {} are free; make "
        "room there, or move it elsewhere",
        FormatBytes(needed_bytes), FormatBytes(part.total_bytes), FormatBytes(space.available)));
  }
  return Ok();
}

// True only for what this very transfer has brought. If two machines see the same folder, a session
// of that name may be the one that is moved, and its sender would remove it. It may also have come
// through this inbox earlier, with the same name and bytes.
bool SessionInbox::WasKept(const rpc::SessionPart& part) const {
  if (part.transfer == Hash128{}) return false;  // from an older program
  const auto kept = std::ranges::find_if(kept_, [&](const Kept& other) {
    return other.transfer == part.transfer && other.content == part.content &&
           other.name == part.name;
  });
  return kept != kept_.end() && folder_.Has(part.name, kept->session);
}

Status SessionInbox::CheckIsFree(const rpc::SessionPart& part) const {
  if (!fs::exists(TRY(folder_.PathOf(part.name)))) return Ok();
  return Error(Code::kAlreadyExists,
               fmt::format("there is a session named {} already; give it another name with --as, "
                           "or remove that one there",
                           part.name));
}

// The transfer that the part belongs to; null if its beginning is missing.
Result<std::shared_ptr<SessionInbox::Incoming>> SessionInbox::Find(const std::string& path,
                                                                   const rpc::NodeId& from,
                                                                   const rpc::SessionPart& part) {
  const auto found = incoming_.find(path);
  if (found != incoming_.end()) {
    if (!IsActive(*found->second)) TRY(CheckSender(from));
    found->second->news_ns = clock_.NowNs();
    if (found->second->total_bytes == part.total_bytes) return found->second;
    return InvalidArgument("the parts of a session disagree about how long it is");
  }
  TRY(CheckIsFree(part));
  const bool is_begun = fs::exists(path);
  if (!is_begun && part.offset != 0) return std::shared_ptr<Incoming>();
  TRY(CheckSender(from));
  if (!is_begun) TRY(MakeRoom(part));
  auto incoming = std::make_shared<Incoming>(from, part.total_bytes, clock_.NowNs());
  return incoming_.emplace(path, std::move(incoming)).first->second;
}

Result<rpc::SessionReceipt> SessionInbox::Take(const rpc::NodeId& from,
                                               const rpc::SessionPart& part) {
  auto taken = TakePart(from, part);
  if (taken.ok()) return taken;
  const Error& why = taken.error();
  std::string told = WithoutPath(why.message(), path_);
  if (told == why.message()) return taken;
  log::Warn("a session that moves here was not kept", {{"why", why.message()}});
  return Error(why.code(), std::move(told));
}

Result<rpc::SessionReceipt> SessionInbox::TakePart(const rpc::NodeId& from,
                                                   const rpc::SessionPart& part) {
  TRY(CheckName(part));
  const std::string path =
      fmt::format("{}/{}{}-{}", path_, kPrefix, from.value.ToHex(), part.content.ToHex());
  std::shared_ptr<Incoming> incoming;
  {
    const MutexLock lock(mu_);
    if (clock_.NowNs() - cleaned_ns_ >= kCleanNs) CountFiles();
    if (!incoming_.contains(path) && WasKept(part)) {
      return KeptBy(part);
    }
    incoming = TRY(Find(path, from, part));
  }
  if (!incoming) return NextAt(0);
  const MutexLock lock(incoming->mu);
  // The transfer ended while this part waited: a sender that asks again learns how.
  if (incoming->is_over) return NextAt(0);
  TRY(CheckIsFree(part));
  const uint64_t size = SizeOf(path);
  if (part.offset != size || size + part.data.size() > part.total_bytes) {
    return NextAt(size);
  }
  const Status appended = part.data.empty() ? Ok() : Append(path, part.data);
  if (!appended.ok()) {
    // A transfer that cannot complete gives its space back.
    if (appended.error().code() == Code::kResourceExhausted) Drop(path, *incoming);
    return appended.error();
  }
  const uint64_t received = size + part.data.size();
  if (part.is_last && received == part.total_bytes) return Finish(path, part, *incoming);
  return NextAt(received);
}

void SessionInbox::Drop(const std::string& path, Incoming& incoming) {
  std::error_code ignored;
  fs::remove(path, ignored);
  incoming.is_over = true;
  const MutexLock lock(mu_);
  incoming_.erase(path);
}

Result<rpc::SessionReceipt> SessionInbox::Finish(const std::string& path,
                                                 const rpc::SessionPart& part, Incoming& incoming) {
  const auto import = [&]() -> Status {
    if (TRY(HashOfFile(path)) != part.content) {
      return DataLoss("the received bytes differ from the sent ones; move it again");
    }
    return folder_.Import(path, part.name, disk::SessionFolder::IfThere::kRefuse);
  };
  Status imported = import();
  if (!imported.ok()) {
    // Keeps the bytes if importing them may succeed the next time.
    if (IsPermanent(imported.error().code())) Drop(path, incoming);
    return std::move(imported).error();
  }
  auto taken = folder_.Open(part.name);
  if (taken.ok()) {
    const MutexLock lock(mu_);
    kept_.push_back({part.transfer, part.content, part.name, std::move(taken->session)});
    if (kept_.size() > kMaxIncoming) kept_.pop_front();
  }
  Drop(path, incoming);
  return KeptBy(part);
}

}  // namespace aster::node
