// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "pull/download.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/append_file.h"
#include "base/files.h"
#include "base/mapped_file.h"
#include "base/units.h"
#include "crypto/sha256.h"

namespace aster::pull {
namespace {

constexpr int64_t kFirstWaitNs = kNsPerSecond;
constexpr int64_t kLongestWaitNs = 60 * kNsPerSecond;
constexpr size_t kMaxTagBytes = 1024;
constexpr uint64_t kHashedAtOnce = 4 << 20;

// The kind of a reply, by its head.
enum class Reply : uint8_t {
  kContent,  // bytes of the file
  kRefusal,  // not now
  kNoMore,   // all bytes are here already
};

class FileDownload {
 public:
  FileDownload(HttpClient& http, const RemoteFile& file, const std::string& path, Clock& clock,
               const DownloadOptions& options, AppendFile part)
      : http_(http),
        file_(file),
        path_(path),
        clock_(clock),
        options_(options),
        part_(std::move(part)),
        total_(file.size_bytes) {}

  Status Run() {
    Status done = Bring();
    if (!done.ok()) RemoveTraces();
    return done;
  }

 private:
  Status Bring() {
    TRY(FindBegin());
    for (uint32_t tries = 0; true;) {
      const uint64_t before = done_;
      const Status tried = Try();
      if (tried.ok()) break;
      // Only a failed connection is worth another try; a server that refuses says so.
      if (tried.error().code() != Code::kUnavailable) return tried.error();
      tries = done_ > before ? 0 : tries + 1;
      if (tries >= options_.max_tries) return GivenUp(tried.error());
      Wait(tries, tried.error());
    }
    TRY(CheckContent());
    return Finish();
  }

  // For a download that cannot be resumed.
  void RemoveTraces() const {
    if (done_ > 0) return;
    std::error_code error;
    std::filesystem::remove(PartPath(), error);
    std::filesystem::remove(TagPath(), error);
  }

  std::string PartPath() const { return path_ + ".part"; }
  std::string TagPath() const { return path_ + ".part.tag"; }

  // Continues after the bytes of an earlier run, if their version is known.
  Status FindBegin() {
    std::error_code error;
    const uint64_t size = std::filesystem::file_size(PartPath(), error);
    if (error || size == 0) return Restart();
    auto tag = ReadFile(TagPath(), kMaxTagBytes);
    const bool is_known = !file_.sha256.empty() || (tag.ok() && !tag->empty());
    const bool fits = !file_.size_bytes || size <= *file_.size_bytes;
    if (!is_known || !fits) return Restart();
    if (tag.ok()) tag_ = std::move(*tag);
    done_ = size;
    return Ok();
  }

  // Discards the bytes, and the tag, which must not vouch for others.
  Status Restart() {
    TRY(part_.CutAt(0));
    std::error_code error;
    std::filesystem::remove(TagPath(), error);
    if (error) return SystemError(error.value(), TagPath());
    done_ = 0;
    total_ = file_.size_bytes;
    tag_.clear();
    return Ok();
  }

  // Discards the bytes of another version than the server's. Bounded: each reply of a server may
  // have another tag.
  Status BeginAgain() {
    if (++versions_ > options_.max_tries) {
      return Error(Code::kAborted,
                   Named(fmt::format("given up after {} versions: what the server sends is never "
                                     "of the same version as the bytes that are here",
                                     options_.max_tries)));
    }
    TRY(Restart());
    return Error(Code::kUnavailable, "the server has another version than the bytes that are here");
  }

  // Fetches the missing bytes. Unavailable if another try is worthwhile.
  Status Try() {
    if (file_.size_bytes && done_ == *file_.size_bytes) return Ok();
    retry_after_s_.reset();
    const HttpRequest request{
        .url = file_.url, .bearer = options_.bearer, .begin = done_, .if_range = tag_};
    const HttpHead head = TRY(http_.Get(
        request, [&](const HttpHead& begun) { return TakeHead(begun); },
        [&](Bytes piece) { return TakeBody(piece); }));
    switch (reply_) {
      case Reply::kNoMore:
        return Ok();
      case Reply::kRefusal:
        return Error(Code::kUnavailable,
                     fmt::format("the server answers with status {}", head.status));
      case Reply::kContent:
        break;
    }
    // If the length is unknown, the end of the reply is the end of the file.
    if (done_ == total_.value_or(done_)) return Ok();
    return Error(Code::kUnavailable, "the connection ended early");
  }

  Status TakeHead(const HttpHead& head) {
    switch (head.status) {
      case 200:
        TRY(Restart());
        return TakeVersion(head, head.length);
      case 206:
        if (head.range_begin != done_)
          return DataLoss(Named("the server sends another range than it was asked for"));
        return TakeVersion(head, head.total);
      case 416:
        if (done_ == 0 || head.total != done_) return BeginAgain();
        reply_ = Reply::kNoMore;
        return Ok();
      case 408:
      case 429:
      case 500:
      case 502:
      case 503:
      case 504:
        reply_ = Reply::kRefusal;
        retry_after_s_ = head.retry_after_s;
        return Ok();
      default:
        return Refusal(head.status);
    }
  }

  Status TakeVersion(const HttpHead& head, std::optional<uint64_t> total) {
    reply_ = Reply::kContent;
    if (file_.size_bytes && total && *total != *file_.size_bytes) {
      return DataLoss(Named(
          fmt::format("the server has {} bytes, its list says {}; the file has changed: try again",
                      *total, *file_.size_bytes)));
    }
    const bool is_rest = head.status == 206 && done_ > 0;
    if (is_rest && !IsSameVersion(head)) return BeginAgain();
    if (total) total_ = total;
    if (total_) TRY(CheckRoom(*total_ - std::min(*total_, done_)));
    // A tag is kept only with the first bytes: with later ones, all may be of another version.
    if (!is_rest && !head.tag.empty()) {
      tag_ = head.tag;
      TRY(WriteFileAtomically(TagPath(), AsBytes(tag_)));
    }
    return Ok();
  }

  // Whether a 206 continues the bytes that are here: servers and proxies may ignore If-Range.
  bool IsSameVersion(const HttpHead& head) const {
    if (total_ && head.total && *head.total != *total_) return false;
    if (!tag_.empty() && !head.tag.empty()) return head.tag == tag_;
    // Without tags the same size has to do, unless the digest is checked in the end.
    return !file_.sha256.empty() || (total_ && head.total);
  }

  Status CheckRoom(uint64_t bytes) const {
    std::error_code error;
    const auto space = std::filesystem::space(std::filesystem::path(path_).parent_path(), error);
    if (error || space.available >= bytes) return Ok();
    return ResourceExhausted(Named(fmt::format(
        "needs {} more and the disk has {} free; make room or give another folder with --to",
        FormatBytes(bytes), FormatBytes(space.available))));
  }

  Status TakeBody(Bytes piece) {
    // The body of a refusal is a page for users.
    if (reply_ != Reply::kContent) return Ok();
    if (total_ && piece.size() > *total_ - done_) {
      return DataLoss(
          Named(fmt::format("the server sends more than the {} bytes that it announced", *total_)));
    }
    TRY(part_.Append(AsText(piece)));
    done_ += piece.size();
    if (options_.on_progress) options_.on_progress(done_, total_.value_or(0));
    return Ok();
  }

  void Wait(uint32_t tries, const Error& why) {
    const uint32_t doublings = std::min(std::max(tries, 1U) - 1, 6U);
    int64_t wait_ns = std::min(kLongestWaitNs, kFirstWaitNs << doublings);
    if (retry_after_s_)
      wait_ns = std::min<int64_t>(kLongestWaitNs, int64_t{*retry_after_s_} * kNsPerSecond);
    if (options_.on_note) {
      options_.on_note(Named(fmt::format("{}; going on at {} in {} s", why.message(),
                                         FormatBytes(done_), wait_ns / kNsPerSecond)));
    }
    clock_.SleepFor(wait_ns);
  }

  Error GivenUp(const Error& why) const {
    return Error(
        Code::kUnavailable,
        Named(fmt::format(
            "given up after {} tries without a byte: {}; the {} that are here are kept: run the "
            "command again to go on",
            options_.max_tries, why.message(), FormatBytes(done_))));
  }

  Error Refusal(int status) const {
    switch (status) {
      case 401:
      case 403:
        return Error(Code::kPermissionDenied,
                     Named(fmt::format("the server wants a token that may read it (status {}): "
                                       "give one in HF_TOKEN or with "
                                       "--token-file",
                                       status)));
      case 404:
      case 410:
        return NotFound(Named("the server has no such file; check its name"));
      default:
        return FailedPrecondition(Named(fmt::format("the server answers with status {}", status)));
    }
  }

  Status CheckContent() {
    if (file_.sha256.empty()) return Ok();
    const std::string digest = TRY(Digest());
    if (digest == file_.sha256) return Ok();
    TRY(Restart());
    return DataLoss(Named(fmt::format(
        "its SHA-256 is {}, not {} as the hub says; the received bytes were removed: try again",
        digest, file_.sha256)));
  }

  Result<std::string> Digest() const {
    const MappedFile mapped = TRY(MappedFile::Open(PartPath()));
    crypto::Sha256 hash;
    Bytes rest = mapped.bytes();
    while (!rest.empty()) {
      const Bytes piece = rest.first(std::min<size_t>(rest.size(), kHashedAtOnce));
      hash.Add(piece);
      rest = rest.subspan(piece.size());
    }
    return crypto::ToHex(hash.Finish());
  }

  Status Finish() {
    TRY(part_.Sync());
    std::error_code error;
    std::filesystem::rename(PartPath(), path_, error);
    if (error) return SystemError(error.value(), path_);
    std::filesystem::remove(TagPath(), error);
    return Ok();
  }

  std::string Named(std::string_view what) const { return fmt::format("{}: {}", file_.name, what); }

  HttpClient& http_;
  const RemoteFile& file_;
  const std::string path_;
  Clock& clock_;
  const DownloadOptions& options_;
  AppendFile part_;
  std::string tag_;  // of the version of the bytes
  uint64_t done_ = 0;
  std::optional<uint64_t> total_;  // of that version
  uint32_t versions_ = 0;          // that were discarded
  std::optional<uint32_t> retry_after_s_;
  Reply reply_ = Reply::kContent;
};

}  // namespace

Status Download(HttpClient& http, const RemoteFile& file, const std::string& path, Clock& clock,
                const DownloadOptions& options) {
  AppendFile part = TRY(AppendFile::Open(path + ".part"));
  return FileDownload(http, file, path, clock, options, std::move(part)).Run();
}

}  // namespace aster::pull
