// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/mixing.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ensemble/asked_voices.h"
#include "ensemble/byte_reader.h"
#include "ensemble/mixture.h"
#include "ensemble/row_voice.h"
#include "ensemble/shares.h"
#include "ensemble/span.h"
#include "ensemble/span_teller.h"
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
class Mixing final : public AskedVoices<RowVoice> {
 public:
  Mixing(const AskedContext& context, const Question& question, uint64_t conversation)
      : AskedVoices(context),
        has_tokens_(HaveOneVocabulary(members_)),
        dictated_(question.dictated),
        shares_(members_.size()) {
    for (size_t i = 0; i < members_.size(); ++i) {
      const Member& member = members_[i];
      voices_.push_back(std::make_unique<RowVoice>(member, question, conversation));
      const RowVoice& voice = *voices_.back();
      log_share_.push_back(0);
      symbols_.push_back(!voice.is_askable() ? nullptr
                         : has_tokens_       ? MakeTokenSymbols()
                                             : MakeByteSymbols(*context.spellings[i],
                                                               member.model.tokenizer->vocab(),
                                                               voice.prompt().tokens));
    }
  }

  bool is_answered() const override { return is_done_; }

  void Begin(const std::shared_ptr<Mailbox>& mailbox, OnAnswer on_answer,
             OnPiece on_piece) override {
    on_answer_ = std::move(on_answer);
    for (size_t i = 0; i < voices_.size(); ++i) voices_[i]->Begin(PostOf(i, mailbox));
    if (const auto leader = Weightiest()) {
      leader_ = *leader;
      Prepare(std::move(on_piece));
    }
    Ask();
  }
  void Advance() override {
    while (!is_done_) {
      if (is_cancelled_) return EndWith(Cancelled());
      if (!teller_) return EndWith(NoAnswer());
      if (!HasHeard(/*has_first=*/IsAnyReady())) return;
      GiveRows();
      if (Ask()) continue;
      if (CountPresent() == 0) return EndAlone();
      Write();
      if (!is_done_) Ask();
    }
  }

 private:
  const text::Tokenizer& tokenizer() const { return *members_[leader_].model.tokenizer; }
  const PreparedQuestion& leading() const { return voices_[leader_]->question(); }

  void Prepare(OnPiece on_piece) {
    const respond::Settings& settings = leading().settings;
    teller_.emplace(members_[leader_].model, settings, leading().prompt, std::move(on_piece));
    history_ = leading().prompt.tokens;
    if (dictated_ && !Dictate(*dictated_).ok()) dictated_.reset();
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
    if (leading().masks == nullptr) return nullptr;
    return [masks = std::make_shared<grammar::TokenMasks>(leading().masks),
            begin = leading().prompt.tokens.size()](std::span<const int32_t> history,
                                                    std::span<float> logits) {
      masks->Apply(history.subspan(begin), logits);
    };
  }

  // Returns whether there was anything to ask for.
  bool Ask() {
    bool has_asked = false;
    for (size_t i = 0; i < voices_.size(); ++i) {
      RowVoice& voice = *voices_[i];
      if (!voice.is_present() || voice.has_asked()) continue;
      for (const size_t history : symbols_[i]->Wanted()) {
        voice.Want(history, symbols_[i]->tokens(history), has_tokens_);
        has_asked = true;
      }
    }
    if (has_asked) WaitAnew();
    return has_asked;
  }

  void GiveRows() {
    for (size_t i = 0; i < voices_.size(); ++i) {
      if (!voices_[i]->is_present()) continue;
      for (const auto& [history, row] : voices_[i]->TakeRows()) {
        const Status given = symbols_[i]->Give(history, row);
        if (!given.ok()) voices_[i]->Leave(given.error());
      }
    }
  }

  // Draws the next symbol.
  void Write() {
    std::vector<size_t> present;
    std::vector<std::vector<float>> scores;
    std::vector<double> log_totals, weights;
    double largest = kImpossible;
    for (size_t i = 0; i < voices_.size(); ++i) {
      if (voices_[i]->is_present()) largest = std::max(largest, log_share_[i]);
    }
    for (size_t i = 0; i < voices_.size(); ++i) {
      if (!voices_[i]->is_present()) continue;
      present.push_back(i);
      scores.push_back(symbols_[i]->Scores());
      log_totals.push_back(LogTotal(scores.back()));
      // Never zero: it may predict the rest better.
      const double share = std::max(log_share_[i] - largest, kLeastLogShare);
      weights.push_back(members_[i].weight * kernels::Exp(share));
    }
    std::vector<float> mixed = MixScores(scores, log_totals, weights);
    if (!has_tokens_ && leading().settings.ignores_end) mixed[kEndSymbol] = kImpossibleScore;
    const auto chosen = NextSymbol(mixed);
    if (!chosen.ok()) return EndWith(chosen.error());
    const size_t symbol = *chosen;
    const double together = mixed[symbol] - LogTotal(mixed);
    Follow(symbol, present, scores, log_totals);
    Say(symbol, present, scores, log_totals, together);
  }

  Result<size_t> NextSymbol(std::span<const float> mixed) {
    const size_t written = history_.size() - leading().prompt.tokens.size();
    if (!dictated_) return static_cast<size_t>(TRY(sampler_->Choose(mixed, history_)).id);
    return symbols_to_say_[written];
  }
  Status Dictate(const std::string& text) {
    if (has_tokens_) {
      for (const int32_t token : TRY(tokenizer().Encode(text, {})))
        symbols_to_say_.push_back(static_cast<size_t>(token));
    } else {
      for (const char byte : text) symbols_to_say_.push_back(static_cast<uint8_t>(byte));
    }
    return Ok();
  }

  // Every member continues after the symbol. One that cannot write it drops out.
  void Follow(size_t symbol, std::span<const size_t> present,
              std::span<const std::vector<float>> scores, std::span<const double> log_totals) {
    for (size_t k = 0; k < present.size(); ++k) {
      const size_t i = present[k];
      if (scores[k][symbol] == kImpossibleScore) {
        voices_[i]->Leave(FailedPrecondition("it cannot write the byte or token that was drawn"));
        continue;
      }
      log_share_[i] = kShareMemory * log_share_[i] + (scores[k][symbol] - log_totals[k]);
      if (!IsEnd(symbol)) symbols_[i]->Push(symbol);
    }
  }

  bool IsEnd(size_t symbol) const {
    if (!has_tokens_) return symbol == kEndSymbol;
    return !leading().settings.ignores_end &&
           tokenizer().vocab().IsEndOfGeneration(static_cast<int32_t>(symbol));
  }

  void Say(size_t symbol, std::span<const size_t> present,
           std::span<const std::vector<float>> scores, std::span<const double> log_totals,
           double together) {
    std::vector<double> log_chances(voices_.size(), kImpossible);
    std::vector<bool> would_write(voices_.size(), false);
    for (size_t k = 0; k < present.size(); ++k) {
      log_chances[present[k]] = scores[k][symbol] - log_totals[k];
      would_write[present[k]] = scores[k][symbol] == *std::ranges::max_element(scores[k]);
    }
    history_.push_back(static_cast<int32_t>(symbol));
    const bool is_end = IsEnd(symbol);
    const std::string bytes = is_end ? std::string() : BytesOf(symbol);
    shares_.Add(bytes, log_chances, together, would_write);
    Tell(bytes);
    if (is_end) {
      Finish({.reason = engine::FinishReason::kStopToken,
              .stop_token = has_tokens_ ? static_cast<int32_t>(symbol) : EndToken()});
    } else if (teller_->stop()) {
      Finish({.reason = engine::FinishReason::kStopString, .stop_string = *teller_->stop()});
    } else if (HasAll() || Length() >= leading().settings.max_tokens) {
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
  void Tell(const std::string& bytes) {
    partial_ += bytes;
    if (partial_.empty() || (!has_tokens_ && EndsWithinCharacter(partial_))) return;
    teller_->Say(std::exchange(partial_, {}));
  }

  // Whether all of the dictated text is written.
  bool HasAll() const {
    return dictated_ && history_.size() - leading().prompt.tokens.size() == symbols_to_say_.size();
  }
  // Tokens of the answer: of the member with the most.
  uint64_t Length() const {
    if (has_tokens_) return history_.size() - leading().prompt.tokens.size();
    uint64_t length = 0;
    for (size_t i = 0; i < voices_.size(); ++i) {
      if (voices_[i]->is_present()) length = std::max<uint64_t>(length, symbols_[i]->length());
    }
    return length;
  }

  void LeaveWithoutRoom() {
    for (size_t i = 0; i < voices_.size(); ++i) {
      if (!voices_[i]->is_present()) continue;
      const uint64_t limit = LimitOf(i);
      uint64_t longest = 0;
      for (const size_t history : symbols_[i]->Wanted())
        longest = std::max<uint64_t>(longest, symbols_[i]->tokens(history).size());
      if (limit > 0 && voices_[i]->prompt().tokens.size() + longest >= limit)
        voices_[i]->Leave(OutOfRange("the answer does not fit into its context"));
    }
  }
  uint64_t LimitOf(size_t i) const {
    const uint32_t limit = voices_[i]->question().settings.context_limit;
    const engine::Generator* const generator = members_[i].generator;
    return limit > 0 || generator == nullptr ? limit : generator->shape().context_length;
  }

  void EndWith(Error error) {
    is_done_ = true;
    for (const auto& voice : voices_) voice->Forget();
    on_answer_(std::move(error));
  }
  // No member is left: if their contexts are full, the text so far is the answer.
  void EndAlone() {
    const auto is_full = [](const auto& voice) {
      return !voice->absence() || voice->absence()->code() == Code::kOutOfRange;
    };
    const bool has_text = history_.size() > leading().prompt.tokens.size();
    if (!has_text || !std::ranges::all_of(voices_, is_full)) return EndWith(NoAnswer());
    Finish({.reason = engine::FinishReason::kContext});
  }

  void Finish(engine::Finish finish) {
    is_done_ = true;
    Answer answer;
    answer.policy = Policy::kBytes;
    answer.policy_reason = policy_reason_;
    for (size_t i = 0; i < voices_.size(); ++i) AddPart(PartOf(i), finish, answer);
    if (decoder_ && !teller_->stop()) decoder_->Finish(partial_);
    if (!partial_.empty() && !teller_->stop()) teller_->Say(std::exchange(partial_, {}));
    teller_->Finish(std::move(finish), answer);
    if (has_tokens_)
      answer.answered.generated.tokens.assign(
          history_.begin() + static_cast<ptrdiff_t>(leading().prompt.tokens.size()),
          history_.end());
    answer.spans = shares_.TakeParts();
    answer.candidates = {
        {.authors = AuthorsOf(shares_.bytes_by()), .text = answer.answered.generated.text}};
    for (const auto& voice : voices_) voice->Forget();
    on_answer_(std::move(answer));
  }
  Part PartOf(size_t i) const {
    const RowVoice& voice = *voices_[i];
    return {.member = members_[i].name,
            .weight = members_[i].weight,
            .has_answered = voice.is_present(),
            .absence = voice.absence(),
            .counts = voice.counts(),
            .times = voice.times(),
            .computed_tokens = voice.computed_tokens(),
            .left_out = symbols_[i] == nullptr ? 0 : symbols_[i]->left_out()};
  }

  // a logarithm
  static constexpr double kLeastLogShare = -600;

  const bool has_tokens_;  // symbols are tokens; false: bytes
  std::optional<std::string> dictated_;
  std::vector<size_t> symbols_to_say_;             // of the dictated text
  std::vector<std::unique_ptr<Symbols>> symbols_;  // of every member; null if it cannot be asked
  std::vector<double> log_share_;                  // likewise: how well it has predicted the text
  std::optional<SpanTeller> teller_;               // nullopt: no member can take the question
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

std::shared_ptr<Asked> MakeMixing(const AskedContext& context, const Question& question,
                                  uint64_t conversation) {
  return std::make_shared<Mixing>(context, question, conversation);
}

}  // namespace aster::ensemble
