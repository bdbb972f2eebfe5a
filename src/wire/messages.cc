// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "wire/messages.h"

#include <utility>

namespace aster::wire {

Message::Message() = default;
Message::Message(const Message&) = default;
Message::Message(Message&&) noexcept = default;
Message& Message::operator=(const Message&) = default;
Message& Message::operator=(Message&&) noexcept = default;
Message::~Message() = default;

template <typename T>
  requires kIsOneOf<T, AnyMessage>
Message::Message(T message) : AnyMessage(std::in_place_type<T>, std::move(message)) {}

template Message::Message(Hello message);
template Message::Message(Goodbye message);
template Message::Message(Credit message);
template Message::Message(Ping message);
template Message::Message(Pong message);
template Message::Message(OpenRoute message);
template Message::Message(RouteState message);
template Message::Message(CloseRoute message);
template Message::Message(Begin message);
template Message::Message(Holds message);
template Message::Message(End message);
template Message::Message(Work message);
template Message::Message(Done message);
template Message::Message(SendKv message);
template Message::Message(KvRows message);
template Message::Message(KvTaken message);
template Message::Message(Halt message);
template Message::Message(FindKv message);
template Message::Message(FoundKv message);
template Message::Message(FetchKv message);
template Message::Message(PartRows message);
template Message::Message(Cancel message);
template Message::Message(BeginDraft message);
template Message::Message(FollowDraft message);
template Message::Message(EndDraft message);
template Message::Message(DraftTokens message);

}  // namespace aster::wire
