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

wire::Holds Stage::HoldsOf(wire::SequenceId sequence) const {
  return memory_.HoldsOf(sequence, index_, layers());
}

wire::Holds Stage::Refusal(const wire::WorkSegment& segment, Error why) const {
  return memory_.HoldsOf(segment.sequence, index_, layers(), segment.attempt, std::move(why));
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
  const size_t width = memory_.model().shape().hidden_width();
  const size_t expected = part_.embedding ? 0 : EncodedBytes(encoding_, tokens, width);
  if (work.encoding != encoding_ || work.rows.size() != expected) {
    return InvalidArgument(fmt::format(
        "a frame of {} tokens carries {} bytes of rows as {}; {} bytes as {} were agreed on",
        tokens, work.rows.size(), RowEncodingName(work.encoding), expected,
        RowEncodingName(encoding_)));
  }
  return Ok();
}

// The sequence, brought to where the segment begins and with room for it.
Result<StageMemory::Sequence*> Stage::Prepare(const wire::WorkSegment& segment, bool continues) {
  StageMemory::Sequence* const sequence = memory_.Find(segment.sequence);
  if (sequence == nullptr) return OutOfStep("the sequence was never begun here, or is over");
  uint64_t& newest = sequence->newest_attempt[index_];
  if (continues ? segment.attempt != newest : segment.attempt <= newest) {
    return OutOfStep("the work is older than what came");
  }
  newest = segment.attempt;
  const auto vocab_size = static_cast<int64_t>(memory_.model().shape().vocab_size);
  for (const int32_t token : segment.tokens) {
    if (token < 0 || token >= vocab_size) {
      return InvalidArgument(fmt::format("token {} of a vocabulary of {}", token, vocab_size));
    }
  }
  kv::PageTable& table = sequence->table;
  const uint32_t length = table.length(layers());
  if (segment.begin > length) {
    return OutOfStep(
        fmt::format("work from position {}, and {} are remembered", segment.begin, length));
  }
  if (table.history().HashAt(segment.begin) != segment.before) {
    return OutOfStep(fmt::format("the {} tokens before are others here", segment.begin));
  }
  if (kv::ExtendPrefixHash(segment.before, segment.tokens) != segment.after) {
    return OutOfStep("the tokens are not the ones that the hash behind them names");
  }
  if (segment.begin < length && table.Truncate(layers(), segment.begin) < segment.begin) {
    return OutOfStep(
        fmt::format("what position {} needs has slid out of the window", segment.begin));
  }
  if (segment.begin + segment.tokens.size() > kernels::kRopePositions) {
    return OutOfRange(fmt::format("positions below {} can be computed", kernels::kRopePositions));
  }
  TRY(table.Reserve(layers(), static_cast<uint32_t>(segment.tokens.size())));
  return sequence;
}

wire::WorkSegment Stage::Continuation(wire::SequenceId sequence, uint64_t attempt,
                                      int32_t token) const {
  wire::WorkSegment segment;
  segment.sequence = sequence;
  segment.attempt = attempt;
  segment.tokens = {token};
  segment.ask = wire::Ask::kToken;
  if (const StageMemory::Sequence* const state = memory_.Find(sequence)) {
    segment.begin = state->table.length(layers());
    segment.before = state->table.history().HashAt(segment.begin);
    segment.after = kv::ExtendPrefixHash(segment.before, segment.tokens);
  }
  return segment;
}

Result<StageOutput> Stage::Compute(wire::Work work, bool continues) {
  TRY(CheckFrame(work));
  const size_t width = memory_.model().shape().hidden_width();
  if (!part_.embedding) {
    size_t tokens = 0;
    for (const wire::WorkSegment& segment : work.segments) tokens += segment.tokens.size();
    rows_.resize(tokens * width);
    DecodeRows(encoding_, work.rows, tokens, width, rows_.data());
  }
  StageOutput output;
  if (part_.head) {
    output.done.emplace().route = route_;
  } else {
    output.next.emplace();
    output.next->route = route_;
    output.next->encoding = encoding_;
  }
  std::vector<Share> shares;
  size_t first_row = 0;
  for (wire::WorkSegment& segment : work.segments) {
    const float* const own = part_.embedding ? nullptr : rows_.data() + first_row * width;
    first_row += segment.tokens.size();
    Result<StageMemory::Sequence*> state = Prepare(segment, continues);
    if (!state.ok()) {
      output.refused.push_back(Refusal(segment, std::move(state).error()));
      continue;
    }
    shares.push_back({.segment = std::move(segment), .state = *state, .hidden = own});
  }
  if (!Run(shares, 0, shares.size(), output).ok()) {
    // Whoever it was that cannot be computed shall fail alone.
    for (size_t i = 0; i < shares.size(); ++i) {
      Status ran = Run(shares, i, i + 1, output);
      if (ran.ok()) continue;
      output.refused.push_back(Refusal(shares[i].segment, std::move(ran).error()));
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
         .wanted = part_.head ? WantedOf(shares[i].segment.ask) : model::Wanted::kNone});
  }
  const model::Output computed = TRY(memory_.model().Run(segments, part_));
  for (size_t i = begin; i < end; ++i) output.tokens += shares[i].segment.tokens.size();
  if (output.next) {
    EncodeRows(encoding_, computed.hidden, memory_.model().shape().hidden_width(),
               output.next->rows);
    for (size_t i = begin; i < end; ++i) {
      output.next->segments.push_back(std::move(shares[i].segment));
    }
    return Ok();
  }
  const size_t vocab_size = memory_.model().shape().vocab_size;
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
  StageMemory::Sequence& state = *share.state;
  if (!state.sampler) {
    state.sampler.emplace(state.sampling, memory_.model().shape().vocab_size,
                          memory_.model().isa());
  }
  Result<engine::Choice> chosen = state.sampler->Choose(
      logits, state.table.history().tokens().first(state.table.length(layers())));
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
