// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/check/check_states.h"

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/delta_net.h"
#include "kernels/ops.h"

namespace aster::vulkan {
namespace {

using kernels::kDeltaRef;
using kernels::kOpsRef;

constexpr uint32_t kPage = 128;
constexpr uint32_t kMarkWords = 6;

enum class MarkOf : uint8_t { kNothing, kText, kOther, kLater };

// A text and the number of its tokens in a batch; the mark of its open page is that of `marked`.
struct CheckedText {
  uint32_t position;
  uint32_t tokens;
  MarkOf mark;
  uint32_t marked;

  uint32_t begin() const { return position / kPage * kPage; }
  uint32_t end() const { return position + tokens; }
  // With the page before the first one.
  uint32_t pages() const { return (end() - 1) / kPage - position / kPage + 2; }
  uint32_t start() const { return mark == MarkOf::kText ? marked : begin(); }
  bool keeps() const { return end() < begin() + kPage && position > begin(); }
};
constexpr CheckedText kTexts[] = {
    {.position = 0, .tokens = 3, .mark = MarkOf::kNothing, .marked = 0},
    {.position = 131, .tokens = 5, .mark = MarkOf::kText, .marked = 130},
    {.position = 126, .tokens = 131, .mark = MarkOf::kOther, .marked = 121},
    {.position = 259, .tokens = 1, .mark = MarkOf::kText, .marked = 259},
    {.position = 130, .tokens = 2, .mark = MarkOf::kLater, .marked = 131},
};

// Everything that a layer keeps of the texts; the rest of its memory has arbitrary bytes.
class Layer {
 public:
  Layer(const DeltaSizes& sizes, uint64_t seed)
      : sizes_(sizes),
        row_words_(static_cast<uint32_t>(
            kernels::DeltaInputs{.channels = sizes.channels(), .heads = sizes.value_heads}.bytes() /
            sizeof(uint32_t))),
        state_words_(sizes.value_heads * sizes.key_dim * sizes.value_dim) {
    for (const CheckedText& text : kTexts) {
      first_page_.push_back(page_count_);
      page_count_ += text.pages();
      first_slot_.push_back(slots_);
      slots_ += text.end() - text.begin();
      first_hash_.push_back(static_cast<uint32_t>(hashes_.size() / 4));
      const auto more = CheckWords(size_t{text.position - text.begin()} * 4, seed + page_count_);
      hashes_.insert(hashes_.end(), more.begin(), more.end());
    }
    inputs_ = CheckWords(size_t{page_count_} * kPage * row_words_, seed);
    states_ = CheckWords(size_t{page_count_} * state_page_words(), seed + 1);
    // Finite numbers, so that not all results are NaN.
    const auto halves = CheckFloats(inputs_.size() * 2, CheckValues::kOrdinary, seed + 2);
    kOpsRef.to_f16(halves.data(), halves.size(), reinterpret_cast<uint16_t*>(inputs_.data()));
    const auto numbers = CheckFloats(states_.size(), CheckValues::kOrdinary, seed + 3);
    std::copy(numbers.begin(), numbers.end(), reinterpret_cast<float*>(states_.data()));
    for (uint32_t row = 0; row < page_count_ * kPage; ++row) {
      auto* const to = reinterpret_cast<float*>(inputs_.data() + size_t{row} * row_words_) +
                       sizes.channels() / 2;
      for (uint32_t i = 0; i < 2 * sizes.value_heads; ++i)
        to[i] = 0.25f + static_cast<float>((row + i) % 7) / 16;
    }
    for (size_t i = 0; i < std::size(kTexts); ++i) SetMark(i);
  }

  uint32_t state_page_words() const {
    return state_words_ + static_cast<uint32_t>(kernels::kDeltaMarkBytes / sizeof(uint32_t));
  }
  uint32_t* input_row(size_t text, uint32_t position) {
    const uint32_t page = first_page_[text] + 1 + position / kPage - kTexts[text].begin() / kPage;
    return inputs_.data() + size_t{page * kPage + position % kPage} * row_words_;
  }
  // Page 0 is the one before the first.
  uint32_t* state_page(size_t text, uint32_t page) {
    return states_.data() + size_t{first_page_[text] + page} * state_page_words();
  }
  float* state(size_t text, uint32_t page, uint32_t head) {
    return reinterpret_cast<float*>(state_page(text, page)) +
           size_t{head} * sizes_.key_dim * sizes_.value_dim;
  }
  uint32_t* mark(size_t text, uint32_t page) { return state_page(text, page) + state_words_; }
  const uint32_t* hash(size_t text, uint32_t position) const {
    return hashes_.data() + size_t{first_hash_[text] + position - kTexts[text].begin() - 1} * 4;
  }
  uint32_t slot(size_t text, uint32_t position) const {
    return first_slot_[text] + position - kTexts[text].begin();
  }
  uint32_t slots() const { return slots_; }
  const std::vector<uint32_t>& inputs() const { return inputs_; }
  const std::vector<uint32_t>& states() const { return states_; }
  const std::vector<uint32_t>& hashes() const { return hashes_; }

  std::vector<StateCourse> Courses() const {
    std::vector<StateCourse> courses;
    uint32_t row = 0, entry = 0;
    for (size_t i = 0; i < std::size(kTexts); ++i) {
      const CheckedText& text = kTexts[i];
      courses.push_back({.page_begin = text.begin(),
                         .position = text.position,
                         .end = text.end(),
                         .first_row = row,
                         .first_slot = first_slot_[i],
                         .inputs = entry,
                         .states = entry + text.pages(),
                         .hashes = first_hash_[i],
                         .keeps = text.keeps() ? 1u : 0u});
      row += text.tokens;
      entry += 2 * text.pages();
    }
    return courses;
  }
  std::vector<uint64_t> Table(const Buffer& inputs, const Buffer& states) const {
    std::vector<uint64_t> table;
    for (size_t i = 0; i < std::size(kTexts); ++i) {
      const auto add = [&](const Buffer& buffer, uint64_t page_words) {
        for (uint32_t page = 0; page < kTexts[i].pages(); ++page)
          table.push_back(buffer.address() +
                          (first_page_[i] + page) * page_words * sizeof(uint32_t));
      };
      add(inputs, uint64_t{kPage} * row_words_);
      add(states, state_page_words());
    }
    return table;
  }
  // The addresses to which the batch's rows are written.
  std::vector<uint64_t> RowsOut(const Buffer& inputs) {
    std::vector<uint64_t> rows;
    for (size_t i = 0; i < std::size(kTexts); ++i) {
      for (uint32_t token = 0; token < kTexts[i].tokens; ++token) {
        const auto word = input_row(i, kTexts[i].position + token) - inputs_.data();
        rows.push_back(inputs.address() + static_cast<uint64_t>(word) * sizeof(uint32_t));
      }
    }
    return rows;
  }

 private:
  void SetMark(size_t i) {
    const CheckedText& text = kTexts[i];
    uint32_t* const to = mark(i, 1);
    std::fill_n(to, kMarkWords, 0u);
    if (text.mark == MarkOf::kNothing) return;
    to[4] = text.marked;
    if (text.mark == MarkOf::kLater) return;
    std::copy_n(hash(i, text.marked), 4, to);
    if (text.mark == MarkOf::kOther) to[3] ^= 0x10000u;
  }

  const DeltaSizes sizes_;
  const uint32_t row_words_;
  const uint32_t state_words_;
  uint32_t page_count_ = 0;
  uint32_t slots_ = 0;
  std::vector<uint32_t> first_page_, first_slot_, first_hash_;  // by text
  std::vector<uint32_t> hashes_;                                // four words each
  std::vector<uint32_t> inputs_;
  std::vector<uint32_t> states_;
};

// The tokens' inputs: [rows] of each.
struct Brought {
  Brought(const DeltaSizes& sizes, uint32_t rows, CheckValues values, uint64_t seed)
      : mixed(CheckFloats(size_t{rows} * sizes.channels(), values, seed + 10)),
        times(CheckFloats(size_t{rows} * sizes.value_heads, values, seed + 11)),
        betas(CheckFloats(size_t{rows} * sizes.value_heads, values, seed + 12)),
        time_bias(CheckFloats(sizes.value_heads, CheckValues::kOrdinary, seed + 13)),
        rates(CheckFloats(sizes.value_heads, CheckValues::kOrdinary, seed + 14)) {
    for (float& rate : rates) rate = -1.0f - rate * rate;
  }

  void WriteRow(const DeltaSizes& sizes, uint32_t row, uint32_t* to) const {
    const size_t heads = sizes.value_heads, channels = sizes.channels();
    kOpsRef.to_f16(mixed.data() + row * channels, channels, reinterpret_cast<uint16_t*>(to));
    auto* const decays = reinterpret_cast<float*>(to) + channels / 2;
    kOpsRef.add(times.data() + row * heads, time_bias.data(), heads, decays);
    kOpsRef.softplus(decays, heads, decays);
    kOpsRef.multiply(decays, rates.data(), heads, decays);
    kOpsRef.exp(decays, heads, decays);
    kOpsRef.sigmoid(betas.data() + row * heads, heads, decays + heads);
  }

  std::vector<float> mixed, times, betas, time_bias, rates;
};

// One token's channels after the convolution.
std::vector<float> Convolved(const DeltaSizes& sizes, Layer& layer, size_t text, uint32_t position,
                             uint32_t taps, const std::vector<float>& weights) {
  const size_t channels = sizes.channels();
  std::vector<float> x(taps * channels), y(channels);
  for (uint32_t t = 0; t < taps; ++t) {
    if (position + t + 1 < taps) continue;
    const auto* const row =
        reinterpret_cast<const uint16_t*>(layer.input_row(text, position + t + 1 - taps));
    kOpsRef.from_f16(row, channels, x.data() + t * channels);
  }
  kDeltaRef.convolve({.x = x.data(),
                      .x_stride = channels,
                      .weights = weights.data(),
                      .weights_stride = channels,
                      .taps = taps,
                      .rows = 1,
                      .count = channels,
                      .y = y.data(),
                      .y_stride = channels});
  return y;
}

// Updates the states of one head through a text's tokens; `out` gets its rows.
void RunHead(const DeltaSizes& sizes, Layer& layer, size_t i, uint32_t head,
             const std::vector<float>& keys, const std::vector<float>& values, float* out) {
  const CheckedText& text = kTexts[i];
  const size_t size = size_t{sizes.key_dim} * sizes.value_dim;
  const uint32_t ratio = sizes.value_heads / sizes.key_heads;
  const uint32_t key_head = sizes.in_turn ? head % sizes.key_heads : head / ratio;
  std::vector<float> state(size);
  const bool is_marked = text.start() > text.begin();
  if (is_marked || text.begin() > 0)
    std::copy_n(layer.state(i, is_marked ? 1 : 0, head), size, state.data());
  for (uint32_t position = text.start(); position < text.end(); ++position) {
    if (position == text.position && text.keeps())
      std::copy(state.begin(), state.end(), layer.state(i, 1, head));
    const auto* const numbers =
        reinterpret_cast<const float*>(layer.input_row(i, position)) + sizes.channels() / 2;
    const float* const query = keys.data() +
                               size_t{layer.slot(i, position)} * sizes.key_channels() +
                               key_head * sizes.key_dim;
    const bool is_new = position >= text.position;
    kDeltaRef.run({.queries = query,
                   .keys = query + sizes.key_heads * sizes.key_dim,
                   .key_stride = 0,
                   .values = values.data() +
                             size_t{layer.slot(i, position)} * sizes.value_channels() +
                             head * sizes.value_dim,
                   .value_stride = 0,
                   .decays = numbers + head,
                   .betas = numbers + sizes.value_heads + head,
                   .number_stride = 0,
                   .tokens = 1,
                   .key_dim = sizes.key_dim,
                   .value_dim = sizes.value_dim,
                   .state = state.data(),
                   .out = is_new ? out + size_t{position - text.position} * sizes.value_channels() +
                                       head * sizes.value_dim
                                 : nullptr,
                   .out_stride = 0});
    if ((position + 1) % kPage == 0)
      std::copy(state.begin(), state.end(),
                layer.state(i, 1 + position / kPage - text.begin() / kPage, head));
  }
}

void SetMarks(Layer& layer, size_t i) {
  const CheckedText& text = kTexts[i];
  for (uint32_t page = 0; page + 1 < text.pages(); ++page) {
    if (page > 0 && text.end() < text.begin() + (page + 1) * kPage) continue;
    uint32_t* const to = layer.mark(i, page + 1);
    std::fill_n(to, kMarkWords, 0u);
    if (page > 0 || !text.keeps()) continue;
    std::copy_n(layer.hash(i, text.position), 4, to);
    to[4] = text.position;
  }
}

// A check's inputs.
struct CheckedNet {
  CheckedNet(const DeltaSizes& s, uint32_t tap_count, CheckValues of, uint64_t seed)
      : sizes(s),
        taps(tap_count),
        layer(s, seed),
        brought(s, Rows(), of, seed),
        weights(CheckFloats(size_t{tap_count} * s.channels(), CheckValues::kOrdinary, seed + 20)),
        keys(CheckFloats(size_t{layer.slots()} * s.key_channels(), CheckValues::kOrdinary,
                         seed + 21)),
        values(CheckFloats(size_t{layer.slots()} * s.value_channels(), of, seed + 22)) {
    for (float& key : keys) key *= 0.125f;
  }

  static uint32_t Rows() {
    uint32_t rows = 0;
    for (const CheckedText& text : kTexts) rows += text.tokens;
    return rows;
  }

  const DeltaSizes& sizes;
  const uint32_t taps;
  Layer layer;
  const Brought brought;
  const std::vector<float> weights;  // [taps][channels]
  // Inputs of the states, independent of the convolution's results, so that errors of the two can
  // be told apart.
  std::vector<float> keys;          // [slots][key_channels]
  const std::vector<float> values;  // [slots][value_channels]
};

// The inputs and outputs on the device.
struct DeltaBuffers {
  Buffer inputs, states, table, courses, hashes;
  Buffer mixed, times, betas, time_bias, rates, rows_out;
  Buffer weights, keys, values;
  Buffer made_keys, made_values, out;
  StateCourses all;
};

Result<DeltaBuffers> Upload(Workbench& bench, CheckedNet& net) {
  Layer& layer = net.layer;
  DeltaBuffers to;
  to.inputs = TRY(bench.Put(layer.inputs()));
  to.states = TRY(bench.Put(layer.states()));
  to.table = TRY(bench.Put(layer.Table(to.inputs, to.states)));
  to.courses = TRY(bench.Put(layer.Courses()));
  to.hashes = TRY(bench.Put(layer.hashes()));
  to.mixed = TRY(bench.Put(net.brought.mixed));
  to.times = TRY(bench.Put(net.brought.times));
  to.betas = TRY(bench.Put(net.brought.betas));
  to.time_bias = TRY(bench.Put(net.brought.time_bias));
  to.rates = TRY(bench.Put(net.brought.rates));
  to.rows_out = TRY(bench.Put(layer.RowsOut(to.inputs)));
  to.weights = TRY(bench.Put(net.weights));
  to.keys = TRY(bench.Put(net.keys));
  to.values = TRY(bench.Put(net.values));
  to.made_keys = TRY(bench.Room(net.keys.size() * sizeof(float)));
  to.made_values = TRY(bench.Room(net.values.size() * sizeof(float)));
  to.out =
      TRY(bench.Room(uint64_t{CheckedNet::Rows()} * net.sizes.value_channels() * sizeof(float)));
  to.all = {.courses = to.courses.address(),
            .table = to.table.address(),
            .hashes = to.hashes.address(),
            .count = static_cast<uint32_t>(std::size(kTexts)),
            .longest = 0};
  for (const CheckedText& text : kTexts)
    to.all.longest = std::max(to.all.longest, text.end() - text.begin());
  return to;
}

Status RecordAll(Kernels& kernels, Commands& commands, const CheckedNet& net,
                 const DeltaBuffers& buffers) {
  const DeltaSizes& sizes = net.sizes;
  TRY(RecordDeltaInputs(kernels, commands,
                        {.sizes = sizes,
                         .mixed = buffers.mixed.address(),
                         .mixed_stride = sizes.channels(),
                         .times = buffers.times.address(),
                         .time_stride = sizes.value_heads,
                         .betas = buffers.betas.address(),
                         .beta_stride = sizes.value_heads,
                         .time_bias = buffers.time_bias.address(),
                         .rates = buffers.rates.address(),
                         .rows_out = buffers.rows_out.address(),
                         .rows = CheckedNet::Rows()}));
  commands.Barrier();
  TRY(RecordDeltaConvolution(kernels, commands,
                             {.sizes = sizes,
                              .courses = buffers.all,
                              .weights = buffers.weights.address(),
                              .taps = net.taps,
                              .keys = buffers.made_keys.address(),
                              .values = buffers.made_values.address()}));
  for (uint32_t page = 0; page < buffers.all.most_pages(); ++page) {
    TRY(RecordDeltaStates(kernels, commands,
                          {.sizes = sizes,
                           .courses = buffers.all,
                           .keys = buffers.keys.address(),
                           .values = buffers.values.address(),
                           .result = buffers.out.address(),
                           .result_stride = sizes.value_channels(),
                           .page = page}));
    commands.Barrier();
  }
  return RecordDeltaMarks(kernels, commands, sizes, buffers.all);
}

// Compares the convolution of the tokens whose states are not known.
Status CompareConvolution(CheckedNet& net, size_t i, const DeltaBuffers& got) {
  const size_t key_channels = net.sizes.key_channels();
  const size_t value_channels = net.sizes.value_channels();
  for (uint32_t position = kTexts[i].start(); position < kTexts[i].end(); ++position) {
    const auto y = Convolved(net.sizes, net.layer, i, position, net.taps, net.weights);
    const size_t slot = net.layer.slot(i, position);
    TRY(CompareFloats("convolved keys", std::span(y).first(key_channels),
                      ContentOf<float>(got.made_keys, net.keys.size())
                          .subspan(slot * key_channels, key_channels)));
    TRY(CompareFloats("convolved values", std::span(y).subspan(key_channels),
                      ContentOf<float>(got.made_values, net.values.size())
                          .subspan(slot * value_channels, value_channels)));
  }
  return Ok();
}

Status CompareWordsAsFloats(const char* what, const std::vector<uint32_t>& want,
                            const Buffer& got) {
  return CompareFloats(what, {reinterpret_cast<const float*>(want.data()), want.size()},
                       ContentOf<float>(got, want.size()));
}

}  // namespace

Status CheckDeltaNet(Workbench& bench, const DeltaSizes& sizes, uint32_t taps, CheckValues values,
                     uint64_t seed) {
  CheckedNet net(sizes, taps, values, seed);
  const DeltaBuffers buffers = TRY(Upload(bench, net));
  TRY(bench.Run(
      [&](Commands& commands) { return RecordAll(bench.kernels(), commands, net, buffers); }));
  std::vector<float> want(size_t{CheckedNet::Rows()} * sizes.value_channels());
  uint32_t row = 0;
  for (size_t i = 0; i < std::size(kTexts); ++i) {
    const CheckedText& text = kTexts[i];
    for (uint32_t token = 0; token < text.tokens; ++token)
      net.brought.WriteRow(sizes, row + token, net.layer.input_row(i, text.position + token));
    TRY(CompareConvolution(net, i, buffers));
    for (uint32_t head = 0; head < sizes.value_heads; ++head)
      RunHead(sizes, net.layer, i, head, net.keys, net.values,
              want.data() + size_t{row} * sizes.value_channels());
    SetMarks(net.layer, i);
    row += text.tokens;
  }
  TRY(CompareFloats("what delta nets find", want, ContentOf<float>(buffers.out, want.size())));
  TRY(CompareWordsAsFloats("inputs of delta nets", net.layer.inputs(), buffers.inputs));
  return CompareWordsAsFloats("states of delta nets", net.layer.states(), buffers.states);
}

}  // namespace aster::vulkan
