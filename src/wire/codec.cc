// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "wire/codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "wire/fields.h"

namespace aster::wire {
namespace {

// For each waiting event, whatever its size on the wire.
constexpr uint64_t kEventBytes = 1024;

Payload* PayloadOf(Message& message) {
  if (auto* work = std::get_if<Work>(&message)) return &work->rows;
  if (auto* done = std::get_if<Done>(&message)) return &done->logits;
  if (auto* rows = std::get_if<KvRows>(&message)) return &rows->chunk;
  if (auto* rows = std::get_if<PartRows>(&message)) return &rows->rows;
  return nullptr;
}

template <typename M>
Result<Message> DecodeAs(Bytes body, uint16_t version, bool may_be_longer = false) {
  M message;
  BodyReader reader(body, version);
  Fields(reader, message);
  TRY(reader.Finish(may_be_longer));
  return Message(std::move(message));
}

Result<Message> DecodeBody(FrameType type, uint16_t version, Bytes body) {
  // In a later version, the first and last messages may have more fields.
  const bool may_be_longer = version > kNewestProtocol;
  switch (type) {
    case FrameType::kHello:
      return DecodeAs<Hello>(body, version, may_be_longer);
    case FrameType::kGoodbye:
      return DecodeAs<Goodbye>(body, version, may_be_longer);
    case FrameType::kCredit:
      return DecodeAs<Credit>(body, version);
    case FrameType::kPing:
      return DecodeAs<Ping>(body, version);
    case FrameType::kPong:
      return DecodeAs<Pong>(body, version);
    case FrameType::kOpenRoute:
      return DecodeAs<OpenRoute>(body, version);
    case FrameType::kRouteState:
      return DecodeAs<RouteState>(body, version);
    case FrameType::kCloseRoute:
      return DecodeAs<CloseRoute>(body, version);
    case FrameType::kBegin:
      return DecodeAs<Begin>(body, version);
    case FrameType::kHolds:
      return DecodeAs<Holds>(body, version);
    case FrameType::kEnd:
      return DecodeAs<End>(body, version);
    case FrameType::kWork:
      return DecodeAs<Work>(body, version);
    case FrameType::kDone:
      return DecodeAs<Done>(body, version);
    case FrameType::kSendKv:
      return DecodeAs<SendKv>(body, version);
    case FrameType::kKvRows:
      return DecodeAs<KvRows>(body, version);
    case FrameType::kKvTaken:
      return DecodeAs<KvTaken>(body, version);
    case FrameType::kHalt:
      return DecodeAs<Halt>(body, version);
    case FrameType::kFindKv:
      return DecodeAs<FindKv>(body, version);
    case FrameType::kFoundKv:
      return DecodeAs<FoundKv>(body, version);
    case FrameType::kFetchKv:
      return DecodeAs<FetchKv>(body, version);
    case FrameType::kPartRows:
      return DecodeAs<PartRows>(body, version);
    case FrameType::kCancel:
      return DecodeAs<Cancel>(body, version);
    case FrameType::kBeginDraft:
      return DecodeAs<BeginDraft>(body, version);
    case FrameType::kFollowDraft:
      return DecodeAs<FollowDraft>(body, version);
    case FrameType::kEndDraft:
      return DecodeAs<EndDraft>(body, version);
    case FrameType::kDraftTokens:
      return DecodeAs<DraftTokens>(body, version);
  }
  return Unimplemented(fmt::format("a frame of type {}", static_cast<int>(type)));
}

// Whether it uses a feature of protocol 10.
bool NeedsBlocks(const Message& message) {
  const auto has_sent = [](const Hop& hop) { return hop.gathers != 0 || hop.gather_send_ns != 0; };
  if (const auto* done = std::get_if<Done>(&message)) {
    return std::ranges::any_of(done->hops, has_sent);
  }
  if (const auto* work = std::get_if<Work>(&message)) {
    return std::ranges::any_of(work->hops, has_sent);
  }
  const auto* rows = std::get_if<PartRows>(&message);
  return rows != nullptr && rows->encoding != PartEncoding::kNumbers;
}

// Whether it uses a feature of protocol 9.
bool NeedsExperts(const Message& message) {
  const auto* open = std::get_if<OpenRoute>(&message);
  return open != nullptr && std::ranges::any_of(open->groups, [](const StageGroup& group) {
           return group.owns_experts || group.replicas > 0 || !group.replicated.empty();
         });
}

// Whether it uses a feature of protocol 7.
bool NeedsAhead(const Message& message) {
  const auto has_gathered = [](const Hop& hop) {
    return hop.gather_ns != 0 || hop.gather_bytes != 0;
  };
  if (const auto* done = std::get_if<Done>(&message)) {
    return std::ranges::any_of(done->hops, has_gathered);
  }
  if (const auto* open = std::get_if<OpenRoute>(&message)) {
    return !open->groups.empty() || open->part != 0;
  }
  if (const auto* work = std::get_if<Work>(&message)) {
    if (std::ranges::any_of(work->hops, has_gathered)) return true;
    return std::ranges::any_of(work->segments, [](const WorkSegment& segment) {
      const bool is_chosen_elsewhere = segment.wanted == Wanted::kLastLogits;
      return segment.draft_count != 0 && (is_chosen_elsewhere || segment.is_ahead());
    });
  }
  return TypeOf(message) >= FrameType::kCancel;
}

// Whether it uses a feature of protocol 6.
bool NeedsGroups(const Message& message) {
  if (const auto* state = std::get_if<RouteState>(&message)) return state->lost != NodeId();
  if (const auto* work = std::get_if<Work>(&message)) {
    return work->job != 0 || std::ranges::any_of(work->segments, [](const WorkSegment& segment) {
             return IsStates(segment.wanted);
           });
  }
  return TypeOf(message) >= FrameType::kPartRows;
}

// Whether it uses a feature of protocol 5.
bool NeedsDrafts(const Message& message) {
  if (const auto* begin = std::get_if<Begin>(&message)) return begin->draft_kind != 0;
  if (const auto* work = std::get_if<Work>(&message)) {
    return std::ranges::any_of(work->segments,
                               [](const WorkSegment& segment) { return segment.draft_count != 0; });
  }
  if (const auto* done = std::get_if<Done>(&message)) {
    return std::ranges::any_of(done->results, [](const SegmentResult& answer) {
      return answer.drafted != 0 || answer.is_accepted || !answer.drafts.empty();
    });
  }
  return false;
}

// Whether it uses a feature of protocol 4.
bool NeedsFindKv(const Message& message) {
  if (const auto* open = std::get_if<OpenRoute>(&message)) {
    return open->kv_encoding != RowEncoding::kF32;
  }
  if (const auto* rows = std::get_if<KvRows>(&message)) return rows->encoding != RowEncoding::kF32;
  return TypeOf(message) >= FrameType::kFindKv;
}

// Whether it uses a feature of protocol 3.
bool NeedsKvTransfer(const Message& message) {
  if (const auto* open = std::get_if<OpenRoute>(&message)) return open->decode_stages != 0;
  if (const auto* begin = std::get_if<Begin>(&message)) {
    return begin->epoch != 0 || !begin->stop_tokens.empty();
  }
  if (const auto* holds = std::get_if<Holds>(&message)) {
    return holds->epoch != 0 || holds->stage != 0;
  }
  if (const auto* work = std::get_if<Work>(&message)) {
    return work->first_stage != 0 ||
           std::ranges::any_of(work->segments,
                               [](const WorkSegment& segment) { return segment.more != 0; });
  }
  return TypeOf(message) >= FrameType::kSendKv;
}

}  // namespace

FrameType TypeOf(const Message& message) {
  constexpr FrameType kTypes[] = {
      FrameType::kHello,    FrameType::kGoodbye,    FrameType::kCredit,     FrameType::kPing,
      FrameType::kPong,     FrameType::kOpenRoute,  FrameType::kRouteState, FrameType::kCloseRoute,
      FrameType::kBegin,    FrameType::kHolds,      FrameType::kEnd,        FrameType::kWork,
      FrameType::kDone,     FrameType::kSendKv,     FrameType::kKvRows,     FrameType::kKvTaken,
      FrameType::kHalt,     FrameType::kFindKv,     FrameType::kFoundKv,    FrameType::kFetchKv,
      FrameType::kPartRows, FrameType::kCancel,     FrameType::kBeginDraft, FrameType::kFollowDraft,
      FrameType::kEndDraft, FrameType::kDraftTokens};
  static_assert(std::size(kTypes) == std::variant_size_v<AnyMessage>);
  return kTypes[message.index()];
}

std::string_view NameOf(FrameType type) {
  switch (type) {
    case FrameType::kHello:
      return "Hello";
    case FrameType::kGoodbye:
      return "Goodbye";
    case FrameType::kCredit:
      return "Credit";
    case FrameType::kPing:
      return "Ping";
    case FrameType::kPong:
      return "Pong";
    case FrameType::kOpenRoute:
      return "OpenRoute";
    case FrameType::kRouteState:
      return "RouteState";
    case FrameType::kCloseRoute:
      return "CloseRoute";
    case FrameType::kBegin:
      return "Begin";
    case FrameType::kHolds:
      return "Holds";
    case FrameType::kEnd:
      return "End";
    case FrameType::kWork:
      return "Work";
    case FrameType::kDone:
      return "Done";
    case FrameType::kSendKv:
      return "SendKv";
    case FrameType::kKvRows:
      return "KvRows";
    case FrameType::kKvTaken:
      return "KvTaken";
    case FrameType::kHalt:
      return "Halt";
    case FrameType::kFindKv:
      return "FindKv";
    case FrameType::kFoundKv:
      return "FoundKv";
    case FrameType::kFetchKv:
      return "FetchKv";
    case FrameType::kPartRows:
      return "PartRows";
    case FrameType::kCancel:
      return "Cancel";
    case FrameType::kBeginDraft:
      return "BeginDraft";
    case FrameType::kFollowDraft:
      return "FollowDraft";
    case FrameType::kEndDraft:
      return "EndDraft";
    case FrameType::kDraftTokens:
      return "DraftTokens";
  }
  return "unknown";
}

uint16_t VersionOf(const Message& message) {
  const auto* hello = std::get_if<Hello>(&message);
  if (hello != nullptr && !hello->instance.empty()) return kInstanceProtocol;
  if (NeedsBlocks(message)) return kBlocksProtocol;
  if (NeedsExperts(message)) return kExpertsProtocol;
  if (TypeOf(message) >= FrameType::kBeginDraft) return kDrafterProtocol;
  if (NeedsAhead(message)) return kAheadProtocol;
  if (NeedsGroups(message)) return kGroupProtocol;
  if (NeedsDrafts(message)) return kDraftProtocol;
  if (NeedsFindKv(message)) return kFindKvProtocol;
  return NeedsKvTransfer(message) ? kKvTransferProtocol : kOldestProtocol;
}

Frame Encode(Message&& message, const EncodeOptions& options) {
  Frame frame;
  frame.type = TypeOf(message);
  const uint16_t version = options.version.value_or(VersionOf(message));
  frame.version = version;
  BodyWriter writer(kHeaderBytes, version);
  std::visit([&](auto& m) { Fields(writer, m); }, message);
  frame.head = std::move(writer).Take();
  if (Payload* payload = PayloadOf(message)) frame.payload = std::move(*payload);
  const Bytes body = Bytes(frame.head).subspan(kHeaderBytes);
  CHECK_NOTE(body.size() <= UINT32_MAX, "a message that is too large for any peer; split it");
  WriteHeader(MakeHeader(frame.type, version, body, frame.payload, options.checksum_payload),
              frame.head.data());
  return frame;
}

Result<Message> Decode(const FrameHeader& header, Bytes body, Payload&& payload) {
  TRY(CheckBody(header, body));
  TRY(CheckPayload(header, payload));
  Result<Message> message = DecodeBody(header.type, header.version, body);
  if (!message.ok()) return std::move(message).error().In(NameOf(header.type));
  if (Payload* place = PayloadOf(*message)) *place = std::move(payload);
  return message;
}

uint64_t CostOf(uint64_t frame_bytes) { return frame_bytes + kEventBytes; }

}  // namespace aster::wire
