// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/next_tokens.h"

#include <fmt/format.h>

#include "quant/dequantize.h"

namespace aster::model {

NextTokens::NextTokens(const Weights& weights, const MemoryOptions& memory,
                       compute::Context& context)
    : weights_(weights),
      context_(context),
      block_(weights.next->block, memory, context, &weights.head) {}

Result<kv::Layout> MakeNextLayout(const Shape& shape, const MemoryOptions& memory,
                                  const Hash128& fingerprint) {
  return MakeMemoryLayout(ShapeOfNext(shape), memory, fingerprint);
}

// joined_ = for each stream, both halves' products added up.
Status NextTokens::Join(std::span<const int32_t> tokens, const float* streams) {
  const Shape& shape = weights_.shape;
  const NextWeights& next = *weights_.next;
  const size_t width = shape.embedding;
  const size_t count = shape.streams.count;
  const size_t rows = tokens.size() * count;
  TRY(embedded_.Grow(tokens.size() * width * sizeof(float)));
  TRY(from_tokens_.Grow(tokens.size() * width * sizeof(float)));
  TRY(normed_.Grow(rows * width * sizeof(float)));
  TRY(joined_.Grow(rows * width * sizeof(float)));
  const gguf::Tensor& embedding = *weights_.embedding;
  const uint64_t row_bytes = *gguf::RowBytes(embedding.type, width);
  float* row = embedded_.As<float>();
  for (const int32_t token : tokens) {
    if (token < 0 || static_cast<uint32_t>(token) >= shape.vocab_size)
      return InvalidArgument(
          fmt::format("token {} of a vocabulary of {}", token, shape.vocab_size));
    const Bytes bytes = embedding.data.subspan(static_cast<size_t>(token) * row_bytes, row_bytes);
    TRY(quant::Dequantize(embedding.type, bytes, {row, width}));
    row += width;
  }
  const auto normalise = [&](const float* from, size_t row_count, const std::vector<float>& weight,
                             float* to) {
    context_.pool.ParallelFor(row_count, [&](size_t begin, size_t end, size_t) {
      context_.ops().rms_norm(from + begin * width, width, end - begin, width, weight.data(),
                              shape.norm_epsilon, to + begin * width, width);
    });
  };
  normalise(embedded_.As<float>(), tokens.size(), next.token_norm, embedded_.As<float>());
  normalise(streams, rows, next.stream_norm, normed_.As<float>());
  prepared_tokens_.Set(embedded_.As<float>(), width, tokens.size(), width);
  prepared_streams_.Set(normed_.As<float>(), width, rows, width);
  const compute::Product products[] = {
      {&next.join_token, &prepared_tokens_, from_tokens_.As<float>(), width},
      {&next.join_stream, &prepared_streams_, joined_.As<float>(), width}};
  TRY(compute::MultiplyAll(products, context_));
  context_.pool.ParallelFor(rows, [&](size_t begin, size_t end, size_t) {
    for (size_t i = begin; i < end; ++i) {
      float* const joined = joined_.As<float>() + i * width;
      context_.ops().add(from_tokens_.As<float>() + i / count * width, joined, width, joined);
    }
  });
  return Ok();
}

Result<Output> NextTokens::Guess(kv::PageTable& table, std::span<const int32_t> tokens,
                                 const float* streams, Wanted wanted) {
  TRY(Join(tokens, streams));
  const Segment segment{
      .table = &table, .tokens = tokens, .hidden = joined_.As<float>(), .wanted = wanted};
  return block_.Run({&segment, 1});
}

Status NextTokens::Follow(kv::PageTable& table, std::span<const int32_t> tokens,
                          const float* streams) {
  TRY(Guess(table, tokens, streams, Wanted::kNone));
  return Ok();
}

Result<std::vector<int32_t>> NextTokens::Draft(const kv::PageTable& table, int32_t token,
                                               const float* streams, size_t count) {
  std::vector<int32_t> drafts;
  kv::PageTable ahead = table.Fork();
  std::vector<float> last(streams, streams + weights_.shape.hidden_width());
  while (drafts.size() < count) {
    const Output output = TRY(Guess(ahead, {&token, 1}, last.data(), Wanted::kLast));
    token = static_cast<int32_t>(context_.ops().argmax(output.logits.data(), output.logits.size()));
    drafts.push_back(token);
    last.assign(output.hidden.begin(), output.hidden.end());
  }
  return drafts;
}

}  // namespace aster::model
