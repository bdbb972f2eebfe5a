// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The format of every body, written once: Fields() visits the fields of a message with a BodyWriter
// or a BodyReader of a protocol version. For codec.cc and its tests. Must not know headers and
// payloads.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "wire/codec.h"
#include "wire/messages.h"

namespace aster::wire {

// Appends little-endian fields. Cuts texts and lists at their limits.
class BodyWriter {
 public:
  // Leaves room before the body.
  BodyWriter(size_t room_bytes, uint16_t version) : version_(version), bytes_(room_bytes) {}

  uint16_t version() const { return version_; }

  template <Scalar T>
  void Value(T& value) {
    Append(&value, sizeof(T));
  }
  void Flag(bool& value) { Append(&value, 1); }
  template <typename E>
  void Choice(E& value, E /*last*/, E /*first*/ = E{}) {
    Append(&value, sizeof(E));
  }
  void Text(std::string& text, size_t max_bytes) {
    auto size = static_cast<uint16_t>(std::min(text.size(), max_bytes));
    Value(size);
    Append(text.data(), size);
  }
  // Elements whose encoding equals their bytes in memory.
  template <typename T>
  void Array(std::vector<T>& values, size_t max_count = UINT32_MAX) {
    auto count = static_cast<uint32_t>(std::min(values.size(), max_count));
    Value(count);
    Append(values.data(), count * sizeof(T));
  }
  template <typename T, typename Each>
  void List(std::vector<T>& values, size_t max_count, size_t /*least_bytes*/, Each each) {
    auto count = static_cast<uint32_t>(std::min(values.size(), max_count));
    Value(count);
    for (uint32_t i = 0; i < count; ++i) each(*this, values[i]);
  }

  std::vector<uint8_t> Take() && { return std::move(bytes_); }

 private:
  void Append(const void* data, size_t size) {
    const size_t begin = bytes_.size();
    bytes_.resize(begin + size);
    if (size > 0) std::memcpy(bytes_.data() + begin, data, size);
  }

  const uint16_t version_;
  std::vector<uint8_t> bytes_;
};

// Reads the same fields from untrusted bytes. After the first failure everything reads as empty,
// and Finish returns the error.
class BodyReader {
 public:
  BodyReader(Bytes bytes, uint16_t version) : version_(version), reader_(bytes) {}

  uint16_t version() const { return version_; }

  template <Scalar T>
  void Value(T& value) {
    Result<T> read = reader_.Read<T>();
    if (!read.ok()) return Fail(read.error());
    if (status_.ok()) value = *read;
  }
  void Flag(bool& value) {
    uint8_t byte = 0;
    Value(byte);
    if (byte > 1) return Fail(DataLoss(fmt::format("{} instead of 0 or 1", byte)));
    value = byte == 1;
  }
  template <typename E>
  void Choice(E& value, E last, E first = E{}) {
    auto byte = static_cast<uint8_t>(first);
    Value(byte);
    if (byte < static_cast<uint8_t>(first) || byte > static_cast<uint8_t>(last)) {
      return Fail(DataLoss(fmt::format("a choice of {}, which is none of {} to {}", byte,
                                       static_cast<int>(first), static_cast<int>(last))));
    }
    value = static_cast<E>(byte);
  }
  void Text(std::string& text, size_t max_bytes) {
    uint16_t size = 0;
    Value(size);
    if (size > max_bytes) return Fail(TooMany(size, max_bytes));
    Result<Bytes> bytes = reader_.ReadBytes(status_.ok() ? size : 0);
    if (!bytes.ok()) return Fail(bytes.error());
    text = AsText(*bytes);
  }
  template <typename T>
  void Array(std::vector<T>& values, size_t max_count = UINT32_MAX) {
    const uint32_t count = Count(max_count, sizeof(T));
    const Bytes bytes = reader_.ReadBytes(uint64_t{count} * sizeof(T)).value();
    values.resize(count);
    if (count > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  // `least_bytes`: the size of the shortest element.
  template <typename T, typename Each>
  void List(std::vector<T>& values, size_t max_count, size_t least_bytes, Each each) {
    const uint32_t count = Count(max_count, least_bytes);
    for (uint32_t i = 0; i < count && status_.ok(); ++i) each(*this, values.emplace_back());
  }

  Status Finish(bool may_be_longer) {
    if (status_.ok() && !reader_.at_end() && !may_be_longer) {
      Fail(DataLoss(fmt::format("{} bytes more than it has", reader_.left())));
    }
    return status_;
  }

 private:
  static Error TooMany(uint64_t count, uint64_t max_count) {
    return DataLoss(fmt::format("a length of {}, where {} are allowed", count, max_count));
  }
  void Fail(const Error& error) {
    if (status_.ok()) status_ = error;
  }
  // Zero if fewer can follow.
  uint32_t Count(size_t max_count, size_t least_bytes) {
    if (!status_.ok()) return 0;
    const Result<uint32_t> count = reader_.ReadCount<uint32_t>(least_bytes);
    if (!count.ok()) {
      Fail(count.error());
      return 0;
    }
    if (*count > max_count) {
      Fail(TooMany(*count, max_count));
      return 0;
    }
    return *count;
  }

  const uint16_t version_;
  ByteReader reader_;
  Status status_;
};

// --- Parts of messages.

template <typename C>
void Fields(C& c, Hash128& m) {
  c.Value(m.low);
  c.Value(m.high);
}

template <typename C>
void Fields(C& c, NodeId& m) {
  Fields(c, m.value);
}

template <typename C>
void Fields(C& c, Error& m) {
  Code code = m.code();
  std::string message = m.message();
  c.Choice(code, Code::kUnauthenticated, Code::kCancelled);
  c.Text(message, kMaxErrorBytes);
  m = Error(code, std::move(message));
}

template <typename C>
void Fields(C& c, StageAddress& m) {
  Fields(c, m.node);
  c.Text(m.name, kMaxNameBytes);
  c.List(m.addresses, kMaxAddresses, 2,
         [](C& each, std::string& address) { each.Text(address, kMaxNameBytes); });
  c.Value(m.layer_begin);
  c.Value(m.layer_end);
  c.Flag(m.embedding);
  c.Flag(m.head);
}
constexpr size_t kLeastStageBytes = 16 + 2 + 4 + 4 + 4 + 1 + 1;

template <typename C>
void Fields(C& c, StageGroup& m) {
  c.Value(m.stage);
  c.List(m.members, kMaxParts, kLeastStageBytes,
         [](C& each, StageAddress& member) { Fields(each, member); });
  c.Array(m.shares, kMaxParts);
  if (c.version() < kExpertsProtocol) return;
  c.Flag(m.owns_experts);
  c.Value(m.replicas);
  c.Array(m.replicated);
}
constexpr size_t kLeastGroupBytes = 4 + 4 + 4;

template <typename C>
void Fields(C& c, Sampling& m) {
  c.Value(m.penalty_window);
  c.Value(m.repetition_penalty);
  c.Value(m.frequency_penalty);
  c.Value(m.presence_penalty);
  c.Array(m.biases);
  c.Value(m.top_k);
  c.Value(m.typical_p);
  c.Value(m.top_p);
  c.Value(m.min_p);
  c.Value(m.temperature);
  c.Value(m.seed);
  c.Flag(m.logprobs);
  c.Value(m.top_logprobs);
}

template <typename C>
void Fields(C& c, WorkSegment& m) {
  c.Value(m.sequence);
  c.Value(m.attempt);
  c.Value(m.begin);
  c.Array(m.tokens);
  Fields(c, m.before);
  Fields(c, m.after);
  c.Choice(m.wanted, c.version() < kGroupProtocol ? Wanted::kAllLogits : Wanted::kAllStates);
  if (c.version() >= kKvTransferProtocol) c.Value(m.more);
  if (c.version() >= kDraftProtocol) c.Value(m.draft_count);
}
constexpr size_t kLeastSegmentBytes = 8 + 8 + 4 + 4 + 16 + 16 + 1;

template <typename C>
void Fields(C& c, SegmentResult& m) {
  c.Value(m.sequence);
  c.Value(m.attempt);
  c.Value(m.end);
  c.Value(m.token);
  c.Value(m.logprob);
  c.Array(m.top);
  Fields(c, m.why);
  c.Flag(m.has_failed);
  if (c.version() < kDraftProtocol) return;
  c.Value(m.drafted);
  c.Flag(m.is_accepted);
  c.Array(m.drafts, kMaxDrafts);
}
constexpr size_t kLeastResultBytes = 8 + 8 + 4 + 4 + 4 + 4 + (1 + 2) + 1;

// Sent as they are in memory.
static_assert(sizeof(TokenBias) == 8 && sizeof(LogitOf) == 8 && sizeof(HeldKv) == 12);

template <typename C>
void Fields(C& c, Hop& m) {
  c.Value(m.queue_ns);
  c.Value(m.compute_ns);
  c.Value(m.bytes_out);
  if (c.version() < kAheadProtocol) return;
  c.Value(m.gather_ns);
  c.Value(m.gather_bytes);
  if (c.version() < kBlocksProtocol) return;
  c.Value(m.gathers);
  c.Value(m.gather_send_ns);
}
constexpr size_t kLeastHopBytes = 3 * 8;

template <typename C>
void HopFields(C& c, std::vector<Hop>& hops) {
  c.List(hops, UINT32_MAX, kLeastHopBytes, [](C& each, Hop& hop) { Fields(each, hop); });
}

// --- The messages.

template <typename C>
void Fields(C& c, Hello& m) {
  c.Value(m.oldest_protocol);
  c.Value(m.newest_protocol);
  c.Value(m.arithmetic);
  Fields(c, m.node);
  c.Text(m.name, kMaxNameBytes);
  c.Value(m.max_frame_bytes);
  c.Value(m.credit_bytes);
  c.Array(m.password, kMaxPasswordBytes);
  if (c.version() >= kInstanceProtocol) c.Array(m.instance, kMaxInstanceBytes);
}

template <typename C>
void Fields(C& c, Goodbye& m) {
  Fields(c, m.why);
}

template <typename C>
void Fields(C& c, Credit& m) {
  c.Value(m.bytes);
}

template <typename C>
void Fields(C& c, Ping& m) {
  c.Value(m.stamp);
}

template <typename C>
void Fields(C& c, Pong& m) {
  c.Value(m.stamp);
}

template <typename C>
void Fields(C& c, OpenRoute& m) {
  c.Value(m.route);
  Fields(c, m.conductor);
  c.List(m.stages, kMaxStages, kLeastStageBytes,
         [](C& each, StageAddress& stage) { Fields(each, stage); });
  c.Value(m.index);
  Fields(c, m.fingerprint);
  c.Value(m.arithmetic);
  c.Choice(m.encoding, RowEncoding::kQ8);
  c.Value(m.kv_type);
  c.Value(m.kv_window);
  c.Value(m.kv_sinks);
  c.Value(m.kv_bytes);
  if (c.version() >= kKvTransferProtocol) c.Value(m.decode_stages);
  if (c.version() >= kFindKvProtocol) c.Choice(m.kv_encoding, RowEncoding::kQ8);
  if (c.version() < kGroupProtocol) return;
  c.List(m.groups, kMaxStages, kLeastGroupBytes,
         [](C& each, StageGroup& group) { Fields(each, group); });
  c.Value(m.part);
}

template <typename C>
void Fields(C& c, RouteState& m) {
  c.Value(m.route);
  c.Choice(m.kind, RouteState::Kind::kRefused);
  c.Value(m.done_bytes);
  c.Value(m.total_bytes);
  c.Value(m.kv_positions);
  Fields(c, m.why);
  if (c.version() >= kGroupProtocol) Fields(c, m.lost);
}

template <typename C>
void Fields(C& c, CloseRoute& m) {
  c.Value(m.route);
}

template <typename C>
void Fields(C& c, Begin& m) {
  c.Value(m.route);
  c.Value(m.sequence);
  c.Array(m.tokens);
  Fields(c, m.sampling);
  if (c.version() < kKvTransferProtocol) return;
  c.Value(m.epoch);
  c.Array(m.stop_tokens);
  if (c.version() < kDraftProtocol) return;
  c.Value(m.draft_kind);
  c.Value(m.draft_most);
}

template <typename C>
void Fields(C& c, Holds& m) {
  c.Value(m.route);
  c.Value(m.sequence);
  c.Value(m.attempt);
  c.Value(m.length);
  Fields(c, m.hash);
  Fields(c, m.why);
  if (c.version() < kKvTransferProtocol) return;
  c.Value(m.stage);
  c.Value(m.epoch);
}

template <typename C>
void Fields(C& c, End& m) {
  c.Value(m.route);
  c.Value(m.sequence);
}

template <typename C>
void Fields(C& c, Work& m) {
  c.Value(m.route);
  c.List(m.segments, UINT32_MAX, kLeastSegmentBytes,
         [](C& each, WorkSegment& segment) { Fields(each, segment); });
  c.Choice(m.encoding, RowEncoding::kQ8);
  HopFields(c, m.hops);
  if (c.version() >= kKvTransferProtocol) c.Value(m.first_stage);
  if (c.version() >= kGroupProtocol) c.Value(m.job);
}

template <typename C>
void Fields(C& c, PartRows& m) {
  c.Value(m.route);
  c.Value(m.job);
  c.Value(m.gather);
  c.Value(m.part);
  Fields(c, m.why);
  if (c.version() >= kBlocksProtocol) c.Choice(m.encoding, PartEncoding::kBlocks);
}

template <typename C>
void Fields(C& c, Done& m) {
  c.Value(m.route);
  c.List(m.results, UINT32_MAX, kLeastResultBytes,
         [](C& each, SegmentResult& answer) { Fields(each, answer); });
  HopFields(c, m.hops);
}

template <typename C>
void Fields(C& c, SendKv& m) {
  c.Value(m.route);
  c.Value(m.sequence);
  c.Value(m.epoch);
  c.Value(m.layer_begin);
  c.Value(m.layer_end);
  c.Value(m.begin);
  c.Value(m.end);
  c.Value(m.step);
  Fields(c, m.to);
  c.Value(m.ticket);
}

template <typename C>
void Fields(C& c, KvRows& m) {
  c.Value(m.route);
  c.Value(m.sequence);
  c.Value(m.epoch);
  c.Value(m.ticket);
  if (c.version() >= kFindKvProtocol) c.Choice(m.encoding, RowEncoding::kQ8);
}

template <typename C>
void Fields(C& c, KvTaken& m) {
  c.Value(m.route);
  c.Value(m.sequence);
  c.Value(m.epoch);
  c.Value(m.ticket);
  c.Value(m.layer_begin);
  c.Value(m.layer_end);
  c.Value(m.end);
}

template <typename C>
void Fields(C& c, Halt& m) {
  c.Value(m.route);
  c.Value(m.sequence);
  c.Value(m.attempt);
}

template <typename C>
void Fields(C& c, Cancel& m) {
  c.Value(m.route);
  c.Value(m.sequence);
  c.Value(m.attempt);
}

template <typename C>
void Fields(C& c, FindKv& m) {
  c.Value(m.query);
  Fields(c, m.digest);
  c.Value(m.layer_count);
  c.Array(m.tokens);
}

template <typename C>
void Fields(C& c, FoundKv& m) {
  c.Value(m.query);
  c.Array(m.held, kMaxHeldRanges);
}

template <typename C>
void Fields(C& c, FetchKv& m) {
  c.Value(m.query);
  c.Value(m.route);
  c.Value(m.sequence);
  c.Value(m.epoch);
  c.Value(m.layer_begin);
  c.Value(m.layer_end);
  c.Value(m.begin);
  c.Value(m.end);
  Fields(c, m.to);
}

template <typename C>
void Fields(C& c, BeginDraft& m) {
  c.Value(m.draft);
  Fields(c, m.vocabulary);
  Fields(c, m.drafter);
  Fields(c, m.sampling);
  c.Value(m.most);
  c.Array(m.tokens);
}

template <typename C>
void Fields(C& c, FollowDraft& m) {
  c.Value(m.draft);
  c.Value(m.begin);
  c.Array(m.tokens);
}

template <typename C>
void Fields(C& c, EndDraft& m) {
  c.Value(m.draft);
}

template <typename C>
void Fields(C& c, DraftTokens& m) {
  c.Value(m.draft);
  c.Value(m.begin);
  c.Array(m.tokens, kMaxDrafts);
  c.Flag(m.has_failed);
  Fields(c, m.why);
}

}  // namespace aster::wire
