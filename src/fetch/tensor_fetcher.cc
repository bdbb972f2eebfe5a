// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "fetch/tensor_fetcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "gguf/metadata.h"

namespace aster::fetch {
namespace {

// Rounds over all peers without progress before fetching fails.
constexpr int kIdleRounds = 3;
constexpr size_t kReadBytes = size_t{1} << 20;
constexpr int64_t kStopPollNs = 20 * kNsPerMs;

}  // namespace

TensorFetcher::TensorFetcher(const StoredModel& model, ModelWriter& writer,
                             std::vector<std::shared_ptr<WeightPeer>> peers, FetchOptions options,
                             Clock& clock)
    : model_(model), writer_(writer), options_(std::move(options)), clock_(clock) {
  for (auto& peer : peers) peers_.push_back({.peer = std::move(peer), .last_error = {}});
}

Status TensorFetcher::Fetch(std::span<const TensorPlace> places) {
  for (const TensorPlace& place : places) total_bytes_ += place.size;
  for (const TensorPlace& place : places) {
    Report();
    if (!writer_.StateOf(place).is_verified) TRY(FetchOne(place));
    done_bytes_ += place.size;
    here_bytes_ = 0;
  }
  Report();
  if (damaged_count_ > 0) {
    notes_.push_back(fmt::format("{}: {} tensors were damaged on this disk and fetched again",
                                 model_.folder(), damaged_count_));
    log::Warn("weights were damaged", {{"what", notes_.back()}});
  }
  return Ok();
}

Status TensorFetcher::FetchOne(const TensorPlace& place) {
  // Fetches until the hash is right. This ends: after a wrong one the bytes on disk are dropped,
  // from the second time on the tensor comes from one peer at a time, and a peer that sent a wrong
  // one is not asked again.
  bool alone = false;
  for (;;) {
    TensorFetch fetch{.place = place};
    TRY(HashPrefix(fetch));
    TRY(FetchRest(fetch, alone));
    if (fetch.hasher.Finish() == place.content) {
      writer_.SetVerified(place);
      return Ok();
    }
    Blame(fetch);
    alone = alone || fetch.senders.size() > 1;
    writer_.Drop(place);
    here_bytes_ = 0;
  }
}

// Hashes the bytes of an earlier run, which fetching continues.
Status TensorFetcher::HashPrefix(TensorFetch& fetch) {
  const uint64_t there = writer_.StateOf(fetch.place).bytes;
  fetch.had_prefix = there > 0;
  std::vector<uint8_t> buffer(std::min<uint64_t>(there, kReadBytes));
  for (uint64_t offset = 0; offset < there;) {
    TRY(CheckStop());
    const auto piece = std::span(buffer).first(std::min<uint64_t>(buffer.size(), there - offset));
    TRY(writer_.Read(fetch.place, offset, piece));
    fetch.hasher.Add(piece);
    offset += piece.size();
    here_bytes_ = offset;
    Report();
  }
  return Ok();
}

Status TensorFetcher::FetchRest(TensorFetch& fetch, bool alone) {
  for (int idle_rounds = 0; writer_.StateOf(fetch.place).bytes < fetch.place.size;) {
    const uint64_t missing = fetch.place.size - writer_.StateOf(fetch.place).bytes;
    uint64_t gained = 0;
    TRY(FetchFromEachPeer(fetch, alone, gained));
    if (writer_.StateOf(fetch.place).bytes == fetch.place.size) break;
    // Less than kLeastBytes is no progress: otherwise a peer that sends a byte per call would be
    // asked for ever.
    const bool is_progress = !alone && gained >= std::min(missing, kLeastBytes);
    idle_rounds = is_progress ? 0 : idle_rounds + 1;
    const bool none_left = std::ranges::all_of(peers_, &Peer::is_untrusted);
    if (idle_rounds == kIdleRounds || none_left) return NoPeerHas(fetch.place);
    TRY(Pause());
  }
  return Ok();
}

Status TensorFetcher::FetchFromEachPeer(TensorFetch& fetch, bool alone, uint64_t& gained_bytes) {
  // Beginning with the peer that sent the last tensor. Each continues where the one before ended;
  // with `alone` it begins again, so that a wrong hash is that peer's fault.
  for (size_t i = 0; i < peers_.size(); ++i) {
    const size_t index = (preferred_ + i) % peers_.size();
    if (peers_[index].is_untrusted) continue;
    if (alone && writer_.StateOf(fetch.place).bytes > 0) {
      writer_.Drop(fetch.place);
      fetch.hasher = {};
      fetch.senders.clear();
      fetch.had_prefix = false;
    }
    const uint64_t before = writer_.StateOf(fetch.place).bytes;
    TRY(FetchFrom(fetch, index));
    const uint64_t after = writer_.StateOf(fetch.place).bytes;
    gained_bytes += after - before;
    if (after == fetch.place.size) {
      preferred_ = index;
      return Ok();
    }
  }
  return Ok();
}

Status TensorFetcher::FetchFrom(TensorFetch& fetch, size_t peer_index) {
  TRY(CheckStop());
  Peer& peer = peers_[peer_index];
  const TensorPlace& place = fetch.place;
  const uint64_t offset = writer_.StateOf(place).bytes;
  std::optional<Error> own_error;
  int64_t window_ns = clock_.NowNs();
  uint64_t window_bytes = 0;
  // Writes the bytes to the disk, adds them to the hash, and checks the least rate. An error of
  // this node's own disk is distinguished from the peer's.
  const auto take = [&](Bytes piece) -> Status {
    if (options_.stop.stop_requested()) {
      return Error(Code::kCancelled, "fetching weights was stopped");
    }
    if (piece.size() > place.size - writer_.StateOf(place).bytes) {
      return DataLoss("it sent more bytes than the tensor has");
    }
    const Status written = writer_.Append(place, piece);
    if (!written.ok()) {
      own_error = written.error();
      return written;
    }
    fetch.hasher.Add(piece);
    received_bytes_ += piece.size();
    window_bytes += piece.size();
    here_bytes_ = writer_.StateOf(place).bytes;
    Report();
    const int64_t now_ns = clock_.NowNs();
    if (now_ns - window_ns < options_.patience_ns) return Ok();
    if (window_bytes < kLeastBytes) {
      return Error(Code::kDeadlineExceeded, fmt::format("it sent {} bytes in {} s", window_bytes,
                                                        (now_ns - window_ns) / kNsPerSecond));
    }
    window_ns = now_ns;
    window_bytes = 0;
    return Ok();
  };
  const Status answer =
      peer.peer->FetchTensor(model_.manifest()->fingerprint, place.name, offset, take);
  if (writer_.StateOf(place).bytes > offset) {
    if (std::ranges::find(fetch.senders, peer_index) == fetch.senders.end()) {
      fetch.senders.push_back(peer_index);
    }
  }
  if (own_error) return *own_error;
  TRY(CheckStop());
  peer.last_error = answer.ok() ? "it ended before the tensor did" : answer.error().message();
  return Ok();
}

// Finds the source of wrong bytes: the only peer that sent any, or this disk if none did. With
// several peers it is unknown.
void TensorFetcher::Blame(const TensorFetch& fetch) {
  const std::string name = gguf::NameText(fetch.place.name);
  if (fetch.senders.size() == 1 && !fetch.had_prefix) {
    Peer& sender = peers_[fetch.senders.front()];
    sender.is_untrusted = true;
    sender.last_error = fmt::format("it sent a tensor {} that is not the model's", name);
    notes_.push_back(
        fmt::format("{} sent a tensor {} that is not the model's, and is not asked any "
                    "more: its file or its memory may be damaged",
                    sender.peer->name(), name));
    log::Warn("weights from another node are wrong", {{"what", notes_.back()}});
  } else if (fetch.senders.empty()) {
    ++damaged_count_;
  } else {
    log::Info("weights that came from several are wrong, and are fetched again",
              {{"tensor", name}});
  }
}

Error TensorFetcher::NoPeerHas(const TensorPlace& place) const {
  std::string reasons;
  for (const Peer& peer : peers_) {
    reasons += fmt::format("; {}: {}", peer.peer->name(),
                           peer.last_error.empty() ? "not asked" : peer.last_error);
  }
  return {
      Code::kUnavailable,
      fmt::format("no node sends the tensor {} of the model {}{}. Fetched tensors are kept: try "
                  "again when a node that has the model is reachable",
                  gguf::NameText(place.name), model_.manifest()->fingerprint.ToHex().substr(0, 8),
                  reasons.empty() ? "; no node has it" : reasons)};
}

Status TensorFetcher::CheckStop() const {
  if (!options_.stop.stop_requested()) return Ok();
  return Error(Code::kCancelled, "fetching weights was stopped; fetched tensors are kept");
}

Status TensorFetcher::Pause() {
  const int64_t until_ns = clock_.NowNs() + options_.retry_pause_ns;
  for (int64_t now_ns = clock_.NowNs(); now_ns < until_ns; now_ns = clock_.NowNs()) {
    TRY(CheckStop());
    clock_.SleepUntil(std::min(until_ns, now_ns + kStopPollNs));
  }
  return CheckStop();
}

void TensorFetcher::Report() {
  if (options_.progress) options_.progress(done_bytes_ + here_bytes_, total_bytes_);
}

}  // namespace aster::fetch
