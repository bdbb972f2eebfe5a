// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Messages of every kind with something in every field, and the comparison of two, for tests and
// fuzzers. Parts() takes a message apart with structured bindings, so that a new field is a
// compiler error here until it is tested. Must not know the format.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.h"
#include "wire/frame.h"
#include "wire/messages.h"

namespace aster::wire {

template <typename M>
auto Parts(M& m) {
  using T = std::remove_const_t<M>;
  if constexpr (std::is_same_v<T, NodeId> || std::is_same_v<T, Credit> || std::is_same_v<T, Ping> ||
                std::is_same_v<T, Pong> || std::is_same_v<T, CloseRoute> ||
                std::is_same_v<T, Goodbye> || std::is_same_v<T, EndDraft>) {
    auto& [a] = m;
    return std::tie(a);
  } else if constexpr (std::is_same_v<T, Hash128> || std::is_same_v<T, TokenBias> ||
                       std::is_same_v<T, LogitOf> || std::is_same_v<T, End> ||
                       std::is_same_v<T, FoundKv>) {
    auto& [a, b] = m;
    return std::tie(a, b);
  } else if constexpr (std::is_same_v<T, Halt> || std::is_same_v<T, Cancel> ||
                       std::is_same_v<T, HeldKv> || std::is_same_v<T, FollowDraft>) {
    auto& [a, b, c] = m;
    return std::tie(a, b, c);
  } else if constexpr (std::is_same_v<T, Done> || std::is_same_v<T, FindKv>) {
    auto& [a, b, c, d] = m;
    return std::tie(a, b, c, d);
  } else if constexpr (std::is_same_v<T, DraftTokens>) {
    auto& [a, b, c, d, e] = m;
    return std::tie(a, b, c, d, e);
  } else if constexpr (std::is_same_v<T, KvRows> || std::is_same_v<T, BeginDraft> ||
                       std::is_same_v<T, StageGroup>) {
    auto& [a, b, c, d, e, f] = m;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (std::is_same_v<T, StageAddress> || std::is_same_v<T, KvTaken> ||
                       std::is_same_v<T, RouteState> || std::is_same_v<T, Work> ||
                       std::is_same_v<T, Hop> || std::is_same_v<T, PartRows>) {
    auto& [a, b, c, d, e, f, g] = m;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (std::is_same_v<T, Holds> || std::is_same_v<T, Begin>) {
    auto& [a, b, c, d, e, f, g, h] = m;
    return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (std::is_same_v<T, Hello> || std::is_same_v<T, FetchKv> ||
                       std::is_same_v<T, WorkSegment>) {
    auto& [a, b, c, d, e, f, g, h, i] = m;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (std::is_same_v<T, SegmentResult>) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = m;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (std::is_same_v<T, SendKv>) {
    auto& [a, b, c, d, e, f, g, h, i, j] = m;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (std::is_same_v<T, OpenRoute>) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, o, p, q] = m;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, o, p, q);
  } else {
    static_assert(std::is_same_v<T, Sampling>);
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, o] = m;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, o);
  }
}

// Whether two values are equal, bit by bit.
template <typename T>
bool Same(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> ||
                       std::is_same_v<T, std::string> || std::is_same_v<T, Payload>) {
    return a == b;
  } else if constexpr (std::is_same_v<T, Error>) {
    return a.code() == b.code() && a.message() == b.message();
  } else if constexpr (std::is_same_v<T, Message>) {
    if (a.index() != b.index()) return false;
    return std::visit(
        [&](const auto& x) { return Same(x, std::get<std::decay_t<decltype(x)>>(b)); }, a);
  } else if constexpr (requires { a.size(); }) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!Same(a[i], b[i])) return false;
    }
    return true;
  } else {
    const auto x = Parts(a);
    const auto y = Parts(b);
    return [&]<size_t... kIndex>(std::index_sequence<kIndex...>) {
      return (Same(std::get<kIndex>(x), std::get<kIndex>(y)) && ...);
    }(std::make_index_sequence<std::tuple_size_v<decltype(x)>>());
  }
}

// How many of a message's parts a version of the protocol has: later ones come last.
template <typename T>
constexpr size_t PartsSince(uint16_t version) {
  constexpr size_t kAll = std::tuple_size_v<decltype(Parts(std::declval<T&>()))>;
  if (version < kExpertsProtocol && std::is_same_v<T, StageGroup>) return kAll - 3;
  if (version < kInstanceProtocol && std::is_same_v<T, Hello>) return kAll - 1;
  if (std::is_same_v<T, Hop>) {
    return version < kAheadProtocol ? kAll - 4 : version < kBlocksProtocol ? kAll - 2 : kAll;
  }
  if (version < kBlocksProtocol && std::is_same_v<T, PartRows>) return kAll - 1;
  if (version >= kGroupProtocol) return kAll;
  if (std::is_same_v<T, RouteState>) return kAll - 1;
  if (std::is_same_v<T, Work>) return version < kKvTransferProtocol ? kAll - 2 : kAll - 1;
  if (std::is_same_v<T, OpenRoute>) {
    return version < kKvTransferProtocol ? kAll - 4
           : version < kFindKvProtocol   ? kAll - 3
                                         : kAll - 2;
  }
  if (version >= kDraftProtocol) return kAll;
  if (std::is_same_v<T, SegmentResult>) return kAll - 3;
  if (std::is_same_v<T, Begin>) return version < kKvTransferProtocol ? kAll - 4 : kAll - 2;
  if (std::is_same_v<T, WorkSegment>) return version < kKvTransferProtocol ? kAll - 2 : kAll - 1;
  if (version >= kFindKvProtocol) return kAll;
  if (std::is_same_v<T, KvRows>) return kAll - 1;
  if (version >= kKvTransferProtocol) return kAll;
  if (std::is_same_v<T, Holds>) return kAll - 2;
  return kAll;
}

// Fills every field; lists have up to `most` elements. Fields that the protocol lacks stay empty,
// and use no random numbers: recorded frames depend on that.
template <typename T>
void Fill(Random& random, uint64_t most, uint16_t version, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    value = random.NextBelow(2) == 1;
  } else if constexpr (std::is_same_v<T, float>) {
    value = random.NextNormal();
  } else if constexpr (std::is_same_v<T, RowEncoding> || std::is_same_v<T, RouteState::Kind>) {
    value = static_cast<T>(random.NextBelow(3));
  } else if constexpr (std::is_same_v<T, PartEncoding>) {
    value = static_cast<T>(random.NextBelow(2));
  } else if constexpr (std::is_same_v<T, Wanted>) {
    value = static_cast<T>(random.NextBelow(version < kGroupProtocol ? 4 : 6));
  } else if constexpr (std::is_arithmetic_v<T>) {
    value = static_cast<T>(random.NextU64());
  } else if constexpr (std::is_same_v<T, Error>) {
    std::string text;
    Fill(random, most, version, text);
    value = Error(static_cast<Code>(1 + random.NextBelow(16)), std::move(text));
  } else if constexpr (requires { value.resize(1); }) {
    value.resize(random.NextBelow(most + 1));
    for (auto& element : value) Fill(random, most, version, element);
  } else {
    size_t left = PartsSince<T>(version);
    const auto fill = [&](auto& part) {
      if (left == 0) return;
      --left;
      Fill(random, most, version, part);
    };
    std::apply([&](auto&... part) { (fill(part), ...); }, Parts(value));
  }
}

// Kinds of messages, in the variant's order.
inline size_t MessageKinds(uint16_t version) {
  constexpr size_t kAll = std::variant_size_v<AnyMessage>;
  if (version < kKvTransferProtocol) return kAll - 13;
  if (version < kFindKvProtocol) return kAll - 9;
  if (version < kGroupProtocol) return kAll - 6;
  if (version < kAheadProtocol) return kAll - 5;
  return version < kDrafterProtocol ? kAll - 4 : kAll;
}

// The message with the given index in the variant, as far as a version of the protocol can express
// it.
template <size_t kIndex = 0>
Message SampleMessage(size_t index, Random& random, uint64_t most,
                      uint16_t version = kNewestProtocol) {
  if constexpr (kIndex + 1 < std::variant_size_v<AnyMessage>) {
    if (index > kIndex) return SampleMessage<kIndex + 1>(index, random, most, version);
  }
  std::variant_alternative_t<kIndex, AnyMessage> message{};
  Fill(random, most, version, message);
  return message;
}

}  // namespace aster::wire
