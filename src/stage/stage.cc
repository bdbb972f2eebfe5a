// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "kernels/rope.h"
#include "kv/prefix_hash.h"
#include "stage/row_encoding.h"

namespace aster::stage {
namespace {

constexpr const char* kOtherToken = "another token was chosen than the draft token";

Error OutOfStep(std::string message) { return {Code::kAborted, std::move(message)}; }

model::Wanted WantedOf(wire::Wanted wanted) {
  switch (wanted) {
    case wire::Wanted::kNothing:
      return model::Wanted::kNone;
    case wire::Wanted::kToken:
    case wire::Wanted::kLastLogits:
      return model::Wanted::kLast;
    case wire::Wanted::kAllLogits:
      return model::Wanted::kAll;
    case wire::Wanted::kLastState:
    case wire::Wanted::kAllStates:
      return model::Wanted::kNone;
  }
  return model::Wanted::kNone;
}

model::Wanted StatesOf(const wire::WorkSegment& segment) {
  if (segment.wanted == wire::Wanted::kLastState) return model::Wanted::kLast;
  return segment.wanted == wire::Wanted::kAllStates ? model::Wanted::kAll : model::Wanted::kNone;
}

model::Wanted WantedOf(const wire::WorkSegment& segment) {
  return segment.draft_count > 0 ? model::Wanted::kAll : WantedOf(segment.wanted);
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
    // One token, which may itself be a draft token, then the draft tokens.
    const bool has_head =
        segment.is_ahead() || segment.tokens.size() == size_t{1} + segment.draft_count;
    const bool is_chosen =
        segment.wanted == wire::Wanted::kToken || segment.wanted == wire::Wanted::kLastLogits;
    if (segment.draft_count > 0 &&
        (!has_head || !is_chosen || segment.draft_count > engine::kMostDrafts)) {
      return InvalidArgument(fmt::format("a segment of {} tokens, of which {} are drafts",
                                         segment.tokens.size(), segment.draft_count));
    }
  }
  if (work.segments.empty() || tokens > kMaxWorkTokens) {
    return InvalidArgument(
        fmt::format("a frame of work with {} tokens; 1 to {} are allowed", tokens, kMaxWorkTokens));
  }
  // Hidden states for each token, in the route's encoding; none if this slice has the embedding.
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

// Prepares the sequence for the segment: checks that the segment continues the KV rows held here,
// drops rows behind its begin, and reserves pages. If it is refused, the conductor sends the
// missing tokens or begins the sequence again.
Result<StageMemory::Sequence*> Stage::Prepare(const wire::WorkSegment& segment, bool continues) {
  StageMemory::Sequence* const sequence = memory_.Find(segment.sequence);
  if (sequence == nullptr) return OutOfStep("the sequence was never begun here, or is over");
  // Work of an attempt that the conductor gave up may still arrive.
  uint64_t& newest = sequence->newest_attempt[index_];
  if (!follows() && (continues ? segment.attempt != newest : segment.attempt <= newest)) {
    return OutOfStep("work of an earlier attempt");
  }
  newest = segment.attempt;
  const auto vocab_size = static_cast<int64_t>(memory_.model().shape().vocab_size);
  for (const int32_t token : segment.tokens) {
    if (token < 0 || token >= vocab_size) {
      return InvalidArgument(fmt::format("token {} of a vocabulary of {}", token, vocab_size));
    }
  }
  // The conductor and this node have the same history: the hash before the segment must be that of
  // the rows here, and the hash after it must follow from its tokens.
  kv::PageTable& table = sequence->table;
  const uint32_t length = table.length(layers());
  if (segment.begin > length) {
    return OutOfStep(
        fmt::format("work from position {}, and the KV cache ends at {}", segment.begin, length));
  }
  if (table.history().HashAt(segment.begin) != segment.before) {
    return OutOfStep(fmt::format("the {} tokens before differ from those here", segment.begin));
  }
  if (kv::ExtendPrefixHash(segment.before, segment.tokens) != segment.after) {
    return OutOfStep("the tokens do not have the hash behind them");
  }
  // Drops rows of rejected draft tokens, or of an attempt that was given up.
  if (segment.begin < length && table.Truncate(layers(), segment.begin) < segment.begin) {
    return OutOfStep(
        fmt::format("rows that position {} needs have slid out of the window", segment.begin));
  }
  if (segment.begin + segment.tokens.size() > kernels::kRopePositions) {
    return OutOfRange(fmt::format("positions below {} can be computed", kernels::kRopePositions));
  }
  // No sequence is preempted for this stage's own draft tokens: TakeSegments gives them memory that
  // is left. Draft tokens that were sent here must be computed: the next stages expect their rows.
  const auto count = static_cast<uint32_t>(segment.tokens.size());
  TRY(table.Reserve(layers(), continues ? count - segment.draft_count : count));
  return sequence;
}

wire::WorkSegment Stage::Continuation(wire::SequenceId sequence, uint64_t attempt, int32_t token,
                                      uint32_t most) const {
  wire::WorkSegment segment;
  segment.sequence = sequence;
  segment.attempt = attempt;
  segment.tokens = {token};
  segment.wanted = wire::Wanted::kToken;
  const StageMemory::Sequence* const state = memory_.Find(sequence);
  if (state == nullptr) return segment;
  segment.begin = state->table.length(layers());
  segment.before = state->table.history().HashAt(segment.begin);
  // At most `slack` draft tokens: a table with a sliding window can drop that many rows again.
  if (state->speculation != nullptr) {
    const auto before = state->table.history().tokens().first(segment.begin);
    std::vector<int32_t> text(before.begin(), before.end());
    text.push_back(token);
    const uint32_t room =
        std::min({most, state->table.layout().slack(),
                  static_cast<uint32_t>(kernels::kRopePositions) - 1 - segment.begin});
    const auto drafts = state->speculation->Propose(text, room);
    segment.tokens.insert(segment.tokens.end(), drafts.begin(), drafts.end());
    segment.draft_count = static_cast<uint32_t>(drafts.size());
  }
  segment.after = kv::ExtendPrefixHash(segment.before, segment.tokens);
  return segment;
}

Result<StageOutput> Stage::Compute(wire::Work work, bool continues) {
  auto frame = TRY(Begin(std::move(work), continues));
  while (Advance(*frame) == model::Progress::kWaiting) Wait(*frame);
  return TakeOutput(std::move(frame));
}

bool Stage::IsComputing(const Frame& frame) { return frame.job_ && frame.job_->is_computing(); }

// The next Advance returns the error, if there is one.
void Stage::Wait(Frame& frame) {
  if (frame.job_) static_cast<void>(frame.job_->Wait());
}

Result<std::unique_ptr<Stage::Frame>> Stage::Begin(wire::Work work, bool continues) {
  TRY(CheckFrame(work));
  auto frame = std::make_unique<Frame>();
  frame->continues_ = continues;
  frame->job_number_ = work.job;
  // The stage with the head has results for the conductor, any other one work for the next stage.
  if (follows()) {
    // The leader of the group has the results.
  } else if (part_.head) {
    frame->output_.done.emplace().route = route_;
  } else {
    frame->output_.next.emplace();
    frame->output_.next->route = route_;
    frame->output_.next->encoding = encoding_;
  }
  // All segments are computed in one job at first.
  TakeSegments(*frame, std::move(work));
  frame->end_ = frame->items_.size();
  // All nodes of a group must compute the same segments, so one refused segment fails the job.
  if (follows() && !frame->output_.refused.empty()) {
    FailJob(*frame, frame->output_.refused.front().why);
  }
  return frame;
}

// False for a segment that was sent ahead, behind draft tokens, if this stage has since chosen
// another token at its position.
bool Stage::IsStillValid(const wire::WorkSegment& segment,
                         const StageMemory::Sequence& state) const {
  const bool is_known = part_.head && segment.wanted == wire::Wanted::kToken && !follows();
  if (!segment.is_ahead() || !is_known) return true;
  return state.chosen && state.chosen->position == segment.begin &&
         state.chosen->token == segment.tokens.front();
}

// Decodes the hidden states, prepares the sequences, and refuses the segments that cannot be
// computed.
void Stage::TakeSegments(Frame& frame, wire::Work work) {
  const size_t width = memory_.model().shape().hidden_width();
  if (!part_.embedding) {
    size_t tokens = 0;
    for (const wire::WorkSegment& segment : work.segments) tokens += segment.tokens.size();
    if (!free_rows_.empty()) {
      frame.rows_ = std::move(free_rows_.back());
      free_rows_.pop_back();
    }
    frame.rows_.resize(tokens * width);
    DecodeRows(encoding_, work.rows, tokens, width, frame.rows_.data());
  }
  std::vector<BatchItem>& items = frame.items_;
  size_t first_row = 0;
  for (wire::WorkSegment& segment : work.segments) {
    const float* const own = part_.embedding ? nullptr : frame.rows_.data() + first_row * width;
    first_row += segment.tokens.size();
    Result<StageMemory::Sequence*> state = Prepare(segment, frame.continues_);
    if (!state.ok()) {
      frame.output_.refused.push_back(Refusal(segment, std::move(state).error()));
      continue;
    }
    if (!IsStillValid(segment, **state)) {
      frame.output_.refused.push_back(Refusal(segment, Error(Code::kCancelled, kOtherToken)));
      continue;
    }
    items.push_back({.segment = std::move(segment), .state = *state, .hidden = own});
  }
  // Draft tokens get memory only after every sequence has room for its own token.
  for (BatchItem& item : items) {
    const auto count = static_cast<uint32_t>(item.segment.tokens.size());
    if (!frame.continues_ || item.segment.draft_count == 0) continue;
    if (!item.state->table.Reserve(layers(), count).ok()) item.DropDrafts();
  }
}

model::Progress Stage::Advance(Frame& frame) {
  while (frame.begin_ < frame.items_.size()) {
    // A job may wait for a device or for another node: the caller calls Advance again.
    Result<model::Progress> progress = AdvanceJob(frame);
    if (progress.ok() && *progress == model::Progress::kWaiting) return *progress;
    if (!progress.ok() && group_ != nullptr) {
      FailJob(frame, progress.error());
      if (frame.begin_ == frame.items_.size()) break;
    }
    // It is not known which segment failed: now each gets a job of its own.
    if (!progress.ok() && frame.is_together_) {
      ComputeEachAlone(frame);
      continue;
    }
    if (progress.ok()) {
      FinishJob(frame, frame.job_->output());
    } else {
      frame.output_.refused.push_back(
          Refusal(frame.items_[frame.begin_].segment, std::move(progress).error()));
    }
    frame.job_.reset();
    frame.exchange_.reset();
    frame.begin_ = frame.end_;
    frame.end_ = frame.begin_ + 1;
  }
  return model::Progress::kDone;
}

Result<model::Progress> Stage::AdvanceJob(Frame& frame) {
  if (!frame.job_) TRY(BeginJob(frame));
  const Group::Sent before = group_ == nullptr ? Group::Sent() : group_->sent();
  Result<model::Progress> progress = frame.job_->Advance();
  if (group_ != nullptr) frame.output_.gathered += group_->sent() - before;
  return progress;
}

// Makes all nodes of the group give the job up. The frame ends on a node that follows, and on the
// leader if the group is broken; otherwise the leader tries each segment alone.
void Stage::FailJob(Frame& frame, const Error& why) {
  group_->Fail(frame.job_number_, why);
  frame.job_.reset();
  frame.exchange_.reset();
  if (!follows() && !group_->broken()) return;
  frame.output_.refused.clear();
  frame.begin_ = frame.end_ = frame.items_.size();
}

// The job as work for the other nodes of the group.
wire::Work Stage::WorkOfJob(const Frame& frame) const {
  wire::Work work;
  work.route = route_;
  work.first_stage = index_;
  work.job = frame.job_number_;
  const size_t width = memory_.model().shape().hidden_width();
  for (size_t i = frame.begin_; i < frame.end_; ++i) {
    const BatchItem& item = frame.items_[i];
    wire::WorkSegment& segment = work.segments.emplace_back(item.segment);
    // They compute all rows of the segment, whatever the conductor wants of it.
    if (segment.draft_count > 0) segment.wanted = wire::Wanted::kToken;
    if (segment.is_ahead()) --segment.draft_count;
    segment.more = 0;  // they get every step as work of its own
    if (item.hidden == nullptr) continue;
    EncodeRows(wire::RowEncoding::kF32, {item.hidden, item.segment.tokens.size() * width}, width,
               work.rows);
  }
  return work;
}

// Rows behind the tapped layers, for the drafter; none if this part lacks one of these layers.
model::Wanted Stage::TappedOf(const Frame& frame, const BatchItem& item) const {
  const std::vector<uint32_t>& taps = memory_.model().taps();
  const bool has_taps = !taps.empty() && taps.front() >= part_.layer_begin;
  return has_taps ? engine::TappedWanted(DrafterOf(frame, item)) : model::Wanted::kNone;
}

// Null for a segment that is computed alone because the common job failed.
const engine::Speculation* Stage::DrafterOf(const Frame& frame, const BatchItem& item) {
  return frame.is_together_ ? item.state->speculation.get() : nullptr;
}

Status Stage::BeginJob(Frame& frame) {
  std::vector<model::Segment> segments;
  for (size_t i = frame.begin_; i < frame.end_; ++i) {
    const BatchItem& item = frame.items_[i];
    segments.push_back({.table = &item.state->table,
                        .tokens = item.segment.tokens,
                        .hidden = item.hidden,
                        .wanted = part_.head ? WantedOf(item.segment) : model::Wanted::kNone,
                        .draft_count = item.segment.draft_count,
                        .states = part_.head ? StatesOf(item.segment) : model::Wanted::kNone,
                        .hidden_wanted = engine::HiddenWanted(DrafterOf(frame, item)),
                        .tapped_wanted = TappedOf(frame, item)});
  }
  if (group_ != nullptr) {
    if (group_->is_leader()) frame.job_number_ = group_->NewJob();
    frame.exchange_ = group_->Join(frame.job_number_);
  }
  frame.job_ = TRY(memory_.model().Begin(segments, part_, frame.exchange_.get()));
  // The other nodes begin the job only once this one can compute it.
  return group_ != nullptr && group_->is_leader() ? group_->SendWork(WorkOfJob(frame)) : Ok();
}

// After the common job failed, so that only segments that cannot be computed fail. Own draft tokens
// are dropped, as they may be the reason.
void Stage::ComputeEachAlone(Frame& frame) {
  frame.job_.reset();
  frame.exchange_.reset();
  frame.is_together_ = false;
  frame.end_ = frame.begin_ + 1;
  if (!frame.continues_) return;
  for (BatchItem& item : frame.items_) item.DropDrafts();
}

void Stage::BatchItem::DropDrafts() {
  segment.tokens.resize(segment.tokens.size() - segment.draft_count);
  segment.draft_count = 0;
  segment.after = kv::ExtendPrefixHash(segment.before, segment.tokens);
}

StageOutput Stage::TakeOutput(std::unique_ptr<Frame> frame) {
  if (!frame->rows_.empty()) free_rows_.push_back(std::move(frame->rows_));
  // If every segment was refused, nothing is sent on.
  StageOutput output = std::move(frame->output_);
  if (output.done && output.done->results.empty()) output.done.reset();
  if (output.next && output.next->segments.empty()) output.next.reset();
  return output;
}

void Stage::FinishJob(Frame& frame, const model::Output& computed) {
  for (size_t i = frame.begin_; i < frame.end_; ++i) {
    frame.output_.tokens += frame.items_[i].segment.tokens.size();
  }
  if (follows()) return;
  if (part_.head) {
    AnswerAll(frame, computed);
  } else {
    SendToNextStage(frame, computed);
  }
}

// Adds the computed rows to the work for the next stage.
void Stage::SendToNextStage(Frame& frame, const model::Output& computed) {
  wire::Work& next = *frame.output_.next;
  EncodeRows(encoding_, computed.hidden, memory_.model().shape().hidden_width(), next.rows);
  for (size_t i = frame.begin_; i < frame.end_; ++i) {
    next.segments.push_back(std::move(frame.items_[i].segment));
  }
}

void Stage::AnswerAll(Frame& frame, const model::Output& computed) {
  StageOutput& output = frame.output_;
  const size_t vocab_size = memory_.model().shape().vocab_size;
  const size_t width = memory_.model().shape().hidden_width();
  const size_t embedding = memory_.model().shape().embedding;
  const size_t tapped_width = memory_.model().taps().size() * embedding;
  size_t row = 0, state_row = 0, hidden_row = 0, tapped_row = 0;
  for (size_t i = frame.begin_; i < frame.end_; ++i) {
    const BatchItem& item = frame.items_[i];
    const size_t tokens = item.segment.tokens.size();
    const size_t rows = model::CountOf(WantedOf(item.segment), tokens);
    const auto logits = computed.logits.subspan(row * vocab_size, rows * vocab_size);
    const size_t states = model::CountOf(StatesOf(item.segment), tokens);
    // Makes the results of the segment. `kept`: how many of its rows stay.
    auto kept = static_cast<uint32_t>(tokens);
    const bool is_token = item.segment.wanted == wire::Wanted::kToken;
    if (item.segment.draft_count > 0 && is_token) {
      kept = AcceptDrafts(item, logits, output);
    } else if (item.segment.draft_count > 0) {
      kept = AnswerLogits(item, logits, output);
    } else {
      const auto told = computed.states.subspan(state_row * embedding, states * embedding);
      Answer(item, states > 0 ? told : logits, *output.done);
      // Speculation measures how long a step without draft tokens takes.
      const bool is_chosen = is_token || item.segment.wanted == wire::Wanted::kLastLogits;
      const bool is_decode = kept == 1 && is_chosen;
      if (is_decode && item.state->speculation != nullptr) item.state->speculation->Learn(0, 0);
    }
    // The drafter follows the rows that stay, and proposes the next tokens.
    const engine::Speculation* const drafter = DrafterOf(frame, item);
    const size_t hidden_count = model::CountOf(engine::HiddenWanted(drafter), tokens);
    const size_t tapped_count = model::CountOf(TappedOf(frame, item), tokens);
    if (item.state->speculation != nullptr) {
      if (hidden_count > 0 || tapped_count > 0) {
        item.state->speculation->Follow(
            item.state->table.history().tokens().first(item.segment.begin + kept),
            item.segment.begin,
            hidden_count > 0
                ? computed.hidden.subspan(hidden_row * width, kept * width)
                : computed.tapped.subspan(tapped_row * tapped_width, kept * tapped_width));
      }
      const size_t count = frame.end_ - frame.begin_;
      OfferDrafts(item, logits, kept, engine::DraftShare(count, i - frame.begin_), output);
    }
    row += rows;
    state_row += states;
    hidden_row += hidden_count;
    tapped_row += tapped_count;
  }
}

// Chooses the token after the segment's first one, and after each accepted draft token. Each has a
// result of its own, as without draft tokens. Returns how many rows are kept.
uint32_t Stage::AcceptDrafts(const BatchItem& item, std::span<const float> logits,
                             StageOutput& output) {
  const wire::WorkSegment& segment = item.segment;
  const size_t vocab_size = memory_.model().shape().vocab_size;
  const auto behind_first = static_cast<uint32_t>(segment.tokens.size() - 1);
  uint32_t row = 0;
  for (;; ++row) {
    wire::SegmentResult answer;
    answer.sequence = segment.sequence;
    answer.attempt = segment.attempt;
    answer.end = segment.begin + 1 + row;
    answer.is_accepted = row > 0;
    if (row == 0) answer.drafted = segment.draft_count;
    // Continues while the chosen token is the draft token of the next row.
    Choose(item, answer.end, logits.subspan(row * vocab_size, vocab_size), answer);
    const bool is_last = answer.has_failed || row == behind_first ||
                         answer.token != segment.tokens[1 + row] ||
                         memory_.StopsAt(segment.sequence, answer.token);
    // The first result goes into the frame's message, that of an accepted token into its own one.
    if (row > output.accepted.size()) output.accepted.emplace_back().route = route_;
    (row == 0 ? *output.done : output.accepted[row - 1]).results.push_back(std::move(answer));
    if (is_last) break;
  }
  // Drops the rows of rejected draft tokens.
  item.state->table.Truncate(layers(), segment.begin + 1 + row);
  if (item.state->speculation != nullptr) {
    item.state->speculation->Learn(segment.draft_count, row + (segment.is_ahead() ? 1 : 0));
  }
  return row + 1;
}

// For a conductor that chooses the tokens itself: the logits of all rows. Returns how many rows are
// kept if the conductor chooses as this stage would.
uint32_t Stage::AnswerLogits(const BatchItem& item, std::span<const float> logits,
                             StageOutput& output) {
  const wire::WorkSegment& segment = item.segment;
  wire::SegmentResult answer;
  answer.sequence = segment.sequence;
  answer.attempt = segment.attempt;
  answer.end = segment.begin + 1;
  answer.drafted = segment.draft_count;
  EncodeRows(wire::RowEncoding::kF32, logits, logits.size(), output.done->logits);
  output.done->results.push_back(std::move(answer));
  if (item.state->speculation == nullptr) return static_cast<uint32_t>(segment.tokens.size());
  const size_t vocab_size = memory_.model().shape().vocab_size;
  uint32_t row = 0;
  for (; row + 1 < segment.tokens.size(); ++row) {
    wire::SegmentResult expected;
    Choose(item, segment.begin + 1 + row, logits.subspan(row * vocab_size, vocab_size), expected);
    if (expected.has_failed || expected.token != segment.tokens[1 + row]) break;
  }
  item.state->speculation->Learn(segment.draft_count, row + (segment.is_ahead() ? 1 : 0));
  return row + 1;
}

void Stage::Answer(const BatchItem& item, std::span<const float> rows, wire::Done& done) {
  const wire::WorkSegment& segment = item.segment;
  wire::SegmentResult answer;
  answer.sequence = segment.sequence;
  answer.attempt = segment.attempt;
  answer.end = segment.begin + static_cast<uint32_t>(segment.tokens.size());
  if (segment.wanted == wire::Wanted::kToken) {
    Choose(item, item.state->table.length(layers()), rows, answer);
  } else if (!rows.empty()) {
    EncodeRows(wire::RowEncoding::kF32, rows, rows.size(), done.logits);
  }
  done.results.push_back(std::move(answer));
}

// Adds up to `most` draft tokens to the last result, for a conductor that sends a segment for each
// token: it sends them with the next one.
void Stage::OfferDrafts(const BatchItem& item, std::span<const float> logits, uint32_t kept,
                        uint32_t most, StageOutput& output) {
  const wire::WorkSegment& segment = item.segment;
  if (part_.embedding && segment.wanted == wire::Wanted::kToken) return;
  if (segment.wanted == wire::Wanted::kLastLogits) {
    const size_t vocab_size = memory_.model().shape().vocab_size;
    const size_t row = segment.draft_count > 0 ? kept - 1 : 0;
    return OfferDraftsFromLogits(item, logits.subspan(row * vocab_size, vocab_size), kept, most,
                                 output.done->results.back());
  }
  if (segment.wanted != wire::Wanted::kToken) return;
  const bool is_accepted = segment.draft_count > 0 && kept > 1;
  wire::SegmentResult& answer =
      (is_accepted ? output.accepted[kept - 2] : *output.done).results.back();
  if (answer.has_failed || memory_.StopsAt(segment.sequence, answer.token)) return;
  answer.drafts = Propose(item, answer.end, answer.token, most);
}

// The same for a conductor that chooses the tokens itself. The draft tokens are of use if it
// chooses as this stage would.
void Stage::OfferDraftsFromLogits(const BatchItem& item, std::span<const float> last_row,
                                  uint32_t kept, uint32_t most, wire::SegmentResult& answer) {
  const wire::WorkSegment& segment = item.segment;
  const uint32_t length = segment.begin + kept;
  wire::SegmentResult expected;
  Choose(item, length, last_row, expected);
  if (expected.has_failed || memory_.StopsAt(segment.sequence, expected.token)) return;
  // The expected tokens from the first row on: accepted draft tokens, the token after the last row,
  // and new draft tokens.
  if (segment.draft_count > 0) {
    answer.drafts.assign(segment.tokens.begin() + 1, segment.tokens.begin() + kept);
  }
  answer.drafts.push_back(expected.token);
  const auto drafts = Propose(item, length, expected.token, most);
  answer.drafts.insert(answer.drafts.end(), drafts.begin(), drafts.end());
}

// Draft tokens after the first `length` tokens of the history and `token`.
std::vector<int32_t> Stage::Propose(const BatchItem& item, uint32_t length, int32_t token,
                                    uint32_t most) {
  const auto before = item.state->table.history().tokens().first(length);
  std::vector<int32_t> text(before.begin(), before.end());
  text.push_back(token);
  const auto drafts =
      item.state->speculation->Propose(text, std::min(item.state->table.layout().slack(), most));
  return {drafts.begin(), drafts.end()};
}

// Chooses the token at position `length`.
void Stage::Choose(const BatchItem& item, uint32_t length, std::span<const float> logits,
                   wire::SegmentResult& answer) {
  StageMemory::Sequence& state = *item.state;
  // The sampler is made with the first token of an epoch. Its randomness depends on seed and
  // position only, so a new one continues an answer.
  if (!state.sampler) {
    state.sampler.emplace(state.sampling, memory_.model().shape().vocab_size,
                          memory_.model().isa());
  }
  Result<engine::Choice> chosen =
      state.sampler->Choose(logits, state.table.history().tokens().first(length));
  if (!chosen.ok()) {
    answer.has_failed = true;
    answer.why = std::move(chosen).error();
    return;
  }
  state.chosen = {.position = length, .token = chosen->id};
  answer.token = chosen->id;
  answer.logprob = chosen->logprob;
  for (const engine::TokenLogprob& top : chosen->top) answer.top.push_back({top.id, top.logprob});
}

}  // namespace aster::stage
