// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/run/chat.h"

#include <utility>

namespace aster::cli {
namespace {

using engine::Generated;

}  // namespace

Chat::Chat(engine::Answering& answering, const ChatPrompt& prompt, engine::Request request,
           std::string system)
    : answering_(answering),
      prompt_(prompt),
      request_(std::move(request)),
      system_(std::move(system)),
      sequence_(answering.NewSequence()) {}

uint32_t Chat::context_limit() const {
  return request_.context_limit == 0 ? answering_.shape().context_length : request_.context_limit;
}

Result<std::vector<int32_t>> Chat::TokensFor(std::string& marked) const {
  if (!prompt_.has_template()) {
    // What is typed goes on where the model stopped.
    std::vector<int32_t> tokens = said_.tokens;
    const std::vector<int32_t> more =
        TRY(prompt_.EncodeRaw(messages_.back().content, /*begins=*/tokens.empty()));
    tokens.insert(tokens.end(), more.begin(), more.end());
    return tokens;
  }
  std::vector<Message> all = messages_;
  if (!system_.empty()) all.insert(all.begin(), {"system", system_});
  marked = TRY(prompt_.Render(all));
  // The answers' own tokens are kept: what the model said is what it goes on from.
  if (!said_.marked.empty() && marked.starts_with(said_.marked)) {
    const auto next = TRY(prompt_.EncodeNext(std::string_view(marked).substr(said_.marked.size())));
    if (next) {
      std::vector<int32_t> tokens = said_.tokens;
      tokens.insert(tokens.end(), next->begin(), next->end());
      return tokens;
    }
  }
  return prompt_.Encode(marked);
}

Result<Generated> Chat::Answer(const ChatSinks& sinks) {
  std::string marked;
  const std::vector<int32_t> tokens = TRY(TokensFor(marked));
  if (tokens.empty()) return InvalidArgument("there is nothing to answer");
  sequence_.SetHistory(tokens);
  engine::Request request = request_;
  request.sequence = &sequence_;
  request.sampling.seed += extra_seed_;
  request.on_prefill = sinks.on_prefill;
  request.on_token = [&](const engine::Delta& delta) { sinks.on_text(delta.text); };
  request.on_finish = [&](const engine::Finish& finish) { sinks.on_text(finish.text); };
  Generated answer = TRY(engine::Generate(answering_, request, sinks.is_cancelled));
  Remember(std::move(marked), answer);
  AddToTotals(answer.finish);
  return answer;
}

void Chat::Remember(std::string marked, const Generated& answer) {
  messages_.push_back({"assistant", answer.text});
  said_.tokens = sequence_.tokens();
  // A token that ends the answer is the template's to write; a text that ends it has left tokens
  // that nobody saw.
  const engine::FinishReason reason = answer.finish.reason;
  if (reason == engine::FinishReason::kStopToken) said_.tokens.pop_back();
  said_.marked =
      reason == engine::FinishReason::kStopString ? "" : marked + prompt_.Marked(answer.text);
}

void Chat::AddToTotals(const engine::Finish& finish) {
  ++totals_.answers;
  totals_.counts.prompt += finish.counts.prompt;
  totals_.counts.cached += finish.counts.cached;
  totals_.counts.generated += finish.counts.generated;
  totals_.counts.drafts += finish.counts.drafts;
  totals_.times.prefill_ns += finish.times.prefill_ns;
  totals_.times.decode_ns += finish.times.decode_ns;
}

Result<Generated> Chat::Ask(const std::string& text, const ChatSinks& sinks) {
  messages_.push_back({"user", text});
  extra_seed_ = 0;
  earlier_.push_back(said_);
  auto answer = Answer(sinks);
  if (!answer.ok()) {
    messages_.pop_back();
    earlier_.pop_back();
  }
  return answer;
}

// Forgets what the last question and its answer stand for, where that can be told.
bool Chat::GoBack() {
  if (!earlier_.empty()) {
    said_ = std::move(earlier_.back());
    earlier_.pop_back();
    return true;
  }
  // Asked before the conversation was loaded: the template can write it once more.
  said_ = {};
  return prompt_.has_template();
}

Result<Generated> Chat::Regenerate(const ChatSinks& sinks) {
  if (messages_.size() < 2) return FailedPrecondition("there is no answer yet");
  const Said said = said_;
  const std::vector<Said> earlier = earlier_;
  const Message last = messages_.back();
  const auto restore = [&] {
    said_ = said;
    earlier_ = earlier;
    messages_.resize(messages_.size() + 1, last);
  };
  messages_.pop_back();
  if (!GoBack()) {
    restore();
    return FailedPrecondition("the last question was asked before the conversation was loaded");
  }
  earlier_.push_back(said_);
  ++extra_seed_;
  auto answer = Answer(sinks);
  if (!answer.ok()) restore();
  return answer;
}

Status Chat::Undo() {
  if (messages_.size() < 2) return FailedPrecondition("there is nothing to take back");
  const Said said = said_;
  if (!GoBack()) {
    said_ = said;
    return FailedPrecondition("the last question was asked before the conversation was loaded");
  }
  messages_.resize(messages_.size() - 2);
  extra_seed_ = 0;
  sequence_.SetHistory(said_.tokens);
  return Ok();
}

void Chat::Reset() {
  messages_.clear();
  earlier_.clear();
  said_ = {};
  extra_seed_ = 0;
  sequence_.SetHistory({});
}

void Chat::SetSystem(std::string text) {
  Reset();
  system_ = std::move(text);
}

Conversation Chat::conversation() const {
  return {.vocab_size = answering_.shape().vocab_size,
          .system = system_,
          .messages = messages_,
          .marked = said_.marked,
          .tokens = said_.tokens};
}

void Chat::Restore(Conversation conversation) {
  system_ = std::move(conversation.system);
  messages_ = std::move(conversation.messages);
  earlier_.clear();
  said_ = {std::move(conversation.marked), std::move(conversation.tokens)};
  extra_seed_ = 0;
  sequence_.SetHistory(said_.tokens);
}

}  // namespace aster::cli
