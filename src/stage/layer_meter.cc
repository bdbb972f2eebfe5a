// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/layer_meter.h"
#include "model/files/support.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/machine.h"
#include "base/random.h"
#include "engine/local_model.h"
#include "engine/measure.h"
#include "stage/file_slice_source.h"

namespace aster::stage {
namespace {

constexpr uint64_t kLeastBytes = uint64_t{64} << 20;
constexpr uint64_t kMostBytes = uint64_t{256} << 20;
constexpr uint64_t kMostLayerBytes = uint64_t{512} << 20;
constexpr uint64_t kKvBytes = uint64_t{256} << 20;

constexpr uint32_t kFrames[] = {128, 64, 16};  // rows
constexpr uint32_t kFramePasses = 2;
constexpr uint32_t kTokenPasses = 7;

// Frames of one text, one behind the other.
class Text {
 public:
  Text(engine::LocalModel& model, const Clock& clock)
      : model_(model), clock_(clock), table_(model.NewTable()), random_(1) {}

  // The shortest time of some passes, so that another program that takes a core at times does not
  // matter.
  Result<WorkRate::Times> Best(uint32_t rows, uint32_t passes) {
    WorkRate::Times best = TRY(Compute(rows));
    for (uint32_t pass = 1; pass < passes; ++pass) {
      const WorkRate::Times times = TRY(Compute(rows));
      if (times.seconds < best.seconds) best = times;
    }
    return best;
  }
  Result<WorkRate::Times> Compute(uint32_t rows) {
    const std::vector<int32_t> tokens =
        engine::RandomTokens(rows, model_.shape().vocab_size, /*stream=*/table_.length());
    std::vector<float> hidden(size_t{rows} * model_.shape().hidden_width());
    for (float& value : hidden)
      value = static_cast<float>(static_cast<int64_t>(random_.NextBelow(2001)) - 1000) / 1000;
    const model::Slice& slice = model_.slice();
    const model::Segment segment{
        .table = &table_,
        .tokens = tokens,
        .hidden = slice.embedding ? nullptr : hidden.data(),
        .wanted = slice.head ? model::Wanted::kLast : model::Wanted::kNone};
    const int64_t start_ns = clock_.NowNs();
    TRY(model_.Run({&segment, 1}));
    return WorkRate::Times{.seconds = 1e-9 * static_cast<double>(clock_.NowNs() - start_ns),
                           .rows = rows,
                           .context = table_.length()};
  }

 private:
  engine::LocalModel& model_;
  const Clock& clock_;
  kv::PageTable table_;
  Random random_;
};

}  // namespace

std::optional<model::Slice> SliceToMeasure(const gguf::ModelFiles& files,
                                           const model::Shape& shape) {
  const uint64_t wanted_bytes =
      std::clamp(2 * DetectCacheSizes().l3_bytes, kLeastBytes, kMostBytes);
  const model::Slice whole = model::Slice::Whole(shape);
  if (SliceBytes(files, shape, whole) <= wanted_bytes) return whole;
  // Without the last layer: with it, the head belongs to the slice.
  const uint32_t end = shape.layer_count - 1;
  for (uint32_t begin = shape.layer_count / 2; begin < end; ++begin) {
    if (!shape.can_begin(begin)) continue;
    model::Slice slice{begin, begin, false, false};
    uint64_t bytes = 0;
    while (slice.layer_end < end && bytes < wanted_bytes) {
      ++slice.layer_end;
      bytes = SliceBytes(files, shape, slice);
    }
    if (bytes > wanted_bytes + kMostLayerBytes) return std::nullopt;
    return slice;
  }
  return std::nullopt;
}

Result<std::vector<WorkRate>> MeasureLayers(const Hash128& fingerprint,
                                            const gguf::ModelFiles& files, size_t threads,
                                            const Clock& clock) {
  const model::Shape shape = TRY(model::ShapeOf(files));
  const std::optional<model::Slice> slice = SliceToMeasure(files, shape);
  if (!slice || SliceBytes(files, shape, *slice) > DetectMemory().available_bytes / 4)
    return std::vector<WorkRate>();
  engine::LocalModelOptions options;
  options.threads = threads;
  options.slice = slice;
  options.memory_bytes = kKvBytes;
  options.name = fingerprint;
  const std::unique_ptr<engine::LocalModel> model = TRY(engine::LocalModel::Load(files, options));
  Text text(*model, clock);
  WorkRate rate{.fingerprint = fingerprint, .slice = *slice, .token = {}, .chunk = {}};
  std::vector<WorkRate> rates;
  for (const uint32_t rows : kFrames) {
    rate.chunk = TRY(text.Best(rows, kFramePasses));
    rates.push_back(rate);
  }
  rates.front().token = TRY(text.Best(1, kTokenPasses));
  return rates;
}

void AddMeasured(std::span<const WorkRate> measured, double token_factor, double chunk_factor,
                 std::vector<WorkRate>& rates) {
  const std::vector<WorkRate> seen = rates;
  for (WorkRate rate : measured) {
    for (const WorkRate& other : seen) {
      if (other.fingerprint != rate.fingerprint) continue;
      if (other.token.rows > 0) rate.token = {};
      if (other.chunk.rows > 0) rate.chunk = {};
    }
    if (rate.token.rows == 0 && rate.chunk.rows == 0) continue;
    rate.token.seconds *= token_factor;
    rate.chunk.seconds *= chunk_factor;
    rates.push_back(rate);
  }
}

}  // namespace aster::stage
