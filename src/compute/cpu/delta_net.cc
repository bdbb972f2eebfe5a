// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "compute/cpu/delta_net.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "compute/cpu/memory.h"
#include "kernels/delta_net.h"
#include "kernels/pages.h"

namespace aster::compute {
namespace {

constexpr uint32_t kDeltaPage = kernels::kPagePositions;
// Tokens whose inputs are prepared together, so that they stay in the cache.
constexpr uint32_t kDeltaBlock = 32;
// Of the norm of queries and keys.
constexpr float kLengthEpsilon = 1e-6f;

// The position of a page's states while the page is not full. Zeros, as in new pages, mean that it
// has none: a position within a page is never its first.
struct Mark {
  Hash128 prefix;  // of the tokens before it
  uint32_t position = 0;
  uint32_t unused = 0;  // makes the padding zero
};
static_assert(sizeof(Mark) <= kernels::kDeltaMarkBytes);

void WriteMark(uint8_t* at, const Mark& mark) { std::memcpy(at, &mark, sizeof(mark)); }

// Whether the mark is of a position in (begin, length] of the table, with the same tokens before
// it.
bool IsOf(const Mark& mark, const kv::PageTable& table, uint32_t begin, uint32_t length) {
  return mark.position > begin && mark.position <= length &&
         table.history().HashAt(mark.position) == mark.prefix;
}

kernels::DeltaInputs InputsOf(const DeltaNet& net) {
  return {.channels = net.mixed.columns, .heads = net.value_heads};
}

uint8_t* InputRow(const DeltaNet& net, uint8_t* page, uint32_t position) {
  return page + position % kDeltaPage * InputsOf(net).bytes();
}

uint8_t* StatePage(const DeltaNet& net, const PageSpan& span, uint32_t index) {
  return HostPage(span.table->WritablePage(net.pages.layer, index, net.pages.stream));
}

}  // namespace

Status CpuDeltaNet::Run(const DeltaNet& net) {
  CHECK(net.value_heads % net.key_heads == 0 && net.taps >= 1 &&
        net.taps <= kernels::kMaxDeltaTaps);
  at_ = &net;
  TRY(rooms_.Grow(context_.pool.thread_count() * RoomFloats() * sizeof(float)));
  WriteInputs();
  courses_.clear();
  for (const PageSpan& span : net.pages.spans) courses_.push_back(CourseOf(span));
  // Key heads are independent; the value heads of one key head are computed together.
  context_.pool.ParallelFor(
      courses_.size() * net.key_heads, [&](size_t begin, size_t end, size_t thread) {
        for (size_t i = begin; i < end; ++i)
          TakeCourse(courses_[i / net.key_heads], i % net.key_heads, RoomOf(thread));
      });
  FinishMarks();
  return Ok();
}

// Writes the tokens' inputs into their stream: later batches may have to compute states again from
// the page's begin on.
void CpuDeltaNet::WriteInputs() {
  for (const PageSpan& span : at_->pages.spans) {
    context_.pool.ParallelFor(span.count, [&](size_t begin, size_t end, size_t) {
      for (size_t i = begin; i < end; ++i) WriteInput(span, static_cast<uint32_t>(i));
    });
  }
}

void CpuDeltaNet::WriteInput(const PageSpan& span, uint32_t i) const {
  const DeltaNet& net = *at_;
  const kernels::OpsTable& ops = context_.ops();
  const kernels::DeltaInputs inputs = InputsOf(net);
  const uint32_t position = span.position + i;
  const size_t row = span.first_row + i;
  const size_t heads = net.value_heads;
  uint8_t* const page =
      HostPage(span.table->WritablePage(net.pages.layer, position / kDeltaPage, net.input_stream));
  uint8_t* const to = InputRow(net, page, position);
  ops.to_f16(Floats(net.mixed) + row * net.mixed.stride, inputs.channels,
             reinterpret_cast<uint16_t*>(to));
  // decay = e^(rate * softplus(time + bias)), beta = a sigmoid
  float* const decays = reinterpret_cast<float*>(to + inputs.numbers_at());
  ops.add(Floats(net.times) + row * net.times.stride, Floats(net.time_bias), heads, decays);
  ops.softplus(decays, heads, decays);
  ops.multiply(decays, Floats(net.rates), heads, decays);
  ops.exp(decays, heads, decays);
  ops.sigmoid(Floats(net.betas) + row * net.betas.stride, heads, decays + heads);
}

// States are known at the begin of each page. Within the page of the batch's first position they
// may also be kept where the batch before began. That position stays valid when draft tokens are
// rejected, as these come after the first token of a batch.
CpuDeltaNet::Course CpuDeltaNet::CourseOf(const PageSpan& span) const {
  const DeltaNet& net = *at_;
  const uint32_t index = span.position / kDeltaPage;
  const uint32_t page_begin = index * kDeltaPage;
  uint8_t* const page = StatePage(net, span, index);
  Course course = {.span = &span,
                   .from = page_begin,
                   .begin = nullptr,
                   .kept = nullptr,
                   .mark = page + net.value_heads * state_floats() * sizeof(float),
                   .is_there = false};
  if (index > 0) {
    course.begin = reinterpret_cast<const float*>(
        HostPage(span.table->Page(net.pages.layer, index - 1, net.pages.stream)));
  }
  Mark mark;
  std::memcpy(&mark, course.mark, sizeof(mark));
  const bool is_of = IsOf(mark, *span.table, page_begin, span.position);
  if (is_of) {
    course.from = mark.position;
    course.begin = reinterpret_cast<const float*>(page);
  }
  course.is_there = is_of && mark.position == span.position;
  // A page that becomes full keeps the states at its end instead.
  const bool stays_open = span.position + span.count < page_begin + kDeltaPage;
  if (stays_open && span.position > page_begin) course.kept = reinterpret_cast<float*>(page);
  if (!course.is_there) WriteMark(course.mark, {});
  return course;
}

void CpuDeltaNet::FinishMarks() const {
  for (const Course& course : courses_) {
    const PageSpan& span = *course.span;
    const uint32_t first = span.position / kDeltaPage;
    const uint32_t end = (span.position + span.count) / kDeltaPage;
    // Writes the states at the end of pages that are full now.
    for (uint32_t index = first; index < end; ++index) {
      uint8_t* const page = StatePage(*at_, span, index);
      WriteMark(page + at_->value_heads * state_floats() * sizeof(float), {});
    }
    if (course.kept == nullptr) continue;
    WriteMark(course.mark,
              {.prefix = span.table->history().HashAt(span.position), .position = span.position});
  }
}

void CpuDeltaNet::TakeCourse(const Course& course, size_t key_head, const Room& room) const {
  const PageSpan& span = *course.span;
  const uint32_t end = span.position + span.count;
  CopyStates(key_head, course.begin, room.states, /*is_out=*/false);
  for (uint32_t at = course.from; at < end;) {
    const bool is_new = at >= span.position;
    if (at == span.position && course.kept != nullptr && !course.is_there)
      CopyStates(key_head, room.states, course.kept, /*is_out=*/true);
    const uint32_t page_end = (at / kDeltaPage + 1) * kDeltaPage;
    const uint32_t next = std::min({at + kDeltaBlock, page_end, is_new ? end : span.position});
    TakeTokens(course, key_head, at, next, room);
    at = next;
    if (at != page_end) continue;
    CopyStates(key_head, room.states,
               reinterpret_cast<float*>(StatePage(*at_, span, at / kDeltaPage - 1)),
               /*is_out=*/true);
  }
}

// Copies states between those of all heads and those of one key head's value heads.
void CpuDeltaNet::CopyStates(size_t key_head, const float* from, float* to, bool is_out) const {
  const size_t size = state_floats();
  for (size_t i = 0; i < heads_of_key(); ++i) {
    const size_t far = value_head(key_head, i) * size, near = i * size;
    if (from == nullptr) {
      std::fill_n(to + near, size, 0.0f);
    } else if (is_out) {
      std::copy_n(from + near, size, to + far);
    } else {
      std::copy_n(from + far, size, to + near);
    }
  }
}

// Computes tokens [begin, end) of one page; only those of the batch have outputs.
void CpuDeltaNet::TakeTokens(const Course& course, size_t key_head, uint32_t begin, uint32_t end,
                             const Room& room) const {
  const DeltaNet& net = *at_;
  const PageSpan& span = *course.span;
  const size_t tokens = end - begin;
  LoadInputs(span, key_head, begin, end, room);
  MakeHeads(key_head, tokens, room);
  for (size_t i = 0; i < heads_of_key(); ++i) {
    float* out = nullptr;
    if (begin >= span.position) {
      out = Floats(net.out) + (span.first_row + begin - span.position) * net.out.stride +
            value_head(key_head, i) * net.value_dim;
    }
    kernels::Delta(context_.isa)
        .run({.queries = room.mixed,
              .keys = room.mixed + net.key_dim,
              .key_stride = width(),
              .values = room.mixed + 2 * net.key_dim + i * net.value_dim,
              .value_stride = width(),
              .decays = room.decays + i,
              .betas = room.betas + i,
              .number_stride = heads_of_key(),
              .tokens = tokens,
              .key_dim = net.key_dim,
              .value_dim = net.value_dim,
              .state = room.states + i * state_floats(),
              .out = out,
              .out_stride = net.out.stride});
  }
}

// x = the key head's channels of the tokens and of the rows before them that the convolution needs;
// zeros before the beginning of the text.
void CpuDeltaNet::LoadInputs(const PageSpan& span, size_t key_head, uint32_t begin, uint32_t end,
                             const Room& room) const {
  const DeltaNet& net = *at_;
  const kernels::OpsTable& ops = context_.ops();
  const kernels::DeltaInputs inputs = InputsOf(net);
  const size_t heads = heads_of_key();
  const size_t keys = net.key_heads * net.key_dim;
  for (size_t i = 0; i < end - begin + net.taps - 1; ++i) {
    float* const x = room.x + i * width();
    if (begin + i < net.taps - 1) {
      std::fill_n(x, width(), 0.0f);
      continue;
    }
    const auto position = static_cast<uint32_t>(begin + i - (net.taps - 1));
    const uint8_t* const row = InputRow(
        net, HostPage(span.table->Page(net.pages.layer, position / kDeltaPage, net.input_stream)),
        position);
    const auto* const halves = reinterpret_cast<const uint16_t*>(row);
    ops.from_f16(halves + key_head * net.key_dim, net.key_dim, x);
    ops.from_f16(halves + keys + key_head * net.key_dim, net.key_dim, x + net.key_dim);
    for (size_t h = 0; h < heads; ++h) {
      ops.from_f16(halves + 2 * keys + value_head(key_head, h) * net.value_dim, net.value_dim,
                   x + 2 * net.key_dim + h * net.value_dim);
    }
    if (position < begin) continue;
    const auto* const numbers = reinterpret_cast<const float*>(row + inputs.numbers_at());
    for (size_t h = 0; h < heads; ++h) {
      const size_t head = value_head(key_head, h);
      room.decays[(position - begin) * heads + h] = numbers[head];
      room.betas[(position - begin) * heads + h] = numbers[net.value_heads + head];
    }
  }
}

// mixed = a normalised and scaled query, a normalised key, and the values.
void CpuDeltaNet::MakeHeads(size_t key_head, size_t tokens, const Room& room) const {
  const DeltaNet& net = *at_;
  const size_t dim = net.key_dim;
  const size_t keys = net.key_heads * dim;
  const auto convolve = [&](size_t column, size_t channel, size_t count) {
    kernels::Delta(context_.isa)
        .convolve({.x = room.x + column,
                   .x_stride = width(),
                   .weights = Floats(net.convolution) + channel,
                   .weights_stride = net.mixed.columns,
                   .taps = net.taps,
                   .rows = tokens,
                   .count = count,
                   .y = room.mixed + column,
                   .y_stride = width()});
  };
  convolve(0, key_head * dim, dim);
  convolve(dim, keys + key_head * dim, dim);
  for (size_t h = 0; h < heads_of_key(); ++h) {
    convolve(2 * dim + h * net.value_dim, 2 * keys + value_head(key_head, h) * net.value_dim,
             net.value_dim);
  }
  // RMS norm gives rows of length √dim, so they are scaled to length 1; scores are scaled as those
  // of attention.
  const kernels::OpsTable& ops = context_.ops();
  const auto width_of_key = static_cast<float>(dim);
  for (size_t t = 0; t < tokens; ++t) {
    float* const query = room.mixed + t * width();
    ops.rms_norm(query, dim, 2, dim, nullptr, kLengthEpsilon / width_of_key, query, dim);
    ops.scale(query, dim, 1.0f / width_of_key, query);
    ops.scale(query + dim, dim, 1.0f / std::sqrt(width_of_key), query + dim);
  }
}

size_t CpuDeltaNet::value_head(size_t key_head, size_t i) const {
  return at_->in_turn ? key_head + i * at_->key_heads : key_head * heads_of_key() + i;
}

size_t CpuDeltaNet::RoomFloats() const {
  const size_t rows = 2 * kDeltaBlock + kernels::kMaxDeltaTaps;
  return heads_of_key() * (state_floats() + 2 * kDeltaBlock) + rows * width();
}

CpuDeltaNet::Room CpuDeltaNet::RoomOf(size_t thread) {
  const size_t heads = heads_of_key();
  float* at = rooms_.As<float>() + thread * RoomFloats();
  const auto take = [&](size_t count) { return std::exchange(at, at + count); };
  Room room = {};
  room.states = take(heads * state_floats());
  room.x = take((kDeltaBlock + kernels::kMaxDeltaTaps) * width());
  room.mixed = take(kDeltaBlock * width());
  room.decays = take(kDeltaBlock * heads);
  room.betas = take(kDeltaBlock * heads);
  return room;
}

}  // namespace aster::compute
