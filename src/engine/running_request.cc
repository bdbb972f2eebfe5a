// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/running_request.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace aster::engine {
namespace {

// Whether a token after this prompt begins a text, as SentencePiece sees it.
bool BeginsText(const text::Tokenizer& tokenizer, std::span<const int32_t> prompt) {
  const text::Vocab& vocab = tokenizer.vocab();
  return prompt.empty() || !vocab.Contains(prompt.back()) ||
         text::IsMatchedInText(vocab.types[static_cast<size_t>(prompt.back())]);
}

}  // namespace

std::string_view FinishReasonName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStopToken:
      return "stop token";
    case FinishReason::kStopString:
      return "stop string";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kContext:
      return "context";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kFailed:
      return "failed";
  }
  return "";
}

RunningRequest::RunningRequest(RequestId id, Request request, const text::Tokenizer* tokenizer,
                               uint32_t vocab_size, kernels::Isa isa, int64_t now_ns)
    : request_(std::move(request)),
      prompt_length_(request_.sequence->length()),
      tokenizer_(tokenizer),
      vocab_size_(vocab_size),
      isa_(isa),
      stops_(request_.stop_strings),
      reported_rows_(request_.rows.first),
      submitted_ns_(now_ns) {
  if (tokenizer != nullptr) {
    decoder_.emplace(*tokenizer,
                     text::StreamDecoder::Options{
                         .skip_control = !request_.show_control,
                         .begins_text = BeginsText(*tokenizer, request_.sequence->tokens())});
  }
  finish_.id = id;
  finish_.counts.prompt = prompt_length_;
}

void RunningRequest::Begin(int64_t now_ns) {
  // At least one token is computed: the answer is chosen from its logits.
  sequence().ForgetLast();
  if (begun_) return;
  begun_ = true;
  begun_ns_ = now_ns;
  most_computed_ = sequence().computed();
  finish_.counts.cached = most_computed_;
  ReportPrefill();
}

void RunningRequest::Adopt(kv::AdoptFrom from) {
  if (request_.rows.needs_all()) return;
  sequence().Adopt(from);
  // Only rows beyond those that this request has computed itself count as cached.
  const uint32_t computed = sequence().computed();
  if (!begun_ || computed <= most_computed_) return;
  finish_.counts.cached += computed - most_computed_;
  most_computed_ = computed;
}

void RunningRequest::Advance(uint32_t count) {
  const uint32_t end = sequence().computed();
  const uint32_t begin = end - count;
  // Positions that were computed before are computed again: after a preemption, or a failed node.
  finish_.counts.replayed += std::min(end, most_computed_) - std::min(begin, most_computed_);
  most_computed_ = std::max(most_computed_, end);
  ReportPrefill();
}

void RunningRequest::TakeRows(uint32_t begin, std::span<const float> rows, size_t width) {
  for (uint32_t position = begin; !rows.empty(); ++position, rows = rows.subspan(width)) {
    if (position < reported_rows_) continue;
    request_.rows.on_row(rows.first(width));
    reported_rows_ = position + 1;
  }
}

// An answer that has begun may compute its prompt again, but that is not reported as progress.
void RunningRequest::ReportPrefill() {
  if (!request_.on_prefill || finish_.counts.generated > 0) return;
  request_.on_prefill(sequence().computed(), prompt_length_);
}

bool RunningRequest::TakeLogits(std::span<const float> logits, int64_t now_ns) {
  if (!sampler_) sampler_.emplace(request_.sampling, vocab_size_, isa_, request_.edit_logits);
  return TakeChoice(sampler_->Choose(logits, sequence().tokens()), now_ns);
}

bool RunningRequest::TakeChoice(Result<Choice> chosen, int64_t now_ns) {
  if (!chosen.ok()) {
    End(FinishReason::kFailed, std::move(chosen).error());
    return true;
  }
  // From now on the token belongs to the sequence, even if the answer ends with it.
  const Choice choice = *std::move(chosen);
  sequence().Append(choice.id);
  if (finish_.counts.generated++ == 0) first_token_ns_ = now_ns;
  last_token_ns_ = now_ns;
  // A stop token is not shown; any other becomes text, whose end may be held back by stop strings.
  const bool stops =
      std::ranges::find(request_.stop_tokens, choice.id) != request_.stop_tokens.end();
  std::string shown;
  if (!stops) AddText(choice.id, shown);
  if (request_.on_token) request_.on_token({.id = id(), .choice = choice, .text = shown});
  // Why the answer ends, if it does: the model's stop token first, then stop strings and limits.
  if (stops) {
    finish_.stop_token = choice.id;
    End(FinishReason::kStopToken);
    return true;
  }
  if (const auto reason = ReasonToStop()) {
    End(*reason);
    return true;
  }
  return false;
}

void RunningRequest::AddText(int32_t token, std::string& shown) {
  // Models may have more tokens than their vocabulary has texts.
  if (!decoder_ || !tokenizer_->vocab().Contains(token)) return;
  std::string decoded;
  CHECK(decoder_->Push(token, decoded).ok());
  stops_.Push(decoded, shown);
}

std::optional<FinishReason> RunningRequest::ReasonToStop() const {
  if (stops_.found()) return FinishReason::kStopString;
  if (!wants_token()) return FinishReason::kLength;
  if (request_.sequence->length() >= request_.context_limit) return FinishReason::kContext;
  return std::nullopt;
}

uint32_t RunningRequest::DraftRoom() const {
  // No drafts yet: the reported progress of a prompt must not include rows that are removed again.
  if (finish_.counts.generated == 0) return 0;
  const uint64_t by_count = request_.max_tokens - finish_.counts.generated;
  const uint64_t by_context = request_.context_limit - request_.sequence->length();
  return engine::DraftRoom(std::min(by_count, by_context));
}

void RunningRequest::End(FinishReason reason, Status status) {
  finish_.reason = reason;
  finish_.status = std::move(status);
  // After a stop string nothing is shown. Otherwise the held back text is shown now: half a
  // character, or the beginning of a stop string.
  if (stops_.found()) {
    finish_.stop_string = *stops_.found();
    return;
  }
  std::string rest;
  if (decoder_) decoder_->Finish(rest);
  stops_.Push(rest, finish_.text);
  stops_.Finish(finish_.text);
}

void RunningRequest::ReportFinish(int64_t now_ns) {
  // Time to first token = waited + prefill; a request without a token spent all of it in prefill.
  const bool answered = finish_.counts.generated > 0;
  const int64_t begun_ns = begun_ ? begun_ns_ : now_ns;
  finish_.times.waited_ns = begun_ns - submitted_ns_;
  finish_.times.prefill_ns = (answered ? first_token_ns_ : now_ns) - begun_ns;
  finish_.times.decode_ns = answered ? last_token_ns_ - first_token_ns_ : 0;
  if (speculation_) finish_.counts.drafts += speculation_->counts();
  if (request_.on_finish) request_.on_finish(finish_);
}

}  // namespace aster::engine
