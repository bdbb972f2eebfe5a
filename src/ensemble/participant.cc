// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/participant.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "ensemble/mixture.h"
#include "kernels/isa_choice.h"

namespace aster::ensemble {
namespace {

double Sum(std::span<const float> logprobs) {
  double sum = 0;
  for (const float logprob : logprobs) sum += logprob;
  return sum;
}

}  // namespace

// The member's response on the thread that computes it.
class Participant::ResponseListener final : public respond::Listener {
 public:
  ResponseListener(const Participant& participant,
                   std::function<void(std::shared_ptr<FinishedResponse>)> on_end)
      : prompt_(participant.own_.prompt),
        family_(participant.member_.model.dialect.family),
        wants_logprobs_(participant.wants_logprobs_),
        on_end_(std::move(on_end)),
        response_(participant.member_.model, participant.own_.settings, prompt_,
                  participant.own_.masks, *this) {}

  respond::Response& response() { return response_; }

 private:
  void OnToken(const engine::Delta& delta) override {
    finished_->answered.generated.tokens.push_back(delta.choice.id);
    finished_->logprobs.push_back(delta.choice.logprob);
  }
  void OnPiece(const respond::Piece& piece) override {
    AnswerPiece said{.text = std::string(piece.text),
                     .events = {piece.events.begin(), piece.events.end()}};
    if (wants_logprobs_) said.tokens.assign(piece.tokens.begin(), piece.tokens.end());
    finished_->written.text += said.text;
    finished_->answered.reply.Add(said.events, said.tokens);
    finished_->pieces.push_back(std::move(said));
  }
  void OnEnd(const respond::End& end) override {
    OnPiece(end.last);
    WrittenText& written = finished_->written;
    respond::Answered& answered = finished_->answered;
    answered.generated.finish = end.finish;
    answered.generated.text = written.text;
    written.forced = prompt_.forced;
    written.has_ended = end.finish.reason == engine::FinishReason::kStopToken;
    const bool is_plain = answered.reply.calls.empty() && answered.reply.reasoning.empty();
    if (!is_plain) written.family = family_;
    finished_->reason = end.reason;
    finished_->usage = end.usage;
    finished_->status = end.status;
    if (end.is_cancelled) finished_->status = Error(Code::kCancelled, "the answer was cancelled");
    on_end_(std::move(finished_));
  }

  const respond::Prompt prompt_;
  const chat::Family family_;
  const bool wants_logprobs_;
  const std::function<void(std::shared_ptr<FinishedResponse>)> on_end_;
  respond::Response response_;
  std::shared_ptr<FinishedResponse> finished_ = std::make_shared<FinishedResponse>();
};

// Rates a text after the member's prompt, on the thread that computes it.
class Participant::Rating {
 public:
  Rating(uint32_t vocab_size, std::vector<int32_t> tokens, double known)
      // Cannot fail: the member was opened with the same instruction set.
      : sampler_(LogprobsAlone(), vocab_size, kernels::IsaFromEnvironment().value()),
        tokens_(std::move(tokens)),
        log_probability_(known) {}

  // The row after each token rates the next one.
  void TakeRow(std::span<const float> logits) {
    if (!status_.ok() || next_ == tokens_.size()) return;
    const auto choice = sampler_.Rate(logits, tokens_[next_++]);
    if (choice.ok()) {
      log_probability_ += choice->logprob;
    } else {
      status_ = choice.error();
    }
  }
  // The log-probability of the whole text, at the end.
  double log_probability(const engine::Finish& finish) const {
    const bool is_whole =
        finish.reason != engine::FinishReason::kCancelled && next_ == tokens_.size();
    return is_whole && status(finish).ok() ? log_probability_ : kImpossible;
  }
  Status status(const engine::Finish& finish) const {
    return finish.reason == engine::FinishReason::kFailed ? finish.status : status_;
  }

 private:
  static engine::SamplingOptions LogprobsAlone() {
    engine::SamplingOptions options;
    options.logprobs = true;
    return options;
  }

  engine::Sampler sampler_;
  const std::vector<int32_t> tokens_;  // to rate, in order
  size_t next_ = 0;                    // index into tokens_
  double log_probability_;             // of the tokens before
  Status status_;
};

Participant::Participant(const Member& member, const Question& question, uint64_t conversation)
    : member_(member),
      conversation_(conversation),
      wants_logprobs_(question.settings.sampling.logprobs),
      client_(question.client) {
  if (member.weight == 0) return;
  auto prepared = PrepareQuestion(member, question);
  if (prepared.ok()) {
    own_ = *std::move(prepared);
  } else {
    absence_ = prepared.error();
  }
}

Participant::~Participant() { *is_dropped_ = true; }

void Participant::Forget() { member_.engine->Forget(conversation_); }

void Participant::Start(Post post) {
  post_ = std::move(post);
  if (!is_askable()) return;
  const auto listener = std::make_shared<ResponseListener>(
      *this, [on = post_](std::shared_ptr<FinishedResponse> finished) {
        on([finished](Participant& participant) { participant.OnFinished(finished); });
      });
  Work work{.prompt = own_.prompt.tokens, .request = listener->response().MakeRequest(listener)};
  // A response that has all that is wanted may end.
  work.is_gone = [listener, dropped = is_dropped_] {
    return *dropped || listener->response().is_complete();
  };
  Begin(std::move(work));
}

void Participant::Begin(Work work) {
  ++awaited_;
  work.client = client_;
  work.conversation = conversation_;
  work.on_refused = [on = post_](const Error& error) {
    on([error](Participant& participant) { participant.OnRefused(error); });
  };
  member_.engine->Begin(std::move(work));
}

void Participant::OnRefused(const Error& error) {
  --awaited_;
  if (!absence_) absence_ = error;
}

void Participant::OnFinished(std::shared_ptr<FinishedResponse> finished) {
  --awaited_;
  finished_ = std::move(*finished);
  computed_tokens_ += ComputedTokens(finished_.answered.generated.finish.counts);
  if (!finished_.status.ok() && !absence_) absence_ = finished_.status.error();
  has_answered_ = !absence_;
}

void Participant::Leave(Error why) {
  if (!is_awaited()) return;
  has_left_ = true;
  absence_ = std::move(why);
  *is_dropped_ = true;
}

void Participant::Rate(const WrittenText& written, size_t candidate) {
  log_probabilities_.resize(std::max(log_probabilities_.size(), candidate + 1), kImpossible);
  if (!has_answered_) return;
  if (written == finished_.written) {
    log_probabilities_[candidate] = Sum(finished_.logprobs);
    return;
  }
  Status asked = TryRate(written, candidate);
  if (!asked.ok()) absence_ = asked.error();
}

// The member's own tokens for another member's text: those after the prompt if both are encoded
// together.
Result<std::vector<int32_t>> Participant::TokensOf(const WrittenText& written) const {
  std::vector<int32_t> none;
  const bool is_plain = written.family == chat::Family::kPlain;
  const bool is_readable = is_plain || written.family == member_.model.dialect.family;
  if (!is_readable || written.forced != own_.prompt.forced) return none;
  // The markup of calls and reasoning may be control tokens; other text never is.
  const chat::ChatPrompt& chat = *member_.model.prompt;
  const bool is_marked = is_plain && !own_.is_text;
  auto behind =
      TRY(TokensBehind(member_, own_, is_marked ? chat.Marked(written.text) : written.text));
  if (!behind) return none;
  std::vector<int32_t> tokens = *std::move(behind);
  if (!written.has_ended) return tokens;
  // The end token of this member's own answer, otherwise the first one of its vocabulary.
  const std::vector<text::TokenId>& ends = member_.model.tokenizer->vocab().end_of_generation;
  if (ends.empty()) return none;
  const bool has_ended = finished_.written.has_ended;
  tokens.push_back(has_ended ? finished_.answered.generated.finish.stop_token : ends.front());
  return tokens;
}

Status Participant::TryRate(const WrittenText& written, size_t candidate) {
  std::vector<int32_t> tokens = TRY(TokensOf(written));
  if (tokens.empty()) return Ok();
  // For the part of the text that this member wrote too, the probabilities are known.
  const std::vector<int32_t>& own = finished_.answered.generated.tokens;
  const auto shared = static_cast<size_t>(std::ranges::mismatch(own, tokens).in1 - own.begin());
  const double known = Sum(std::span(finished_.logprobs).first(shared));
  if (shared == tokens.size()) {
    log_probabilities_[candidate] = known;
    return Ok();
  }
  // The rest is computed in one batch with the other candidates, after the same KV cache. Each row
  // of logits is for the token after it, so the last token itself is not computed.
  Work work{
      .prompt = own_.prompt.tokens, .is_followup = true, .is_branch = true, .is_rating = true};
  work.prompt.insert(work.prompt.end(), tokens.begin(), tokens.end() - 1);
  tokens.erase(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(shared));
  rated_tokens_ += tokens.size();
  const auto rating =
      std::make_shared<Rating>(member_.engine->vocab_size(), std::move(tokens), known);
  work.request.max_tokens = 0;
  work.request.context_limit = own_.settings.context_limit;
  work.request.rows = {.kind = engine::PromptRows::Kind::kLogits,
                       .on_row = [rating](auto row) { rating->TakeRow(row); },
                       .first = static_cast<uint32_t>(own_.prompt.tokens.size() + shared) - 1};
  work.request.on_finish = [on = post_, rating, candidate](const engine::Finish& finish) {
    on([rating, candidate, finish](Participant& participant) {
      participant.OnRated(candidate, *rating, finish);
    });
  };
  work.is_gone = [dropped = is_dropped_] { return dropped->load(); };
  Begin(std::move(work));
  return Ok();
}

void Participant::OnRated(size_t candidate, const Rating& rating, const engine::Finish& finish) {
  --awaited_;
  computed_tokens_ += ComputedTokens(finish.counts);
  const Status status = rating.status(finish);
  if (!status.ok() && !absence_) absence_ = status.error();
  if (!has_left_) log_probabilities_[candidate] = rating.log_probability(finish);
}

double Participant::LogProbability(size_t candidate) const {
  return candidate < log_probabilities_.size() ? log_probabilities_[candidate] : kImpossible;
}

}  // namespace aster::ensemble
