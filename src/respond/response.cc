// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "respond/response.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "base/random.h"
#include "chat/conversation.h"

namespace aster::respond {

using engine::FinishReason;
using Kind = chat::ReplyEvent::Kind;

Response::Response(const Model& model, Settings settings, const Prompt& prompt,
                   const std::shared_ptr<grammar::MaskCache>& masks, Listener& listener)
    : model_(model),
      settings_(std::move(settings)),
      prompt_(prompt),
      masks_(masks == nullptr ? nullptr : std::make_shared<grammar::TokenMasks>(masks)),
      listener_(listener) {
  if (prompt.is_raw) return;
  parser_ = std::make_unique<chat::ReplyParser>(model.dialect, prompt.text, prompt.tools.get());
}

engine::Request Response::MakeRequest(std::shared_ptr<const void> owner) {
  engine::Request request;
  request.sampling = settings_.sampling;
  request.max_tokens = settings_.max_tokens;
  request.stop_strings = settings_.stops;
  request.context_limit = settings_.context_limit;
  request.draft = settings_.draft;
  if (!settings_.ignores_end && model_.tokenizer != nullptr)
    request.stop_tokens = model_.tokenizer->vocab().end_of_generation;
  // The markup of calls and reasoning may be control tokens.
  request.show_control =
      parser_ != nullptr && (prompt_.tools != nullptr || model_.dialect.has_reasoning);
  // Structured output: tokens that the grammar does not allow get no probability.
  if (masks_ != nullptr) {
    request.edit_logits = [masks = masks_, begin = prompt_.tokens.size()](
                              std::span<const int32_t> history, std::span<float> logits) {
      masks->Apply(history.subspan(begin), logits);
    };
  }
  // Callbacks keep the owner alive: it may be dropped before the request has finished.
  request.on_prefill = [this, owner](uint64_t done, uint64_t total) {
    listener_.OnPrefill(done, total);
    Begin();
  };
  request.on_token = [this, owner](const engine::Delta& delta) { OnToken(delta); };
  request.on_finish = [this, owner](const engine::Finish& finish) { OnFinish(finish); };
  return request;
}

void Response::Begin() {
  // The model did not write the forced beginning as tokens.
  if (std::exchange(has_begun_, true) || prompt_.forced.empty()) return;
  const std::vector<chat::ReplyEvent> events = Read(prompt_.forced, /*is_end=*/false);
  if (!events.empty()) listener_.OnPiece({.events = events});
}

void Response::OnToken(const engine::Delta& delta) {
  if (is_complete()) return;
  // Text becomes events (content, reasoning, calls); tokens follow when their text is certain.
  listener_.OnToken(delta);
  Begin();
  AddUnsent(delta.choice);
  sent_bytes_ += delta.text.size();
  const std::vector<chat::ReplyEvent> events = Read(delta.text, /*is_end=*/false);
  const std::vector<ResponseToken> tokens = TakeSent();
  if (!events.empty() || !tokens.empty() || !delta.text.empty())
    listener_.OnPiece({.text = delta.text, .events = events, .tokens = tokens});
  if (is_reasoning_) ++reasoning_tokens_;
}

void Response::OnFinish(const engine::Finish& finish) {
  // The text that the parser and the stop strings held back belongs to the last piece.
  End end{.finish = finish};
  end.is_cancelled = finish.reason == FinishReason::kCancelled && !is_complete();
  end.status = StatusOf(finish);
  std::vector<chat::ReplyEvent> events;
  std::vector<ResponseToken> tokens;
  if (end.status.ok() && !is_complete()) {
    events = Read(finish.text, /*is_end=*/true);
    tokens = TakeLast(finish);
    end.last = {.text = finish.text, .events = events, .tokens = tokens};
    // The beginning of a call must not pass for an answer.
    const bool has_ended = finish.reason == FinishReason::kStopToken;
    if (prompt_.has_to_call && has_ended && !has_calls_) {
      end.status =
          Error(Code::kInternal,
                "the model was to call a tool, and ended its answer without a call; try again");
    }
  }
  end.reason = ReasonOf(finish);
  end.usage = UsageOf(finish);
  listener_.OnEnd(end);
}

Status Response::StatusOf(const engine::Finish& finish) const {
  if (masks_ != nullptr && masks_->has_failed()) return TooCostly();
  return finish.reason == FinishReason::kFailed ? finish.status : Ok();
}

EndReason Response::ReasonOf(const engine::Finish& finish) const {
  const bool is_full =
      finish.reason == FinishReason::kLength || finish.reason == FinishReason::kContext;
  if (is_full || is_cut_) return EndReason::kLength;
  if (has_calls_) return EndReason::kCalls;
  return finish.reason == FinishReason::kStopString ? EndReason::kStopString : EndReason::kStop;
}

Usage Response::UsageOf(const engine::Finish& finish) const {
  return {.prompt = finish.counts.prompt,
          .cached = finish.counts.cached,
          .answer = finish.counts.generated,
          .reasoning = reasoning_tokens_,
          .drafted = finish.counts.drafts.drafted,
          .accepted = finish.counts.drafts.accepted,
          .times = finish.times};
}

std::vector<chat::ReplyEvent> Response::Read(std::string_view text, bool is_end) {
  std::vector<chat::ReplyEvent> events;
  if (parser_ == nullptr) {
    chat::AddEvent(events, {.kind = Kind::kContent, .text = std::string(text)});
  } else {
    // The parser holds back text that may still become markup; at the end nothing can.
    parser_->Push(text, events);
    if (is_end) parser_->Finish(events);
  }
  KeepWanted(events);
  Follow(events);
  return events;
}

void Response::KeepWanted(std::vector<chat::ReplyEvent>& events) {
  if (prompt_.has_to_call) {
    // The response is only calls: text is a call that was cut off.
    std::erase_if(events, [](const auto& event) { return event.kind == Kind::kContent; });
  }
  // Without parallel calls the response is complete with its first call, whatever follows.
  if (!prompt_.one_call) return;
  const auto first_end = std::ranges::find(events, Kind::kCallEnd, &chat::ReplyEvent::kind);
  if (has_ended_call_) {
    events.clear();
  } else if (first_end != events.end()) {
    events.erase(first_end + 1, events.end());
    is_complete_ = true;
  }
}

// Updates the state of the reply, and gives calls their ids.
void Response::Follow(std::vector<chat::ReplyEvent>& events) {
  for (chat::ReplyEvent& event : events) {
    is_reasoning_ = event.kind == Kind::kReasoning;
    if (event.kind == Kind::kCallEnd) has_ended_call_ = true;
    if (event.kind != Kind::kCallBegin) continue;
    has_calls_ = true;
    if (!IsNewCallId(event.id)) event.id = NewCallId();
    call_ids_.push_back(event.id);
  }
}

// Whether the model's own id of a call can be kept: then its next prompt begins with what it wrote.
bool Response::IsNewCallId(std::string_view id) const {
  return model_.dialect.family == chat::Family::kMistral && id == chat::ShortCallId(id) &&
         std::ranges::find(call_ids_, id) == call_ids_.end();
}

std::string Response::NewCallId() const {
  // Mistral's templates want nine letters or digits, others accept anything.
  const std::string digits = fmt::format("{:016x}{:016x}", SystemSeed(), SystemSeed());
  return model_.dialect.family == chat::Family::kMistral ? digits.substr(0, 9)
                                                         : "call_" + digits.substr(0, 24);
}

void Response::AddUnsent(const engine::Choice& choice) {
  if (!settings_.sampling.logprobs || model_.tokenizer == nullptr) return;
  const text::Tokenizer& tokenizer = *model_.tokenizer;
  if (!settings_.ignores_end && tokenizer.vocab().IsEndOfGeneration(choice.id)) return;
  // Models may have more tokens than their vocabulary has texts.
  const auto bytes = [&](int32_t id) {
    const auto found = tokenizer.TokenBytes(id);
    return found.ok() ? std::string(*found) : std::string();
  };
  ResponseToken token{{choice.id, bytes(choice.id), choice.logprob}};
  for (const engine::TokenLogprob& top : choice.top)
    token.top.push_back({top.id, bytes(top.id), top.logprob});
  unsent_.push_back(std::move(token));
}

// If a stop string may still cut the response, tokens wait for their text.
std::vector<ResponseToken> Response::TakeSent() {
  size_t count = 0;
  for (size_t bytes = taken_bytes_; count < unsent_.size(); ++count) {
    bytes += unsent_[count].bytes.size();
    if (!settings_.stops.empty() && bytes > sent_bytes_) break;
    taken_bytes_ = bytes;
  }
  const auto end = unsent_.begin() + static_cast<ptrdiff_t>(count);
  std::vector<ResponseToken> said(std::make_move_iterator(unsent_.begin()),
                                  std::make_move_iterator(end));
  unsent_.erase(unsent_.begin(), end);
  return said;
}

// Tokens that begin before the place where a stop string cut are kept.
std::vector<ResponseToken> Response::TakeLast(const engine::Finish& finish) {
  // A token is reported if any of its text is: it may end after the cut.
  sent_bytes_ += finish.text.size();
  std::vector<ResponseToken> last = TakeSent();
  for (ResponseToken& token : std::exchange(unsent_, {})) {
    if (finish.reason == FinishReason::kStopString && taken_bytes_ >= sent_bytes_) break;
    taken_bytes_ += token.bytes.size();
    last.push_back(std::move(token));
  }
  return last;
}

}  // namespace aster::respond
