// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/mixing.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ensemble/byte_reader.h"
#include "ensemble/mixture.h"
#include "ensemble/participants_run.h"
#include "ensemble/row_participant.h"
#include "ensemble/shares.h"
#include "ensemble/span.h"
#include "ensemble/span_streamer.h"
#include "ensemble/spans.h"
#include "ensemble/symbols.h"
#include "kernels/isa_choice.h"
#include "kernels/math.h"

namespace aster::ensemble {
namespace {

constexpr float kImpossibleScore = -std::numeric_limits<float>::infinity();

// The weight of earlier symbols when the next one is added: a member's share in the mean depends on
// how well it has predicted the recent text.
constexpr double kShareMemory = 1.0;

engine::SamplingOptions ForTokens(engine::SamplingOptions options) {
  options.logprobs = false;
  options.top_logprobs = 0;
  return options;
}

// Penalties and biases apply to tokens only.
engine::SamplingOptions ForBytes(engine::SamplingOptions options) {
  options = ForTokens(std::move(options));
  options.repetition_penalty = 1;
  options.frequency_penalty = options.presence_penalty = 0;
  options.biases.clear();
  return options;
}

// One question in progress: symbol after symbol, until one ends the answer.
class Mixing final : public ParticipantsRun<RowParticipant> {
 public:
  Mixing(const QuestionContext& context, const Question& question, uint64_t conversation)
      : ParticipantsRun(context),
        has_tokens_(HaveOneVocabulary(members_)),
        forced_text_(question.forced_text),
        shares_(members_.size()) {
    for (size_t i = 0; i < members_.size(); ++i) {
      const Member& member = members_[i];
      participants_.push_back(std::make_unique<RowParticipant>(member, question, conversation));
      const RowParticipant& joined = *participants_.back();
      log_share_.push_back(0);
      symbols_.push_back(!joined.is_askable() ? nullptr
                         : has_tokens_        ? MakeTokenSymbols()
                                              : MakeByteSymbols(*context.spellings[i],
                                                                member.model.tokenizer->vocab(),
                                                                joined.prompt().tokens));
    }
  }

  bool is_answered() const override { return is_done_; }

  void Begin(const std::shared_ptr<Mailbox>& mailbox, OnAnswer on_answer,
             OnPiece on_piece) override {
    on_answer_ = std::move(on_answer);
    for (size_t i = 0; i < participants_.size(); ++i) participants_[i]->Begin(PostOf(i, mailbox));
    if (const auto leader = Weightiest()) {
      leader_ = *leader;
      Prepare(std::move(on_piece));
    }
    RequestRows();
  }
  void Advance() override {
    while (!is_done_) {
      if (is_cancelled_) return EndWith(Cancelled());
      if (!streamer_) return EndWith(NoAnswer());
      if (!IsWaitOver(/*has_first=*/IsAnyReady())) return;
      GiveRows();
      if (RequestRows()) continue;
      if (CountPresent() == 0) return EndAlone();
      Write();
      if (!is_done_) RequestRows();
    }
  }

 private:
  const text::Tokenizer& tokenizer() const { return *members_[leader_].model.tokenizer; }
  const PreparedQuestion& leader_question() const { return participants_[leader_]->question(); }

  void Prepare(OnPiece on_piece) {
    const respond::Settings& settings = leader_question().settings;
    streamer_.emplace(members_[leader_].model, settings, leader_question().prompt,
                      std::move(on_piece));
    history_ = leader_question().prompt.tokens;
    if (forced_text_ && !Force(*forced_text_).ok()) forced_text_.reset();
    // Cannot fail: its members were opened with the same instruction set.
    const kernels::Isa isa = kernels::IsaFromEnvironment().value();
    if (has_tokens_) {
      sampler_.emplace(ForTokens(settings.sampling), members_[leader_].engine->vocab_size(), isa,
                       Editor());
      decoder_.emplace(tokenizer(), text::StreamDecoder::Options{
                                        .skip_control = true,
                                        .begins_text = BeginsText(tokenizer().vocab(), history_)});
    } else {
      sampler_.emplace(ForBytes(settings.sampling), static_cast<uint32_t>(kSymbols), isa);
    }
  }
  engine::LogitsEditor Editor() const {
    if (leader_question().masks == nullptr) return nullptr;
    return [masks = std::make_shared<grammar::TokenMasks>(leader_question().masks),
            begin = leader_question().prompt.tokens.size()](std::span<const int32_t> history,
                                                            std::span<float> logits) {
      masks->Apply(history.subspan(begin), logits);
    };
  }

  // Returns whether there was anything to ask for.
  bool RequestRows() {
    bool has_asked = false;
    for (size_t i = 0; i < participants_.size(); ++i) {
      RowParticipant& participant = *participants_[i];
      if (!participant.is_present() || participant.has_asked()) continue;
      for (const size_t history : symbols_[i]->Wanted()) {
        participant.Want(history, symbols_[i]->tokens(history), has_tokens_);
        has_asked = true;
      }
    }
    if (has_asked) RestartWait();
    return has_asked;
  }

  void GiveRows() {
    for (size_t i = 0; i < participants_.size(); ++i) {
      if (!participants_[i]->is_present()) continue;
      for (const auto& [history, row] : participants_[i]->TakeRows()) {
        const Status given = symbols_[i]->Give(history, row);
        if (!given.ok()) participants_[i]->Leave(given.error());
      }
    }
  }

  // Draws the next symbol.
  void Write() {
    std::vector<size_t> present;
    std::vector<std::vector<float>> scores;
    std::vector<double> log_totals, weights;
    double largest = kImpossible;
    for (size_t i = 0; i < participants_.size(); ++i) {
      if (participants_[i]->is_present()) largest = std::max(largest, log_share_[i]);
    }
    for (size_t i = 0; i < participants_.size(); ++i) {
      if (!participants_[i]->is_present()) continue;
      present.push_back(i);
      scores.push_back(symbols_[i]->Scores());
      log_totals.push_back(LogTotal(scores.back()));
      // Never zero: it may predict the rest better.
      const double share = std::max(log_share_[i] - largest, kLeastLogShare);
      weights.push_back(members_[i].weight * kernels::Exp(share));
    }
    std::vector<float> mixed = MixScores(scores, log_totals, weights);
    if (!has_tokens_ && leader_question().settings.ignores_end)
      mixed[kEndSymbol] = kImpossibleScore;
    const auto chosen = NextSymbol(mixed);
    if (!chosen.ok()) return EndWith(chosen.error());
    const size_t symbol = *chosen;
    const double together = mixed[symbol] - LogTotal(mixed);
    Follow(symbol, present, scores, log_totals);
    Append(symbol, present, scores, log_totals, together);
  }

  Result<size_t> NextSymbol(std::span<const float> mixed) {
    const size_t written = history_.size() - leader_question().prompt.tokens.size();
    if (!forced_text_) return static_cast<size_t>(TRY(sampler_->Choose(mixed, history_)).id);
    return forced_symbols_[written];
  }
  Status Force(const std::string& text) {
    if (has_tokens_) {
      for (const int32_t token : TRY(tokenizer().Encode(text, {})))
        forced_symbols_.push_back(static_cast<size_t>(token));
    } else {
      for (const char byte : text) forced_symbols_.push_back(static_cast<uint8_t>(byte));
    }
    return Ok();
  }

  // Every member continues after the symbol. One that cannot write it drops out.
  void Follow(size_t symbol, std::span<const size_t> present,
              std::span<const std::vector<float>> scores, std::span<const double> log_totals) {
    for (size_t k = 0; k < present.size(); ++k) {
      const size_t i = present[k];
      if (scores[k][symbol] == kImpossibleScore) {
        participants_[i]->Leave(
            FailedPrecondition("it cannot write the byte or token that was drawn"));
        continue;
      }
      log_share_[i] = kShareMemory * log_share_[i] + (scores[k][symbol] - log_totals[k]);
      if (!IsEnd(symbol)) symbols_[i]->Push(symbol);
    }
  }

  bool IsEnd(size_t symbol) const {
    if (!has_tokens_) return symbol == kEndSymbol;
    return !leader_question().settings.ignores_end &&
           tokenizer().vocab().IsEndOfGeneration(static_cast<int32_t>(symbol));
  }

  void Append(size_t symbol, std::span<const size_t> present,
              std::span<const std::vector<float>> scores, std::span<const double> log_totals,
              double together) {
    std::vector<double> log_probabilities(participants_.size(), kImpossible);
    std::vector<bool> would_write(participants_.size(), false);
    for (size_t k = 0; k < present.size(); ++k) {
      log_probabilities[present[k]] = scores[k][symbol] - log_totals[k];
      would_write[present[k]] = scores[k][symbol] == *std::ranges::max_element(scores[k]);
    }
    history_.push_back(static_cast<int32_t>(symbol));
    const bool is_end = IsEnd(symbol);
    const std::string bytes = is_end ? std::string() : BytesOf(symbol);
    shares_.Add(bytes, log_probabilities, together, would_write);
    Emit(bytes);
    if (is_end) {
      Finish({.reason = engine::FinishReason::kStopToken,
              .stop_token = has_tokens_ ? static_cast<int32_t>(symbol) : EndToken()});
    } else if (streamer_->stop()) {
      Finish({.reason = engine::FinishReason::kStopString, .stop_string = *streamer_->stop()});
    } else if (HasAll() || Length() >= leader_question().settings.max_tokens) {
      Finish({.reason = engine::FinishReason::kLength});
    } else {
      LeaveWithoutRoom();
      if (CountPresent() == 0) Finish({.reason = engine::FinishReason::kContext});
    }
  }

  int32_t EndToken() const {
    const auto& ends = tokenizer().vocab().end_of_generation;
    return ends.empty() ? -1 : ends.front();
  }
  std::string BytesOf(size_t symbol) {
    if (!has_tokens_) return {static_cast<char>(symbol)};
    std::string text;
    const auto token = static_cast<int32_t>(symbol);
    // Models may have more tokens than their vocabulary has texts.
    if (tokenizer().vocab().Contains(token)) CHECK(decoder_->Push(token, text).ok());
    return text;
  }
  // Sends whole characters.
  void Emit(const std::string& bytes) {
    partial_ += bytes;
    if (partial_.empty() || (!has_tokens_ && EndsWithinCharacter(partial_))) return;
    streamer_->Append(std::exchange(partial_, {}));
  }

  // Whether all of the forced text is written.
  bool HasAll() const {
    return forced_text_ &&
           history_.size() - leader_question().prompt.tokens.size() == forced_symbols_.size();
  }
  // Tokens of the answer: of the member with the most.
  uint64_t Length() const {
    if (has_tokens_) return history_.size() - leader_question().prompt.tokens.size();
    uint64_t length = 0;
    for (size_t i = 0; i < participants_.size(); ++i) {
      if (participants_[i]->is_present())
        length = std::max<uint64_t>(length, symbols_[i]->length());
    }
    return length;
  }

  void LeaveWithoutRoom() {
    for (size_t i = 0; i < participants_.size(); ++i) {
      if (!participants_[i]->is_present()) continue;
      const uint64_t limit = LimitOf(i);
      uint64_t longest = 0;
      for (const size_t history : symbols_[i]->Wanted())
        longest = std::max<uint64_t>(longest, symbols_[i]->tokens(history).size());
      if (limit > 0 && participants_[i]->prompt().tokens.size() + longest >= limit)
        participants_[i]->Leave(OutOfRange("the answer does not fit into its context"));
    }
  }
  uint64_t LimitOf(size_t i) const {
    const uint32_t limit = participants_[i]->question().settings.context_limit;
    const engine::Generator* const generator = members_[i].generator;
    return limit > 0 || generator == nullptr ? limit : generator->shape().context_length;
  }

  void EndWith(Error error) {
    is_done_ = true;
    for (const auto& participant : participants_) participant->Forget();
    on_answer_(std::move(error));
  }
  // No member is left: if their contexts are full, the text so far is the answer.
  void EndAlone() {
    const auto is_full = [](const auto& participant) {
      return !participant->absence() || participant->absence()->code() == Code::kOutOfRange;
    };
    const bool has_text = history_.size() > leader_question().prompt.tokens.size();
    if (!has_text || !std::ranges::all_of(participants_, is_full)) return EndWith(NoAnswer());
    Finish({.reason = engine::FinishReason::kContext});
  }

  void Finish(engine::Finish finish) {
    is_done_ = true;
    Answer answer;
    answer.policy = Policy::kBytes;
    answer.policy_reason = policy_reason_;
    for (size_t i = 0; i < participants_.size(); ++i) AddPart(PartOf(i), finish, answer);
    if (decoder_ && !streamer_->stop()) decoder_->Finish(partial_);
    if (!partial_.empty() && !streamer_->stop()) streamer_->Append(std::exchange(partial_, {}));
    streamer_->Finish(std::move(finish), answer);
    if (has_tokens_)
      answer.answered.generated.tokens.assign(
          history_.begin() + static_cast<ptrdiff_t>(leader_question().prompt.tokens.size()),
          history_.end());
    answer.spans = shares_.TakeParts();
    answer.candidates = {
        {.authors = AuthorsOf(shares_.bytes_by()), .text = answer.answered.generated.text}};
    for (const auto& participant : participants_) participant->Forget();
    on_answer_(std::move(answer));
  }
  Part PartOf(size_t i) const {
    const RowParticipant& participant = *participants_[i];
    return {.member = members_[i].name,
            .weight = members_[i].weight,
            .has_answered = participant.is_present(),
            .absence = participant.absence(),
            .counts = participant.counts(),
            .times = participant.times(),
            .computed_tokens = participant.computed_tokens(),
            .left_out = symbols_[i] == nullptr ? 0 : symbols_[i]->left_out()};
  }

  // a logarithm
  static constexpr double kLeastLogShare = -600;

  const bool has_tokens_;  // symbols are tokens; false: bytes
  std::optional<std::string> forced_text_;
  std::vector<size_t> forced_symbols_;             // of the forced text
  std::vector<std::unique_ptr<Symbols>> symbols_;  // of every member; null if it cannot be asked
  std::vector<double> log_share_;                  // likewise: how well it has predicted the text
  std::optional<SpanStreamer> streamer_;           // nullopt: no member can take the question
  std::optional<engine::Sampler> sampler_;
  std::optional<text::StreamDecoder> decoder_;  // for tokens
  size_t leader_ = 0;                           // index of a member
  std::vector<int32_t> history_;                // the leader's prompt, and the answer's symbols
  std::string partial_;                         // of a character
  Shares shares_;
  bool is_done_ = false;
};

}  // namespace

bool CanBeMixed(const Question& question, const std::vector<Member>& members) {
  if (!CanBeSpans(question, members)) return false;
  return question.conversation.form == nullptr || HaveOneVocabulary(members);
}

std::shared_ptr<QuestionRun> MakeMixing(const QuestionContext& context, const Question& question,
                                        uint64_t conversation) {
  return std::make_shared<Mixing>(context, question, conversation);
}

}  // namespace aster::ensemble
