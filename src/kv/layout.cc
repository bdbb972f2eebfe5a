// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kv/layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/checked.h"

namespace aster::kv {
namespace {

// Part of every digest: raised when the meaning of prefix hashes changes. KV chunks have a version
// of their own (chunk.h).
constexpr uint32_t kDigestVersion = 1;
constexpr size_t kMaxFormatBytes = 128;
constexpr size_t kMaxRowBytes = size_t{1}
                                << 24;  // sizes of KV chunks fit 64 bits with room to spare

Status CheckStream(const Stream& stream, uint32_t page_positions) {
  if (stream.codec == nullptr) return InvalidArgument("it has no codec");
  if (stream.stride == 0 || page_positions % stream.stride != 0) {
    return InvalidArgument(fmt::format("pages of {} positions do not hold whole rows of {}",
                                       page_positions, stream.stride));
  }
  if (stream.codec->page_rows() != page_positions / stream.stride) {
    return InvalidArgument(fmt::format("its codec has {} rows in a page, {} positions make {}",
                                       stream.codec->page_rows(), page_positions,
                                       page_positions / stream.stride));
  }
  if (stream.codec->row_bytes() == 0 || stream.codec->row_bytes() > kMaxRowBytes ||
      stream.codec->page_bytes() == 0) {
    return InvalidArgument(fmt::format("its rows have {} bytes: 1 to {} are possible",
                                       stream.codec->row_bytes(), kMaxRowBytes));
  }
  const std::string_view format = stream.codec->format();
  if (format.empty() || format.size() > kMaxFormatBytes ||
      !std::ranges::all_of(format, [](char c) { return c >= ' ' && c <= '~'; })) {
    return InvalidArgument(
        fmt::format("its format is no plain name of up to {} characters", kMaxFormatBytes));
  }
  // A window must be longer than the stride, so that the newest row is always in it.
  if (stream.window != 0 && stream.window <= stream.stride) {
    return InvalidArgument(fmt::format("a window of {} keeps nothing: more than {} is needed",
                                       stream.window, stream.stride));
  }
  if (stream.window == 0 && stream.sinks != 0) {
    return InvalidArgument("sinks need a sliding window");
  }
  if (stream.read_every == 0 || (stream.read_every > 1 && stream.read_every > stream.window)) {
    return InvalidArgument(fmt::format("a window of {} that is read every {} positions",
                                       stream.window, stream.read_every));
  }
  return Ok();
}

bool SameStreams(std::span<const Stream> a, std::span<const Stream> b) {
  return std::ranges::equal(a, b, [](const Stream& x, const Stream& y) {
    return x.codec->format() == y.codec->format() && x.stride == y.stride && x.window == y.window &&
           x.sinks == y.sinks;
  });
}

std::string DescribeStreams(std::span<const Stream> streams) {
  std::string text;
  for (const Stream& stream : streams) {
    text += fmt::format("{}{}", text.empty() ? "" : " + ", stream.codec->format());
    if (stream.stride != 1) text += fmt::format(" every {}", stream.stride);
    if (stream.window != 0) text += fmt::format(", last {}", stream.window);
    if (stream.sinks != 0) text += fmt::format(" and first {}", stream.sinks);
  }
  return text.empty() ? "nothing" : text;
}

}  // namespace

uint32_t Stream::SinkPages() const {
  return static_cast<uint32_t>(DivideUp(sinks, page_positions()));
}

// The begin of the window of the first position at or after `length` that reads.
uint32_t Stream::WindowBegin(uint32_t length) const {
  const uint32_t read_end = (length / read_every + 1) * read_every;
  return window == 0 || read_end < window ? 0 : read_end - window;
}

uint32_t Stream::FirstNeeded(uint32_t length) const {
  return WindowBegin(length) / page_positions();
}

uint32_t Stream::FirstRowNeeded(uint32_t index, uint32_t length) const {
  const uint32_t page_rows = codec->page_rows();
  if (index < SinkPages()) return 0;
  const uint64_t first = WindowBegin(length) / stride;
  const uint64_t page_begin = uint64_t{index} * page_rows;
  return first <= page_begin
             ? 0
             : static_cast<uint32_t>(std::min<uint64_t>(first - page_begin, page_rows));
}

bool Stream::Needs(uint32_t index, uint32_t length) const {
  const uint32_t page_rows = codec->page_rows();
  const uint32_t first = FirstRowNeeded(index, length);
  return first < page_rows && uint64_t{index} * page_rows + first < length / stride;
}

uint32_t Layout::ReachOf(uint32_t length) const {
  return std::max(length - std::min(length, slack_), length / page_positions_ * page_positions_);
}

Result<Layout> Layout::Create(const Hash128& model, uint32_t page_positions, uint32_t slack,
                              std::vector<std::vector<Stream>> layers) {
  if (page_positions == 0 || page_positions > kMaxPositions) {
    return InvalidArgument(fmt::format("pages of {} positions are no pages", page_positions));
  }
  bool has_windows = false;
  Hasher hasher;
  hasher.AddValue(kDigestVersion);
  hasher.AddValue(model.low);
  hasher.AddValue(model.high);
  hasher.AddValue(page_positions);
  hasher.AddValue<uint64_t>(layers.size());
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    hasher.AddValue<uint64_t>(layers[layer].size());
    for (const Stream& stream : layers[layer]) {
      TRY(CheckStream(stream, page_positions).In(fmt::format("a stream of layer {}", layer)));
      hasher.AddText(stream.codec->format());
      hasher.AddValue<uint64_t>(stream.codec->row_bytes());
      hasher.AddValue(stream.stride);
      hasher.AddValue(stream.window);
      hasher.AddValue(stream.sinks);
      has_windows = has_windows || stream.window > 0;
    }
  }
  Layout layout;
  layout.page_positions_ = page_positions;
  layout.slack_ = slack;
  layout.has_windows_ = has_windows;
  layout.layers_ = std::move(layers);
  layout.model_ = model;
  layout.digest_ = hasher.Digest();
  return layout;
}

std::string Layout::Describe(LayerRange layers) const {
  CHECK(all_layers().Contains(layers));
  std::string text = fmt::format("model {:.8}, pages of {}", model_.ToHex(), page_positions_);
  for (uint32_t first = layers.begin; first < layers.end;) {
    uint32_t end = first + 1;
    while (end < layers.end && SameStreams(streams(first), streams(end))) ++end;
    text += end - first == 1 ? fmt::format("; layer {}: ", first)
                             : fmt::format("; layers {} to {}: ", first, end - 1);
    text += DescribeStreams(streams(first));
    first = end;
  }
  return text;
}

uint64_t Layout::BytesFor(LayerRange layers, uint32_t length, uint32_t chunk) const {
  CHECK(all_layers().Contains(layers));
  const uint64_t all_pages = DivideUp(length, page_positions_);
  uint64_t bytes = 0;
  for (uint32_t layer = layers.begin; layer < layers.end; ++layer) {
    for (const Stream& stream : streams(layer)) {
      uint64_t pages = all_pages;
      if (stream.window != 0) {
        // A range of positions touches at most one page more than it fills.
        const uint64_t moving = uint64_t{stream.window} + slack_ + chunk;
        pages =
            std::min<uint64_t>(pages, stream.SinkPages() + DivideUp(moving, page_positions_) + 1);
      }
      bytes += pages * AlignedPageBytes(stream.codec->page_bytes());
    }
  }
  return bytes;
}

}  // namespace aster::kv
