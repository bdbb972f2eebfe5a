// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "fetch/fetching_slice_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <stop_token>

namespace aster::fetch {
namespace {

// For a fetch that failed. Unavailable would mean a neighbour that cannot be reached, and most
// other codes an error that any node would have; here only this node lacks the weights.
Code CodeForCaller(Code code) {
  switch (code) {
    case Code::kCancelled:
    case Code::kDataLoss:
    case Code::kPermissionDenied:
    case Code::kResourceExhausted:
    case Code::kUnimplemented:
      return code;
    default:
      return Code::kNotFound;
  }
}

}  // namespace

struct FetchingSliceSource::Fetch {
  stage::SliceRequest request;
  std::vector<const Fetch*> reported_before;  // request.used_bytes counts these already
  std::stop_source stop;
  std::atomic<uint64_t> done_bytes = 0;
  std::atomic<uint64_t> total_bytes = 0;
  std::atomic<uint64_t> reserved_bytes = 0;
  std::atomic<uint64_t> reserved_gpu_bytes = 0;
  std::atomic<bool> is_size_reported = false;  // the owner knows its size
  std::atomic<bool> is_abandoned = false;
  std::atomic<bool> is_done = false;
  // The thread writes it before is_done, the owner reads it afterwards.
  std::optional<Result<std::shared_ptr<const gguf::ModelFiles>>> fetched;
};

// Progress counts the fetched bytes, then the same bytes again as they are loaded.
class FetchingSliceSource::Loading final : public stage::SliceLoading {
 public:
  Loading(std::shared_ptr<Fetch> fetch, stage::FileSliceOptions options)
      : fetch_(std::move(fetch)), source_(std::move(options)) {}
  ~Loading() override {
    if (!is_taken_) fetch_->is_abandoned.store(true);
    fetch_->stop.request_stop();
  }

  Progress progress() const override {
    const uint64_t fetched = fetch_->done_bytes.load();
    const uint64_t total = fetch_->total_bytes.load();
    if (!loading_) return {.done_bytes = fetched, .total_bytes = 2 * total};
    const Progress loaded = loading_->progress();
    return {.done_bytes = total + loaded.done_bytes, .total_bytes = total + loaded.total_bytes};
  }
  uint64_t reserved_bytes() const override {
    const uint64_t bytes = fetch_->reserved_bytes.load();
    if (bytes > 0) fetch_->is_size_reported.store(true);
    return loading_ ? loading_->reserved_bytes() : bytes;
  }
  uint64_t reserved_gpu_bytes() const override {
    return loading_ ? loading_->reserved_gpu_bytes() : fetch_->reserved_gpu_bytes.load();
  }

  std::optional<Result<std::unique_ptr<engine::LocalModel>>> Take() override {
    if (!loading_) {
      if (!fetch_->is_done.load(std::memory_order_acquire)) return std::nullopt;
      const auto& fetched = *fetch_->fetched;
      if (!fetched.ok()) return Result<std::unique_ptr<engine::LocalModel>>(fetched.error());
      source_.Add(fetch_->request.fingerprint, *fetched);
      auto started = source_.Start(fetch_->request);
      if (!started.ok()) return Result<std::unique_ptr<engine::LocalModel>>(started.error());
      loading_ = *std::move(started);
    }
    auto taken = loading_->Take();
    if (taken && taken->ok()) {
      is_taken_ = true;
      fetch_->is_size_reported.store(true);
    }
    return taken;
  }
  bool CanGiveUp() const override { return !loading_; }

 private:
  const std::shared_ptr<Fetch> fetch_;
  stage::FileSliceSource source_;  // with the fetched files only
  std::unique_ptr<stage::SliceLoading> loading_;
  bool is_taken_ = false;  // its memory stays in use after this object
};

FetchingSliceSource::FetchingSliceSource(stage::FileSliceSource& files, TensorStore& store,
                                         PeersWith peers_with, FetchingOptions options)
    : files_(files),
      store_(store),
      peers_with_(std::move(peers_with)),
      options_(std::move(options)) {}

FetchingSliceSource::~FetchingSliceSource() {
  std::vector<std::pair<std::shared_ptr<Fetch>, std::thread>> fetches;
  {
    const MutexLock lock(mu_);
    fetches.swap(fetches_);
  }
  for (auto& [fetch, thread] : fetches) fetch->stop.request_stop();
  for (auto& [fetch, thread] : fetches) thread.join();
}

Result<std::unique_ptr<stage::SliceLoading>> FetchingSliceSource::Start(
    const stage::SliceRequest& request) {
  auto here = files_.Start(request);
  if (here.ok() || here.error().code() != Code::kNotFound) return here;
  JoinFinished();
  auto fetch = std::make_shared<Fetch>();
  fetch->request = request;
  {
    const MutexLock lock(mu_);
    for (const auto& [other, thread] : fetches_) {
      if (other->is_size_reported) fetch->reported_before.push_back(other.get());
    }
    fetches_.emplace_back(fetch, std::thread([this, fetch] { Run(*fetch); }));
  }
  return std::make_unique<Loading>(std::move(fetch), options_.loading);
}

void FetchingSliceSource::Run(Fetch& fetch) {
  Status room = Ok();
  EnsureRequest wanted{
      .fingerprint = fetch.request.fingerprint,
      .slice = fetch.request.slice,
      .peers = peers_with_(fetch.request.fingerprint),
      .here = options_.parts_here ? options_.parts_here() : std::vector<PartHere>(),
      .fetching = {.progress =
                       [&fetch](uint64_t done, uint64_t total) {
                         fetch.done_bytes.store(done);
                         fetch.total_bytes.store(total);
                       },
                   .stop = fetch.stop.get_token(),
                   .retry_pause_ns = options_.retry_pause_ns},
      .check = [&](const gguf::ModelFiles& layout) { return room = Reserve(fetch, layout); }};
  Result<Ensured> ensured = store_.Ensure(wanted);
  if (ensured.ok()) {
    fetch.fetched.emplace(std::move(ensured->files));
  } else if (!room.ok()) {
    fetch.fetched.emplace(std::move(room).error());
  } else {
    const Error why = std::move(ensured).error();
    const char* const advice =
        why.code() == Code::kUnavailable
            ? "; start `aster node --model FILE` on a machine that has the file"
            : "";
    fetch.fetched.emplace(
        Error(CodeForCaller(why.code()),
              fmt::format("no file here is the model {} (there are: {}), and fetching its weights "
                          "from other nodes failed: {}{}",
                          fetch.request.fingerprint.ToHex().substr(0, 8), files_.Models(),
                          why.message(), advice)));
  }
  fetch.is_done.store(true, std::memory_order_release);
}

Status FetchingSliceSource::Reserve(Fetch& fetch, const gguf::ModelFiles& layout) {
  const MutexLock lock(mu_);
  stage::SliceRequest request = fetch.request;
  // The caller did not count slices whose sizes have become known since.
  for (const auto& [other, thread] : fetches_) {
    const bool is_counted =
        std::ranges::find(fetch.reported_before, other.get()) != fetch.reported_before.end();
    if (other.get() == &fetch || other->is_abandoned || is_counted) continue;
    request.used_bytes += other->reserved_bytes.load();
    request.used_gpu_bytes += other->reserved_gpu_bytes.load();
  }
  const stage::SliceRoom room = TRY(stage::FindRoom(layout, request, options_.loading));
  fetch.reserved_gpu_bytes.store(room.gpu_bytes);
  fetch.reserved_bytes.store(room.main_bytes);
  return Ok();
}

void FetchingSliceSource::JoinFinished() {
  const MutexLock lock(mu_);
  // Concurrent fetches must see each other's memory.
  if (std::ranges::any_of(fetches_, [](const auto& item) { return !item.first->is_done; })) return;
  for (auto& [fetch, thread] : fetches_) thread.join();
  fetches_.clear();
}

}  // namespace aster::fetch
