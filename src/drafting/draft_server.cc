// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "drafting/draft_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "engine/request.h"
#include "stage/stage_memory.h"

namespace aster::drafting {
namespace {

// The most tokens of a long text that a draft model reads at once, before it drafts.
constexpr uint32_t kPiece = 256;

uint32_t TriesFor(const Drafter& drafter, size_t tokens) {
  const bool is_model = drafter.kind == engine::DraftKind::kModel;
  return is_model ? static_cast<uint32_t>(2 + tokens / kPiece) : 1;
}

}  // namespace

bool IsForDrafters(const wire::Message& message) {
  return std::holds_alternative<wire::BeginDraft>(message) ||
         std::holds_alternative<wire::FollowDraft>(message) ||
         std::holds_alternative<wire::EndDraft>(message);
}

void DraftServer::Handle(const net::Event& event) {
  if (event.kind == net::Event::Kind::kDown) {
    // Forgets the texts of a front end that is down.
    std::vector<TextId> gone;
    for (const auto& [id, text] : texts_) {
      if (id.first == event.from) gone.push_back(id);
    }
    for (const TextId& id : gone) Forget(id);
  }
  if (event.kind != net::Event::Kind::kMessage) return;
  if (const auto* begin = std::get_if<wire::BeginDraft>(&event.message)) {
    OnBegin(event.from, *begin);
  } else if (const auto* follow = std::get_if<wire::FollowDraft>(&event.message)) {
    OnFollow(event.from, *follow);
  } else if (const auto* end = std::get_if<wire::EndDraft>(&event.message)) {
    Forget({event.from, end->draft});
  }
}

void DraftServer::OnBegin(const wire::NodeId& from, const wire::BeginDraft& begin) {
  const TextId id{from, begin.draft};
  Forget(id);
  Result<Text> text = Open(from, begin);
  if (!text.ok()) return Refuse(from, begin.draft, std::move(text).error());
  tokens_ += text->length;
  texts_.emplace(id, *std::move(text));
}

Result<DraftServer::Text> DraftServer::Open(const wire::NodeId& from,
                                            const wire::BeginDraft& begin) {
  const auto is_named = [&](const Drafter& drafter) { return drafter.name == begin.drafter; };
  if (std::ranges::none_of(drafters_, is_named)) return NotFound("no such drafter is here");
  const auto found = std::ranges::find_if(drafters_, [&](const Drafter& drafter) {
    return is_named(drafter) && drafter.vocabulary.digest == begin.vocabulary;
  });
  if (found == drafters_.end()) {
    return FailedPrecondition("its vocabulary differs from that of the answering model");
  }
  if (begin.most == 0 || begin.most > engine::kMostDrafts) {
    return InvalidArgument(fmt::format("{} draft tokens are wanted ahead; 1 to {} are possible",
                                       begin.most, engine::kMostDrafts));
  }
  TRY(CheckTokens(*found, begin.tokens));
  TRY(CheckRoom(from, begin.tokens.size()));
  engine::Request request;
  request.sampling = TRY(stage::SamplingFromWire(begin.sampling, found->vocabulary.size));
  request.draft = {.kind = found->kind, .most = begin.most};
  Text text;
  text.drafter = &*found;
  text.proposer = TRY(found->source->Make(request));
  text.tokens = begin.tokens;
  text.length = static_cast<uint32_t>(begin.tokens.size());
  text.most = begin.most;
  text.tries = TriesFor(*found, begin.tokens.size());
  text.heard_ns = network_.clock().NowNs();
  return text;
}

Status DraftServer::CheckTokens(const Drafter& drafter, std::span<const int32_t> tokens) const {
  const auto is_none = [&](int32_t token) {
    return token < 0 || static_cast<uint32_t>(token) >= drafter.vocabulary.size;
  };
  const auto wrong = std::ranges::find_if(tokens, is_none);
  if (wrong == tokens.end()) return Ok();
  return InvalidArgument(
      fmt::format("token {} of a vocabulary of {}", *wrong, drafter.vocabulary.size));
}

Status DraftServer::CheckRoom(const wire::NodeId& from, size_t tokens) {
  const auto is_full = [&] {
    const auto own = static_cast<size_t>(
        std::ranges::count_if(texts_, [&](const auto& text) { return text.first.first == from; }));
    return texts_.size() >= options_.max_texts || own >= options_.max_texts_of_one ||
           tokens > options_.max_tokens - std::min(options_.max_tokens, tokens_);
  };
  if (is_full()) ForgetIdle();
  if (!is_full()) return Ok();
  return ResourceExhausted(
      fmt::format("it follows {} texts of {} tokens already", texts_.size(), tokens_));
}

// Forgets texts that their front ends neither ended nor used for long.
void DraftServer::ForgetIdle() {
  const int64_t since_ns = network_.clock().NowNs() - options_.keep_ns;
  std::vector<TextId> idle;
  for (const auto& [id, text] : texts_) {
    if (text.heard_ns < since_ns) idle.push_back(id);
  }
  for (const TextId& id : idle) Forget(id);
}

void DraftServer::Forget(const TextId& id) {
  const auto found = texts_.find(id);
  if (found == texts_.end()) return;
  tokens_ -= found->second.length;
  texts_.erase(found);
}

void DraftServer::OnFollow(const wire::NodeId& from, const wire::FollowDraft& follow) {
  const TextId id{from, follow.draft};
  const auto found = texts_.find(id);
  if (found == texts_.end()) return;  // it was refused or forgotten
  Text& text = found->second;
  Status checked = CheckTokens(*text.drafter, follow.tokens);
  if (checked.ok() && follow.begin != text.length) {
    checked = Error(Code::kAborted, fmt::format("the text goes on at token {}, and has {}",
                                                follow.begin, text.length));
  }
  if (checked.ok() &&
      follow.tokens.size() > options_.max_tokens - std::min(options_.max_tokens, tokens_)) {
    checked = ResourceExhausted(fmt::format("it follows texts of {} tokens already", tokens_));
  }
  if (!checked.ok()) {
    Forget(id);
    return Refuse(from, follow.draft, std::move(checked).error());
  }
  // Draft tokens that were right are part of the text now; the others are dropped.
  const auto ahead = std::span(text.tokens).subspan(text.length);
  const size_t agreed =
      static_cast<size_t>(std::ranges::mismatch(ahead, follow.tokens).in1 - ahead.begin());
  if (agreed < follow.tokens.size()) {
    text.tokens.resize(text.length + agreed);
    text.tokens.insert(text.tokens.end(), follow.tokens.begin() + static_cast<ptrdiff_t>(agreed),
                       follow.tokens.end());
  }
  text.length += static_cast<uint32_t>(follow.tokens.size());
  tokens_ += follow.tokens.size();
  text.tries = std::max(text.tries, TriesFor(*text.drafter, follow.tokens.size()));
  text.heard_ns = network_.clock().NowNs();
}

const std::pair<const DraftServer::TextId, DraftServer::Text>* DraftServer::Next() const {
  const std::pair<const TextId, Text>* best = nullptr;
  const auto is_before = [](const Text& a, const Text& b) {
    return std::pair(a.ahead(), a.turn) < std::pair(b.ahead(), b.turn);
  };
  for (const auto& entry : texts_) {
    if (!entry.second.wants_more()) continue;
    if (best == nullptr || is_before(entry.second, best->second)) best = &entry;
  }
  return best;
}

void DraftServer::Work() {
  const auto* const next = Next();
  if (next == nullptr) return;
  const TextId id = next->first;
  Text& text = texts_.at(id);
  text.turn = ++turns_;
  // A model's tokens are sent one by one; a look-up finds all of them at once.
  const bool is_model = text.drafter->kind == engine::DraftKind::kModel;
  const auto most = is_model ? 1 : static_cast<uint32_t>(text.most - text.ahead());
  std::vector<int32_t> drafts;
  const Status proposed = text.proposer->Propose(text.tokens, most, drafts);
  if (!proposed.ok()) {
    Refuse(id.first, id.second, proposed.error());
    return Forget(id);
  }
  if (drafts.size() > most) drafts.resize(most);
  if (drafts.empty() || !CheckTokens(*text.drafter, drafts).ok()) {
    // Replies also without draft tokens, so that the drafter does not count as silent.
    if (--text.tries == 0) SendDrafts(id, text);
    return;
  }
  text.tokens.insert(text.tokens.end(), drafts.begin(), drafts.end());
  // A second look-up would find no more.
  if (!is_model) text.tries = 0;
  SendDrafts(id, text);
}

void DraftServer::SendDrafts(const TextId& id, const Text& text) {
  wire::DraftTokens message;
  message.draft = id.second;
  message.begin = text.length;
  message.tokens.assign(text.tokens.begin() + text.length, text.tokens.end());
  // If the front end is down, an event will tell.
  static_cast<void>(network_.Send(id.first, std::move(message)));
}

void DraftServer::Refuse(const wire::NodeId& to, uint64_t draft, Error why) {
  wire::DraftTokens message;
  message.draft = draft;
  message.has_failed = true;
  message.why = std::move(why);
  static_cast<void>(network_.Send(to, std::move(message)));
}

}  // namespace aster::drafting
