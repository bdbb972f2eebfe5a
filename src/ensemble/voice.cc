// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/voice.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "ensemble/mixture.h"

namespace aster::ensemble {
namespace {

// As the member answers the question: its own limits and seed, and the probability of every token.
respond::Settings SettingsOf(const Member& member, const Question& question) {
  respond::Settings settings = question.settings;
  settings.sampling.seed += member.extra_seed;
  settings.sampling.logprobs = true;
  if (member.context_limit > 0) settings.context_limit = member.context_limit;
  return settings;
}

double Sum(std::span<const float> logprobs) {
  double sum = 0;
  for (const float logprob : logprobs) sum += logprob;
  return sum;
}

}  // namespace

Voice::Voice(const Member& member, const Question& question)
    : member_(member),
      wants_logprobs_(question.settings.sampling.logprobs),
      settings_(SettingsOf(member, question)) {
  CHECK(member.generator != nullptr && member.model.prompt != nullptr);
}

void Voice::Ask(const Question& question) {
  Status asked = TryAsk(question);
  if (!asked.ok()) absence_ = asked.error();
}

Status Voice::TryAsk(const Question& question) {
  respond::Conversation conversation = question.conversation;
  // Of texts alone: a template that has no place for tools leaves them out.
  if (question.is_raw && !member_.model.dialect.has_tools) conversation.tools = nullptr;
  prompt_ = TRY(respond::MakePrompt(member_.model, conversation));
  prompt_.is_raw = question.is_raw;
  response_ = std::make_unique<respond::Response>(
      member_.model, settings_, prompt_, TRY(respond::MakeMasks(member_.model, prompt_)), *this);
  sequence_.emplace(member_.generator->NewSequence());
  sequence_->SetHistory(prompt_.tokens);
  engine::Request request = response_->MakeRequest();
  request.sequence = &*sequence_;
  id_ = TRY(member_.generator->Submit(std::move(request)));
  ++in_flight_;
  return Ok();
}

void Voice::OnToken(const engine::Delta& delta) {
  answered_.generated.tokens.push_back(delta.choice.id);
  logprobs_.push_back(delta.choice.logprob);
}

void Voice::OnPiece(const respond::Piece& piece) {
  written_.text += piece.text;
  answered_.reply.Add(piece.events, wants_logprobs_ ? piece.tokens : decltype(piece.tokens)());
}

void Voice::OnEnd(const respond::End& end) {
  --in_flight_;
  OnPiece(end.last);
  answered_.generated.finish = end.finish;
  answered_.generated.text = written_.text;
  if (!end.status.ok() && !absence_) absence_ = end.status.error();
  if (absence_) return;
  has_answered_ = true;
  written_.forced = prompt_.forced;
  written_.has_ended = end.finish.reason == engine::FinishReason::kStopToken;
  const bool is_plain = answered_.reply.calls.empty() && answered_.reply.thinking.empty();
  if (!is_plain) written_.family = member_.model.dialect.family;
}

void Voice::EndIfComplete() {
  if (response_ != nullptr && response_->is_complete() && is_busy()) member_.generator->Cancel(id_);
}

void Voice::Leave(Error why) {
  if (!is_awaited()) return;
  has_left_ = true;
  absence_ = std::move(why);
  if (!has_answered_) member_.generator->Cancel(id_);
  for (const auto& rating : ratings_) member_.generator->Cancel(rating->id);
}

void Voice::Rate(const Written& written, size_t candidate) {
  log_chances_.resize(std::max(log_chances_.size(), candidate + 1), kImpossible);
  if (!has_answered_) return;
  if (written == written_) {
    log_chances_[candidate] = Sum(logprobs_);
    return;
  }
  Status asked = TryRate(written, candidate);
  if (!asked.ok()) absence_ = asked.error();
}

// The member's own tokens for a text of another: what follows the prompt where both are encoded
// together.
Result<std::vector<int32_t>> Voice::TokensOf(const Written& written) const {
  std::vector<int32_t> none;
  const bool is_plain = written.family == chat::Family::kPlain;
  const bool is_readable = is_plain || written.family == member_.model.dialect.family;
  if (!is_readable || written.forced != prompt_.forced) return none;
  // The markup of calls and reasoning may be control tokens; other text never is.
  const chat::ChatPrompt& chat = *member_.model.prompt;
  const std::string marked = is_plain ? chat.Marked(written.text) : written.text;
  std::vector<int32_t> tokens = TRY(chat.Encode(prompt_.text + prompt_.forced + marked));
  const auto [prompt, rest] = std::ranges::mismatch(prompt_.tokens, tokens);
  if (prompt != prompt_.tokens.end()) return none;
  tokens.erase(tokens.begin(), rest);
  if (!written.has_ended) return tokens;
  // The end that this member gave its own answer, or else the one that its vocabulary names first.
  const std::vector<text::TokenId>& ends = member_.model.tokenizer->vocab().end_of_generation;
  if (ends.empty()) return none;
  tokens.push_back(written_.has_ended ? answered_.generated.finish.stop_token : ends.front());
  return tokens;
}

Status Voice::TryRate(const Written& written, size_t candidate) {
  std::vector<int32_t> tokens = TRY(TokensOf(written));
  if (tokens.empty()) return Ok();
  // As long as the text is the one that this member wrote, its probabilities are known.
  const std::vector<int32_t>& own = answered_.generated.tokens;
  const auto shared = static_cast<size_t>(std::ranges::mismatch(own, tokens).in1 - own.begin());
  const double known = Sum(std::span(logprobs_).first(shared));
  if (shared == tokens.size()) {
    log_chances_[candidate] = known;
    return Ok();
  }
  // The rest is computed in one batch with the other candidates, behind the same KV cache. Each row
  // of logits is of the token behind it, so the last token itself is not computed.
  const uint32_t first = static_cast<uint32_t>(prompt_.tokens.size() + shared) - 1;
  std::vector<int32_t> history = prompt_.tokens;
  history.insert(history.end(), tokens.begin(), tokens.end() - 1);
  tokens.erase(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(shared));
  engine::SamplingOptions rates;
  rates.logprobs = true;
  auto rating = std::make_unique<Rating>(
      Rating{.sequence = sequence_->Fork(),
             .sampler = engine::Sampler(rates, member_.generator->shape().vocab_size),
             .tokens = std::move(tokens),
             .log_chance = known});
  rating->sequence.SetHistory(history);
  engine::Request request;
  request.sequence = &rating->sequence;
  request.max_tokens = 0;
  request.context_limit = settings_.context_limit;
  request.rows = {.kind = engine::PromptRows::Kind::kLogits,
                  .on_row = [this, at = rating.get()](auto row) { TakeRow(*at, row); },
                  .first = first};
  request.on_finish = [this, at = rating.get(), candidate](const engine::Finish& finish) {
    FinishRating(*at, candidate, finish);
  };
  rating->id = TRY(member_.generator->Submit(std::move(request)));
  ++in_flight_;
  rated_tokens_ += rating->tokens.size();
  ratings_.push_back(std::move(rating));
  return Ok();
}

void Voice::TakeRow(Rating& rating, std::span<const float> logits) {
  if (!rating.status.ok() || rating.next == rating.tokens.size()) return;
  const auto choice = rating.sampler.Rate(logits, rating.tokens[rating.next++]);
  if (!choice.ok()) {
    rating.status = choice.error();
    return;
  }
  rating.log_chance += choice->logprob;
}

void Voice::FinishRating(Rating& rating, size_t candidate, const engine::Finish& finish) {
  --in_flight_;
  if (finish.reason == engine::FinishReason::kFailed && !absence_) absence_ = finish.status.error();
  const bool is_whole = rating.status.ok() && rating.next == rating.tokens.size();
  if (is_whole && !has_left_) log_chances_[candidate] = rating.log_chance;
}

double Voice::LogChance(size_t candidate) const {
  return candidate < log_chances_.size() ? log_chances_[candidate] : kImpossible;
}

}  // namespace aster::ensemble
