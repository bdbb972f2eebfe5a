// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "respond/chat.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "chat/reply_parser.h"
#include "respond/offered_tools.h"

namespace aster::respond {
namespace {

// The parsed reply of a stored answer; its calls have ids of this chat.
Reply ReplyOf(const Model& model, const chat::Tools* tools, const std::string& text) {
  chat::ReplyParser parser(model.dialect, /*prompt=*/"", tools);
  std::vector<chat::ReplyEvent> events;
  parser.Push(text, events);
  parser.Finish(events);
  Reply reply;
  reply.Add(events);
  for (size_t i = 0; i < reply.calls.size(); ++i) {
    if (reply.calls[i].id.empty()) reply.calls[i].id = fmt::format("call_{}", i);
  }
  return reply;
}

}  // namespace

Chat::Chat(engine::Generator& generator, const Model& model, Settings settings, Conversation base,
           std::string system)
    : generator_(generator),
      model_(model),
      settings_(std::move(settings)),
      base_(std::move(base)),
      system_(std::move(system)),
      sequence_(generator.NewSequence()) {}

uint32_t Chat::context_limit() const {
  return settings_.context_limit == 0 ? generator_.shape().context_length : settings_.context_limit;
}

ContextUse Chat::context() const {
  // Nodes report their own KV cache.
  return {.tokens = sequence_.length(),
          .limit_tokens = context_limit(),
          .held_bytes = sequence_.is_local() ? sequence_.table().HeldBytes() : 0};
}

Result<Prompt> Chat::MakeTurn() const {
  // Without a template, the typed text continues the model's.
  if (!has_template()) {
    const std::string& text = messages_.back().said.content;
    std::vector<int32_t> tokens = last_.tokens;
    const std::vector<int32_t> more =
        TRY(model_.prompt->EncodeRaw(text, /*begins=*/tokens.empty()));
    tokens.insert(tokens.end(), more.begin(), more.end());
    return RawPrompt(std::move(tokens), base_.form);
  }
  // The template renders all of the conversation.
  Conversation conversation = base_;
  if (!system_.empty()) conversation.messages.push_back({{"role", "system"}, {"content", system_}});
  for (const Turn& turn : messages_) conversation.messages.push_back(turn.shown);
  Prompt prompt = TRY(RenderPrompt(model_, conversation));
  // Keeps the tokens of earlier answers: the model continues what it wrote.
  const std::string whole = prompt.text + prompt.forced;
  if (!last_.marked.empty() && whole.starts_with(last_.marked)) {
    const std::string_view rest = std::string_view(whole).substr(last_.marked.size());
    if (const auto next = TRY(model_.prompt->EncodeNext(rest))) {
      prompt.tokens = last_.tokens;
      prompt.tokens.insert(prompt.tokens.end(), next->begin(), next->end());
      return prompt;
    }
  }
  prompt.tokens = TRY(model_.prompt->Encode(whole));
  return prompt;
}

Result<Answered> Chat::Answer(Listener& listener, const IsCancelled& is_cancelled) {
  const Prompt prompt = TRY(MakeTurn());
  if (prompt.tokens.empty()) return InvalidArgument("there is nothing to answer");
  // Another answer to the same question uses another seed.
  Settings settings = settings_;
  settings.sampling.seed += extra_seed_;
  Answered answered =
      TRY(Run(generator_, sequence_, model_, settings, prompt, listener, is_cancelled));
  Keep(prompt, answered);
  totals_.Add(answered.generated.finish);
  return answered;
}

void Chat::Keep(const Prompt& prompt, const Answered& answered) {
  const engine::Generated& generated = answered.generated;
  // The conversation gets the answer; the tokens stay as the sequence has them.
  AddAnswer(generated.text, answered.reply);
  last_.tokens = sequence_.tokens();
  // The template writes the token that ends an answer. A stop string leaves tokens that are not
  // part of the answer.
  const engine::FinishReason reason = generated.finish.reason;
  if (reason == engine::FinishReason::kStopToken) last_.tokens.pop_back();
  // The text of these tokens: a later prompt that begins with it keeps them. If it is unknown, the
  // next prompt is encoded again.
  last_.marked.clear();
  if (prompt.is_raw || reason == engine::FinishReason::kStopString) return;
  // The template itself writes the markup of calls and reasoning, with its control tokens.
  const bool is_plain = answered.reply.reasoning.empty() && answered.reply.calls.empty();
  last_.marked = prompt.text + prompt.forced +
                 (is_plain ? model_.prompt->Marked(generated.text) : generated.text);
}

void Chat::AddAnswer(const std::string& text, const Reply& reply) {
  messages_.push_back(AnswerTurn(text, reply));
  open_calls_ = reply.calls;
}

Result<Answered> Chat::AnswerTo(std::vector<Turn> turns, Listener& listener,
                                const IsCancelled& is_cancelled) {
  // An answer that fails leaves the conversation as it was.
  const size_t before = messages_.size();
  messages_.insert(messages_.end(), std::make_move_iterator(turns.begin()),
                   std::make_move_iterator(turns.end()));
  extra_seed_ = 0;
  earlier_.push_back(last_);
  auto answered = Answer(listener, is_cancelled);
  if (!answered.ok()) {
    messages_.resize(before);
    earlier_.pop_back();
  }
  return answered;
}

Result<Answered> Chat::Ask(const std::string& text, Listener& listener,
                           const IsCancelled& is_cancelled) {
  return AnswerTo({QuestionTurn(text)}, listener, is_cancelled);
}

Result<Answered> Chat::GiveResults(const std::vector<std::string>& results, Listener& listener,
                                   const IsCancelled& is_cancelled) {
  CHECK(!results.empty() && results.size() == open_calls_.size());
  std::vector<Turn> turns;
  for (size_t i = 0; i < results.size(); ++i)
    turns.push_back(ResultTurn(open_calls_[i], results[i]));
  return AnswerTo(std::move(turns), listener, is_cancelled);
}

// Forgets the tokens of the last answers and their prompts. False if those before are unknown.
bool Chat::RemoveAnswers(size_t answers) {
  if (earlier_.size() >= answers) {
    last_ = std::move(earlier_[earlier_.size() - answers]);
    earlier_.resize(earlier_.size() - answers);
    return true;
  }
  // From before the conversation was loaded: the template can render it again.
  if (!has_template()) return false;
  last_ = {};
  earlier_.clear();
  return true;
}

Result<Answered> Chat::Regenerate(Listener& listener, const IsCancelled& is_cancelled) {
  if (messages_.empty()) return FailedPrecondition("there is no answer yet");
  // The state to restore if there is no new answer.
  const Exchange exchange = last_;
  const std::vector<Exchange> earlier = earlier_;
  if (!RemoveAnswers(1)) {
    return FailedPrecondition("the last question was asked before the conversation was loaded");
  }
  const std::vector<Call> calls = std::exchange(open_calls_, {});
  // The conversation without its last answer, and another seed.
  const Turn last = messages_.back();
  messages_.pop_back();
  earlier_.push_back(last_);
  ++extra_seed_;
  auto answered = Answer(listener, is_cancelled);
  if (!answered.ok()) {
    messages_.push_back(last);
    open_calls_ = calls;
    last_ = exchange;
    earlier_ = earlier;
  }
  return answered;
}

Status Chat::Undo() {
  // The last question and everything after it: answers, calls and their results.
  const auto question = std::find_if(messages_.rbegin(), messages_.rend(),
                                     [](const Turn& turn) { return turn.said.role == "user"; });
  if (question == messages_.rend()) return FailedPrecondition("there is nothing to take back");
  const auto answers = std::count_if(
      messages_.rbegin(), question, [](const Turn& turn) { return turn.said.role == "assistant"; });
  if (!RemoveAnswers(static_cast<size_t>(answers))) {
    return FailedPrecondition("the last question was asked before the conversation was loaded");
  }
  messages_.erase(std::prev(question.base()), messages_.end());
  open_calls_.clear();
  extra_seed_ = 0;
  sequence_.SetHistory(last_.tokens);
  return Ok();
}

void Chat::Reset() { Restore({.system = system_}); }

void Chat::SetSystem(std::string text) { Restore({.system = std::move(text)}); }

Transcript Chat::transcript() const {
  Transcript transcript{.vocab_size = generator_.shape().vocab_size,
                        .system = system_,
                        .messages = {},
                        .marked = last_.marked,
                        .tokens = last_.tokens};
  for (const Turn& turn : messages_) transcript.messages.push_back(turn.said);
  return transcript;
}

// Parses answers again, as templates want their reasoning and calls separately.
void Chat::Restore(Transcript transcript) {
  system_ = std::move(transcript.system);
  messages_.clear();
  open_calls_.clear();
  const auto tools = base_.offers_tools() ? OfferedTools(base_.tools) : nullptr;
  std::vector<Call> waiting;  // their results come next
  for (chat::Message& message : transcript.messages) {
    if (message.role == "assistant") {
      AddAnswer(message.content, ReplyOf(model_, tools.get(), message.content));
      waiting.assign(open_calls_.rbegin(), open_calls_.rend());
    } else if (message.role == "tool") {
      const Call call = waiting.empty() ? Call() : waiting.back();
      if (!waiting.empty()) waiting.pop_back();
      messages_.push_back(ResultTurn(call, message.content));
    } else {
      messages_.push_back(QuestionTurn(message.content));
    }
  }
  earlier_.clear();
  last_ = {std::move(transcript.marked), std::move(transcript.tokens)};
  extra_seed_ = 0;
  sequence_.SetHistory(last_.tokens);
}

}  // namespace aster::respond
