// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "route/stage.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "kernels/rope.h"
#include "kv/prefix_hash.h"
#include "route/row_encoding.h"

namespace aster::route {
namespace {

Error OutOfStep(std::string message) { return {Code::kAborted, std::move(message)}; }

model::Wanted WantedOf(wire::Ask ask) {
  switch (ask) {
    case wire::Ask::kNothing:
      return model::Wanted::kNone;
    case wire::Ask::kToken:
    case wire::Ask::kLastLogits:
      return model::Wanted::kLast;
    case wire::Ask::kAllLogits:
      return model::Wanted::kAll;
  }
  return model::Wanted::kNone;
}

size_t RowsAsked(const wire::WorkSegment& segment) {
  const model::Wanted wanted = WantedOf(segment.ask);
  return wanted == model::Wanted::kAll ? segment.tokens.size()
                                       : (wanted == model::Wanted::kLast ? 1 : 0);
}

}  // namespace

Result<engine::SamplingOptions> SamplingFromWire(const wire::Sampling& sampling,
                                                 uint32_t vocab_size) {
  engine::SamplingOptions options{.penalty_window = sampling.penalty_window,
                                  .repetition_penalty = sampling.repetition_penalty,
                                  .frequency_penalty = sampling.frequency_penalty,
                                  .presence_penalty = sampling.presence_penalty,
                                  .top_k = sampling.top_k,
                                  .typical_p = sampling.typical_p,
                                  .top_p = sampling.top_p,
                                  .min_p = sampling.min_p,
                                  .temperature = sampling.temperature,
                                  .seed = sampling.seed,
                                  .logprobs = sampling.logprobs,
                                  .top_logprobs = sampling.top_logprobs};
  for (const wire::TokenBias& bias : sampling.biases)
    options.biases.push_back({bias.id, bias.bias});
  TRY(engine::CheckSampling(options, vocab_size));
  return options;
}

wire::Sampling SamplingToWire(const engine::SamplingOptions& options) {
  wire::Sampling sampling{.penalty_window = options.penalty_window,
                          .repetition_penalty = options.repetition_penalty,
                          .frequency_penalty = options.frequency_penalty,
                          .presence_penalty = options.presence_penalty,
                          .biases = {},
                          .top_k = options.top_k,
                          .typical_p = options.typical_p,
                          .top_p = options.top_p,
                          .min_p = options.min_p,
                          .temperature = options.temperature,
                          .seed = options.seed,
                          .logprobs = options.logprobs,
                          .top_logprobs = options.top_logprobs};
  for (const engine::TokenBias& bias : options.biases) {
    sampling.biases.push_back({bias.id, bias.bias});
  }
  return sampling;
}

wire::Holds Stage::HoldsOf(wire::SequenceId sequence, uint64_t attempt, Error why) const {
  wire::Holds holds;
  holds.route = route_;
  holds.sequence = sequence;
  holds.attempt = attempt;
  holds.why = std::move(why);
  const auto found = sequences_.find(sequence);
  if (found == sequences_.end()) {
    holds.hash = model_.layout().digest();
    return holds;
  }
  holds.length = found->second.table.length();
  holds.hash = found->second.table.hash();
  return holds;
}

wire::Holds Stage::Begin(const wire::Begin& begin) {
  const auto refuse = [&](Error why) { return HoldsOf(begin.sequence, 0, std::move(why)); };
  const uint32_t vocab_size = model_.shape().vocab_size;
  if (begin.tokens.size() >= kernels::kRopePositions) {
    return refuse(OutOfRange(fmt::format("a history of {} tokens; at most {} can be computed",
                                         begin.tokens.size(), kernels::kRopePositions)));
  }
  for (const int32_t token : begin.tokens) {
    if (token < 0 || static_cast<uint32_t>(token) >= vocab_size) {
      return refuse(
          InvalidArgument(fmt::format("token {} of a vocabulary of {}", token, vocab_size)));
    }
  }
  Result<engine::SamplingOptions> sampling = SamplingFromWire(begin.sampling, vocab_size);
  if (!sampling.ok()) return refuse(std::move(sampling).error());
  if (!sequences_.contains(begin.sequence) && sequences_.size() >= kMaxSequences) {
    return refuse(ResourceExhausted(
        fmt::format("{} sequences are remembered, and no more can be", sequences_.size())));
  }
  SequenceState& state = sequences_.try_emplace(begin.sequence, model_.NewTable()).first->second;
  state.sampling = *std::move(sampling);
  state.sampler.reset();
  kv::PageTable& table = state.table;
  const uint32_t equal = table.history().CountEqual(0, begin.tokens);
  if (equal < table.history().length()) table.Truncate(equal);
  if (begin.tokens.size() > 1) {
    table.Adopt(std::span(begin.tokens).first(begin.tokens.size() - 1));
  }
  return HoldsOf(begin.sequence, 0, Error(Code::kUnknown, ""));
}

Status Stage::CheckFrame(const wire::Work& work) const {
  size_t tokens = 0;
  std::set<wire::SequenceId> sequences;
  for (const wire::WorkSegment& segment : work.segments) {
    tokens += segment.tokens.size();
    if (segment.tokens.empty() || !sequences.insert(segment.sequence).second) {
      return InvalidArgument("a frame of work with an empty segment, or a sequence twice");
    }
  }
  if (work.segments.empty() || tokens > kMaxWorkTokens) {
    return InvalidArgument(
        fmt::format("a frame of work with {} tokens; 1 to {} are allowed", tokens, kMaxWorkTokens));
  }
  const size_t width = model_.shape().embedding;
  const size_t expected = model_.slice().embedding ? 0 : EncodedBytes(encoding_, tokens, width);
  if (work.encoding != encoding_ || work.rows.size() != expected) {
    return InvalidArgument(fmt::format(
        "a frame of {} tokens carries {} bytes of rows as {}; {} bytes as {} were agreed on",
        tokens, work.rows.size(), RowEncodingName(work.encoding), expected,
        RowEncodingName(encoding_)));
  }
  return Ok();
}

// The sequence, brought to where the segment begins and with room for it.
Result<Stage::SequenceState*> Stage::Prepare(const wire::WorkSegment& segment) {
  const auto found = sequences_.find(segment.sequence);
  if (found == sequences_.end()) return OutOfStep("the sequence was never begun here, or is over");
  SequenceState& state = found->second;
  if (segment.attempt <= state.newest_attempt) return OutOfStep("the work is older than what came");
  state.newest_attempt = segment.attempt;
  const auto vocab_size = static_cast<int64_t>(model_.shape().vocab_size);
  for (const int32_t token : segment.tokens) {
    if (token < 0 || token >= vocab_size) {
      return InvalidArgument(fmt::format("token {} of a vocabulary of {}", token, vocab_size));
    }
  }
  kv::PageTable& table = state.table;
  if (segment.begin > table.length()) {
    return OutOfStep(
        fmt::format("work from position {}, and {} are remembered", segment.begin, table.length()));
  }
  if (table.history().HashAt(segment.begin) != segment.before) {
    return OutOfStep(fmt::format("the {} tokens before are others here", segment.begin));
  }
  if (kv::ExtendPrefixHash(segment.before, segment.tokens) != segment.after) {
    return OutOfStep("the tokens are not the ones that the hash behind them names");
  }
  if (segment.begin < table.length() && table.Truncate(segment.begin) < segment.begin) {
    return OutOfStep(
        fmt::format("what position {} needs has slid out of the window", segment.begin));
  }
  if (segment.begin + segment.tokens.size() > kernels::kRopePositions) {
    return OutOfRange(fmt::format("positions below {} can be computed", kernels::kRopePositions));
  }
  TRY(table.Reserve(static_cast<uint32_t>(segment.tokens.size())));
  return &state;
}

Result<StageOutput> Stage::Compute(wire::Work work) {
  TRY(CheckFrame(work));
  const size_t width = model_.shape().embedding;
  if (!model_.slice().embedding) {
    size_t tokens = 0;
    for (const wire::WorkSegment& segment : work.segments) tokens += segment.tokens.size();
    rows_.resize(tokens * width);
    DecodeRows(encoding_, work.rows, tokens, width, rows_.data());
  }
  StageOutput output;
  if (model_.slice().head) {
    output.done.emplace().route = route_;
  } else {
    output.next.emplace();
    output.next->route = route_;
    output.next->encoding = encoding_;
  }
  std::vector<Share> shares;
  size_t first_row = 0;
  for (wire::WorkSegment& segment : work.segments) {
    const float* const own = model_.slice().embedding ? nullptr : rows_.data() + first_row * width;
    first_row += segment.tokens.size();
    Result<SequenceState*> state = Prepare(segment);
    if (!state.ok()) {
      output.refused.push_back(
          HoldsOf(segment.sequence, segment.attempt, std::move(state).error()));
      continue;
    }
    shares.push_back({.segment = std::move(segment), .state = *state, .hidden = own});
  }
  if (!Run(shares, 0, shares.size(), output).ok()) {
    // Whoever it was that cannot be computed shall fail alone.
    for (size_t i = 0; i < shares.size(); ++i) {
      Status ran = Run(shares, i, i + 1, output);
      if (ran.ok()) continue;
      const wire::WorkSegment& segment = shares[i].segment;
      output.refused.push_back(HoldsOf(segment.sequence, segment.attempt, std::move(ran).error()));
    }
  }
  if (output.done && output.done->answers.empty()) output.done.reset();
  if (output.next && output.next->segments.empty()) output.next.reset();
  return output;
}

// An error if nothing of them has been computed.
Status Stage::Run(std::vector<Share>& shares, size_t begin, size_t end, StageOutput& output) {
  if (begin == end) return Ok();
  std::vector<model::Segment> segments;
  for (size_t i = begin; i < end; ++i) {
    segments.push_back(
        {.table = &shares[i].state->table,
         .tokens = shares[i].segment.tokens,
         .hidden = shares[i].hidden,
         .wanted = model_.slice().head ? WantedOf(shares[i].segment.ask) : model::Wanted::kNone});
  }
  const model::Output computed = TRY(model_.Run(segments));
  for (size_t i = begin; i < end; ++i) output.tokens += shares[i].segment.tokens.size();
  if (output.next) {
    EncodeRows(encoding_, computed.hidden, model_.shape().embedding, output.next->rows);
    for (size_t i = begin; i < end; ++i) {
      output.next->segments.push_back(std::move(shares[i].segment));
    }
    return Ok();
  }
  const size_t vocab_size = model_.shape().vocab_size;
  for (size_t i = begin, row = 0; i < end; ++i) {
    const size_t rows = RowsAsked(shares[i].segment);
    Answer(shares[i], computed.logits.subspan(row * vocab_size, rows * vocab_size), *output.done);
    row += rows;
  }
  return Ok();
}

void Stage::Answer(const Share& share, std::span<const float> logits, wire::Done& done) {
  const wire::WorkSegment& segment = share.segment;
  wire::Answer answer;
  answer.sequence = segment.sequence;
  answer.attempt = segment.attempt;
  answer.end = segment.begin + static_cast<uint32_t>(segment.tokens.size());
  if (segment.ask == wire::Ask::kToken) {
    Choose(share, logits, answer);
  } else if (!logits.empty()) {
    EncodeRows(wire::RowEncoding::kF32, logits, logits.size(), done.logits);
  }
  done.answers.push_back(std::move(answer));
}

void Stage::Choose(const Share& share, std::span<const float> logits, wire::Answer& answer) {
  SequenceState& state = *share.state;
  if (!state.sampler) {
    state.sampler.emplace(state.sampling, model_.shape().vocab_size, model_.isa());
  }
  Result<engine::Choice> chosen = state.sampler->Choose(logits, state.table.history().tokens());
  if (!chosen.ok()) {
    answer.has_failed = true;
    answer.why = std::move(chosen).error();
    return;
  }
  answer.token = chosen->id;
  answer.logprob = chosen->logprob;
  for (const engine::TokenLogprob& top : chosen->top) answer.top.push_back({top.id, top.logprob});
}

}  // namespace aster::route
