// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/check_request.h"
#include "engine/running_request.h"
#include "kernels/rope.h"
#include "kv/chunk.h"
#include "kv/transfer.h"

namespace aster::engine {
namespace {

using Requests = std::vector<std::unique_ptr<RunningRequest>>;

// Inserts by age.
void Insert(std::unique_ptr<RunningRequest> request, Requests& into) {
  const auto place = std::ranges::upper_bound(into, request->id(), {},
                                              [](const auto& other) { return other->id(); });
  into.insert(place, std::move(request));
}

std::unique_ptr<RunningRequest> TakeOut(const RunningRequest& request, Requests& from) {
  const auto place =
      std::ranges::find_if(from, [&](const auto& other) { return other.get() == &request; });
  CHECK(place != from.end());
  std::unique_ptr<RunningRequest> taken = std::move(*place);
  from.erase(place);
  return taken;
}

// Memory that a sequence needs until its next token is computed, beyond what it has.
uint64_t MissingBytes(const LocalModel& model, Sequence& sequence, uint32_t chunk) {
  const uint64_t needed = model.layout().BytesFor(model.layers(), sequence.length(), chunk);
  return needed - std::min(needed, sequence.table().HeldBytes());
}

// Logits of prompts in one step: a row is half a megabyte in a large vocabulary.
constexpr uint64_t kMaxLogitsBytes = uint64_t{32} << 20;

uint32_t MaxLogitsRows(const model::Shape& shape) {
  const uint64_t row_bytes = uint64_t{shape.vocab_size} * sizeof(float);
  return static_cast<uint32_t>(std::max<uint64_t>(kMaxLogitsBytes / row_bytes, 1));
}

// The states of computed tokens that a request wants; `is_end`: up to the prompt's last token.
model::Wanted StatesWanted(const RunningRequest& request, bool is_end) {
  const PromptRows::Kind kind = request.request().rows.kind;
  if (kind == PromptRows::Kind::kStates) return model::Wanted::kAll;
  const bool is_last = kind == PromptRows::Kind::kLastState && is_end;
  return is_last ? model::Wanted::kLast : model::Wanted::kNone;
}

uint64_t PageBytes(const LocalModel& model) {
  return model.layout().BytesFor(model.layers(), 1, 1);
}

}  // namespace

uint32_t LongestThatFits(const LocalModel& model, uint32_t chunk) {
  uint32_t fits = 0;
  uint32_t too_long = kernels::kRopePositions + 1;
  while (too_long - fits > 1) {
    const uint32_t length = fits + (too_long - fits) / 2;
    // Binary search: more positions never need less memory.
    const bool is_in =
        model.layout().BytesFor(model.layers(), length, chunk) <= model.memory().budget_bytes;
    (is_in ? fits : too_long) = length;
  }
  return fits;
}

Scheduler::Scheduler(LocalModel& model, const text::Tokenizer* tokenizer, const Clock& clock,
                     SchedulerOptions options)
    : model_(model),
      tokenizer_(tokenizer),
      clock_(clock),
      options_(options),
      prefill_budget_(options.batch_tokens, options.longest_step_ns) {
  CHECK(options.batch_tokens > 0 && options.max_running > 0);
}

Scheduler::~Scheduler() = default;

Status Scheduler::CheckMemory(const Request& request) const {
  const uint32_t length = request.sequence->length();
  const uint64_t needed = model_.layout().BytesFor(model_.layers(), length, options_.batch_tokens);
  if (needed > model_.memory().budget_bytes) {
    return ResourceExhausted(fmt::format(
        "the KV cache of a prompt of {} tokens takes {} bytes, and there are {}: {} tokens fit",
        length, needed, model_.memory().budget_bytes,
        LongestThatFits(model_, options_.batch_tokens)));
  }
  return Ok();
}

Status Scheduler::CheckSequence(const Sequence& sequence) const {
  const model::Slice& slice = model_.slice();
  if (!slice.embedding || !slice.head) {
    return FailedPrecondition("only part of the model is loaded, and answers need all of it");
  }
  return CheckIdle(sequence);
}

// An error if a request uses it.
Status Scheduler::CheckIdle(const Sequence& sequence) const {
  if (!sequence.is_local() || &sequence.model() != &model_) {
    return InvalidArgument("the sequence belongs to another model");
  }
  for (const Requests* requests : {&waiting_, &running_}) {
    for (const auto& other : *requests) {
      if (&other->sequence() != &sequence) continue;
      return FailedPrecondition(
          fmt::format("request {} has the sequence and is not finished", other->id()));
    }
  }
  return Ok();
}

Result<RequestId> Scheduler::Submit(Request request) {
  CHECK(request.sequence != nullptr);
  // Refuses requests that can never be answered.
  TRY(CheckSequence(*request.sequence));
  TRY(CheckRequest(shape(), tokenizer_, request));
  TRY(CheckMemory(request));
  auto speculation = TRY(SpeculationFor(request));
  if (request.rows.needs_all()) request.sequence->RemoveRowsAfter(request.rows.first);
  // It waits; the next step admits it if there is memory.
  const RequestId id = next_id_++;
  ++counters_.submitted;
  waiting_.push_back(std::make_unique<RunningRequest>(
      id, std::move(request), tokenizer_, shape().vocab_size, model_.isa(), clock_.NowNs()));
  waiting_.back()->Speculate(std::move(speculation));
  return id;
}

// Null if the request wants none.
Result<std::unique_ptr<Speculation>> Scheduler::SpeculationFor(const Request& request) {
  if (request.draft.kind == DraftKind::kNone) return std::unique_ptr<Speculation>();
  if (options_.proposers == nullptr) {
    return FailedPrecondition("no drafter is available: ask for an answer without drafts");
  }
  return std::make_unique<Speculation>(TRY(options_.proposers->Make(request)), request.draft,
                                       shape().vocab_size,
                                       DraftTiming{.clock = &clock_, .times = &draft_times_});
}

void Scheduler::Cancel(RequestId id) {
  for (Requests* requests : {&waiting_, &running_}) {
    for (const auto& request : *requests) {
      if (request->id() == id) request->Cancel();
    }
  }
}

Status Scheduler::Step() {
  if (stepping_) return FailedPrecondition("a callback cannot begin the next step");
  // Their sequences become empty, and requests compute their texts again.
  if (model_.has_lost_gpu()) TRY(model_.ReplaceLostGpus());
  stepping_ = true;
  ++counters_.steps;
  // Plans: ended requests leave, waiting ones begin, and a batch is made.
  FinishCancelled();
  Admit();
  items_.clear();
  PlanDecodes();
  PlanPrefills();
  // Computes what memory allows; preempted requests wait again.
  ReserveMemory();
  RunMeasured();
  stepping_ = false;
  return Ok();
}

// Removes a request that has ended, and calls its caller.
void Scheduler::Remove(RunningRequest& request) {
  const bool runs =
      std::ranges::any_of(running_, [&](const auto& other) { return other.get() == &request; });
  // It leaves the lists before its callback, which may submit another request.
  const auto gone = TakeOut(request, runs ? running_ : waiting_);
  ++counters_.finished;
  counters_.cached_tokens += gone->counts().cached;
  counters_.replayed_tokens += gone->counts().replayed;
  if (gone->speculation() != nullptr) counters_.drafts += gone->speculation()->counts();
  gone->ReportFinish(clock_.NowNs());
}

void Scheduler::FinishCancelled() {
  // Searches from the beginning each time, as callbacks may submit and cancel.
  const auto find = [this]() -> RunningRequest* {
    for (Requests* requests : {&running_, &waiting_}) {
      for (const auto& request : *requests) {
        if (request->cancelled()) return request.get();
      }
    }
    return nullptr;
  };
  while (RunningRequest* request = find()) {
    request->End(FinishReason::kCancelled);
    Remove(*request);
  }
}

// Whether it can compute its next token beside the running ones, each of which has a page in
// reserve: a request that is soon preempted would be computed for nothing.
bool Scheduler::FitsNow(RunningRequest& request) {
  const uint32_t chunk = options_.batch_tokens;
  uint64_t needed = MissingBytes(model_, request.sequence(), chunk);
  for (const auto& other : running_) {
    needed += MissingBytes(model_, other->sequence(), chunk) + PageBytes(model_);
  }
  return needed <= model_.memory().available_bytes();
}

// In the order of age, so that small requests do not overtake a large one for ever.
void Scheduler::Admit() {
  while (!waiting_.empty() && running_.size() < options_.max_running) {
    RunningRequest& request = *waiting_.front();
    // A request that may have to wait must not fill memory with pages from the disk.
    request.Adopt(kv::AdoptFrom::kMemory);
    if (FitsNow(request)) {
      Insert(TakeOut(request, waiting_), running_);
      request.Begin(clock_.NowNs());
      continue;
    }
    // It does not fit. KV rows of idle sequences are freed first; then it waits for running
    // requests to end; if there are none it can never begin.
    if (ReleaseUnused(request)) continue;
    if (!running_.empty()) return;
    request.End(
        FinishReason::kFailed,
        ResourceExhausted(fmt::format(
            "{} bytes of KV cache are missing to compute {} tokens: idle sequences hold {} of {}",
            MissingBytes(model_, request.sequence(), options_.batch_tokens),
            request.pending_count(), model_.memory().held_bytes, model_.memory().budget_bytes)));
    Remove(request);
  }
}

void Scheduler::PlanDecodes() {
  for (const auto& request : running_) {
    if (request->pending_count() > 1) request->Adopt(kv::AdoptFrom::kStoreToo);
    if (request->pending_count() == 1) items_.push_back({.request = request.get(), .count = 1});
  }
  // Drafts are planned once all decodes are known: they share the cheap rows of a step.
  for (size_t i = 0; i < items_.size(); ++i) {
    RunningRequest& request = *items_[i].request;
    if (request.speculation() == nullptr) continue;
    // Removing rejected rows must not make other rows missing that would be computed again.
    const uint32_t room =
        std::min({request.DraftRoom(), model_.layout().slack(), DraftShare(items_.size(), i)});
    const auto drafts = request.speculation()->Propose(request.sequence().tokens(), room);
    items_[i].drafts.assign(drafts.begin(), drafts.end());
  }
}

// Pages in turn, beginning after the request with the last page before, so that long and short
// prompts progress alike.
void Scheduler::PlanPrefills() {
  // All requests with a prompt to compute, the one after the last page's first.
  const size_t first_item = items_.size();
  for (const auto& request : running_) {
    if (request->pending_count() > 1) items_.push_back({.request = request.get(), .count = 0});
  }
  const std::span<BatchItem> prefills = std::span(items_).subspan(first_item);
  std::ranges::rotate(prefills, std::ranges::find_if(prefills, [this](const BatchItem& item) {
                        return item.request->id() > last_prefilled_;
                      }));
  // Each takes up to the next page boundary in turn, until the step is full.
  const uint32_t page = model_.layout().page_positions();
  const uint32_t whole_budget = prefill_budget_.tokens();
  uint32_t budget = whole_budget;
  uint32_t logits_budget = MaxLogitsRows(shape());
  for (bool has_grown = true; has_grown && budget > 0;) {
    has_grown = false;
    for (BatchItem& item : prefills) {
      const uint32_t begin = item.request->sequence().computed() + item.count;
      const uint32_t left = item.request->pending_count() - item.count;
      uint32_t count = std::min(left, page - begin % page);
      // A budget of less than a page has to be enough.
      if (budget < count && budget == whole_budget) count = budget;
      const bool has_logits = item.request->request().rows.kind == PromptRows::Kind::kLogits;
      if (has_logits) count = std::min(count, logits_budget);
      if (count == 0 || count > budget) continue;
      item.count += count;
      budget -= count;
      if (has_logits) logits_budget -= count;
      has_grown = true;
      last_prefilled_ = item.request->id();
    }
  }
  std::erase_if(items_, [](const BatchItem& item) { return item.count == 0; });
}

// Older requests are never preempted for younger ones, so that the oldest always finishes.
void Scheduler::ReserveMemory() {
  std::ranges::sort(items_, {}, [](const BatchItem& item) { return item.request->id(); });
  for (size_t i = 0; i < items_.size();) {
    RunningRequest& request = *items_[i].request;
    Status reserved = request.sequence().table().Reserve(items_[i].count);
    if (reserved.ok()) {
      ++i;
      continue;
    }
    // The next step replaces a lost GPU.
    if (model_.has_lost_gpu()) return items_.clear();
    // Memory is short: younger requests lose theirs, or this one does, or it fails alone.
    const bool is_full = reserved.error().code() == Code::kResourceExhausted;
    if (is_full && FreeMemoryFor(request)) continue;
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(i));
    if (is_full && running_.size() > 1) {
      Preempt(request);
      continue;
    }
    request.End(FinishReason::kFailed, std::move(reserved));
    Remove(request);
  }
  // No request is preempted for draft tokens: they get only free memory.
  for (BatchItem& item : items_) {
    if (item.drafts.empty()) continue;
    if (!item.request->sequence().table().Reserve(item.row_count()).ok()) item.drafts.clear();
  }
}

// Frees memory of sequences that are kept for later, or of waiting requests.
bool Scheduler::ReleaseUnused(const RunningRequest& needy) {
  // Conversations that are kept for later go first; then waiting requests lose their adopted pages,
  // the youngest first.
  if (release_unused_ && release_unused_()) return true;
  for (size_t i = waiting_.size(); i-- > 0;) {
    Sequence& sequence = waiting_[i]->sequence();
    if (waiting_[i].get() == &needy || sequence.computed() == 0) continue;
    sequence.Release();
    return true;
  }
  return false;
}

bool Scheduler::FreeMemoryFor(const RunningRequest& needy) {
  if (ReleaseUnused(needy)) return true;
  RunningRequest& youngest = *running_.back();
  if (youngest.id() <= needy.id()) return false;
  // It must not be computed in this step.
  std::erase_if(items_, [&](const BatchItem& item) { return item.request == &youngest; });
  Preempt(youngest);
  return true;
}

// Its tokens are kept; recomputation gives the same bits.
void Scheduler::Preempt(RunningRequest& request) {
  ++counters_.preempted;
  request.sequence().Release();
  request.turns() = {};
  Insert(TakeOut(request, running_), waiting_);
}

void Scheduler::RunMeasured() {
  uint32_t prompt_tokens = 0;
  for (const BatchItem& item : items_) prompt_tokens += item.count > 1 ? item.count : 0;
  const int64_t begin_ns = clock_.NowNs();
  RunBatch();
  prefill_budget_.Note(prompt_tokens, clock_.NowNs() - begin_ns);
}

void Scheduler::RunBatch() {
  // Items are finished one by one, with callbacks; callbacks do not change this list.
  if (items_.empty() || RunItems(0, items_.size()).ok() || model_.has_lost_gpu()) return;
  // Only the request that cannot be computed may fail, and not because of its drafts or of rows for
  // its drafter: each runs alone, without these.
  for (size_t i = 0; i < items_.size(); ++i) {
    items_[i].drafts.clear();
    items_[i].is_followed = false;
    Status ran = RunItems(i, i + 1);
    if (ran.ok()) continue;
    if (model_.has_lost_gpu()) return;
    items_[i].request->End(FinishReason::kFailed, std::move(ran));
    Remove(*items_[i].request);
  }
}

// An error if none of them has been computed.
Status Scheduler::RunItems(size_t begin, size_t end) {
  // One segment for each item: its pending tokens and drafts, and the wanted logits.
  std::vector<model::Segment> segments;
  for (size_t i = begin; i < end; ++i) {
    BatchItem& item = items_[i];
    RunningRequest& request = *item.request;
    std::span<const int32_t> tokens = request.sequence().pending().first(item.count);
    const bool is_end = item.count == request.pending_count();
    auto wanted = model::Wanted::kNone;
    if (request.request().rows.kind == PromptRows::Kind::kLogits) {
      wanted = model::Wanted::kAll;
    } else if (!item.drafts.empty()) {
      item.tokens.assign(tokens.begin(), tokens.end());
      item.tokens.insert(item.tokens.end(), item.drafts.begin(), item.drafts.end());
      tokens = item.tokens;
      wanted = model::Wanted::kAll;
    } else if (is_end && request.wants_token()) {
      wanted = model::Wanted::kLast;
    }
    const Speculation* const drafter = item.is_followed ? request.speculation() : nullptr;
    segments.push_back({.table = &request.sequence().table(),
                        .tokens = tokens,
                        .hidden = nullptr,
                        .wanted = wanted,
                        .draft_count = static_cast<uint32_t>(item.drafts.size()),
                        .states = StatesWanted(request, is_end),
                        .hidden_wanted = HiddenWanted(drafter),
                        .tapped_wanted = TappedWanted(drafter)});
  }
  // One pass through the model for all of them.
  model::ForwardJob job = TRY(model_.Begin(segments));
  const model::Output output = TRY(job.Finish());
  const size_t vocab_size = model_.shape().vocab_size;
  const size_t width = model_.shape().hidden_width();
  const size_t embedding = model_.shape().embedding;
  // Each item takes its rows of the result.
  const size_t tapped_width = model_.taps().size() * embedding;
  size_t hidden_row = 0, wanted_row = 0, state_row = 0, tapped_row = 0;
  for (size_t i = begin; i < end; ++i) {
    // Each kind of wanted rows has its own positions in the output.
    const size_t rows = items_[i].row_count();
    const model::Segment& segment = segments[i - begin];
    const size_t wanted = model::CountOf(segment.wanted, rows);
    const size_t states = model::CountOf(segment.states, rows);
    const size_t hidden = model::CountOf(segment.hidden_wanted, rows);
    const size_t tapped = model::CountOf(segment.tapped_wanted, rows);
    TakeRows(items_[i],
             {.hidden = output.hidden.subspan(hidden_row * width, hidden * width),
              .logits = output.logits.subspan(wanted_row * vocab_size, wanted * vocab_size),
              .states = output.states.subspan(state_row * embedding, states * embedding),
              .tapped = output.tapped.subspan(tapped_row * tapped_width, tapped * tapped_width)});
    hidden_row += hidden;
    wanted_row += wanted;
    state_row += states;
    tapped_row += tapped;
  }
  return Ok();
}

// Takes the rows that were computed for an item: chooses tokens as long as the drafts agree with
// them, and one more. Without logits nothing is chosen yet.
void Scheduler::TakeRows(const BatchItem& item, const model::Output& rows) {
  RunningRequest& request = *item.request;
  const bool reports_rows = request.request().rows.kind != PromptRows::Kind::kNone;
  if (reports_rows) ReportRows(item, rows);
  const std::span<const float> logits = reports_rows ? std::span<const float>() : rows.logits;
  Sequence& sequence = request.sequence();
  const size_t vocab_size = model_.shape().vocab_size;
  const auto drafted = static_cast<uint32_t>(item.drafts.size());
  const bool is_decode = request.generated() > 0;
  const uint32_t begin = sequence.computed() - item.row_count();
  const uint32_t first = begin + item.count;  // the position that is chosen first
  if (drafted == 0) request.Advance(item.count);
  // Samples from the rows in order: as long as the sampled token is the draft that was computed,
  // the next row is valid too.
  uint32_t accepted = 0;
  bool has_ended = false;
  // It may have been cancelled by a callback of its own or of another request.
  while (!logits.empty() && !request.cancelled()) {
    const int64_t now_ns = clock_.NowNs();
    NoteTurn(request, now_ns);
    has_ended = request.TakeLogits(logits.subspan(accepted * vocab_size, vocab_size), now_ns);
    const bool goes_on = !has_ended && !request.cancelled() && accepted < drafted;
    if (!goes_on || sequence.tokens().back() != item.drafts[accepted]) break;
    ++accepted;
  }
  // Rows after the last accepted draft were computed from a wrong token: they are removed.
  if (drafted > 0) {
    sequence.RemoveRowsAfter(first + accepted);
    request.Advance(item.count + accepted);
  }
  (is_decode ? counters_.decode_tokens : counters_.prefill_tokens) += item.count + accepted;
  // The drafter gets the number of accepted tokens, and the rows of the tokens that stay.
  if (Speculation* const speculation = request.speculation()) {
    if (is_decode) speculation->Learn(drafted, accepted);
    const std::span<const float> followed =
        speculation->follows() == Follows::kTapped ? rows.tapped : rows.hidden;
    const size_t kept = followed.size() / item.row_count() * (item.count + accepted);
    if (!followed.empty() || speculation->follows() == Follows::kNothing)
      speculation->Follow(sequence.tokens(), begin, followed.first(kept));
  }
  // A request without an answer ends with its prompt.
  if (logits.empty() && request.pending_count() == 0) {
    request.End(FinishReason::kLength);
    has_ended = true;
  }
  if (has_ended) Remove(request);
}

// Reports the prompt's rows, and chooses no token from them.
void Scheduler::ReportRows(const BatchItem& item, const model::Output& rows) {
  RunningRequest& request = *item.request;
  const uint32_t end = request.sequence().computed();
  const bool is_last_alone = request.request().rows.kind == PromptRows::Kind::kLastState;
  const uint32_t begin = end - (is_last_alone ? 1 : item.count);
  request.TakeRows(begin, rows.logits, model_.shape().vocab_size);
  request.TakeRows(begin, rows.states, model_.shape().embedding);
}

void Scheduler::NoteTurn(RunningRequest& request, int64_t now_ns) {
  Turns& turns = request.turns();
  if (turns.last_step > 0) {
    counters_.longest_wait_steps =
        std::max(counters_.longest_wait_steps, counters_.steps - turns.last_step);
    counters_.longest_wait_ns = std::max(counters_.longest_wait_ns, now_ns - turns.last_ns);
  }
  turns = {.last_step = counters_.steps, .last_ns = now_ns};
}

Status Scheduler::LogitsOf(std::span<const int32_t> tokens, size_t chunk, LogitsSink sink) {
  size_t told = 0;
  while (true) {
    // A separate table: running requests keep theirs, and full pages stay in the prefix cache.
    kv::PageTable table = model_.NewTable();
    size_t row = 0;
    Status computed =
        ComputeLogits(model_, table, tokens, chunk, [&](std::span<const float> logits) {
          if (row++ < told) return Ok();
          ++told;
          return sink(logits);
        });
    // If a GPU was lost, all rows are computed again, and only new ones are passed on.
    if (computed.ok() || !model_.has_lost_gpu()) return computed;
    TRY(model_.ReplaceLostGpus());
  }
}

Status Scheduler::ExportRows(Sequence& sequence, uint32_t begin, uint32_t end,
                             kv::KvChunkSink sink) {
  TRY(CheckIdle(sequence));
  return kv::Export(sequence.table(), model_.layers(), begin, end, sink);
}

Status Scheduler::ImportRows(Sequence& sequence, Bytes chunk) {
  TRY(CheckIdle(sequence));
  // The table would accept tokens that are not the sequence's.
  const kv::KvChunk parsed = TRY(kv::ParseKvChunk(chunk));
  const kv::KvChunkHeader& header = parsed.header;
  const std::span<const int32_t> tokens = sequence.tokens();
  if (header.end > tokens.size() ||
      !std::ranges::equal(header.tokens, tokens.subspan(header.begin, header.end - header.begin))) {
    return FailedPrecondition("these rows are of another text than the sequence's");
  }
  return kv::Import(sequence.table(), parsed);
}

}  // namespace aster::engine
