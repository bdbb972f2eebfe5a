// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "quant/quantize_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/checked.h"
#include "base/mutex.h"
#include "gguf/writer.h"
#include "quant/dequantize.h"
#include "quant/quantize.h"

namespace aster::quant {
namespace {

// A row is divided into pieces of at most this many weights: whole blocks of every type, and small
// enough for a core's own cache.
constexpr uint64_t kPieceElements = 64 * 1024;
// Weights that are converted between two writes.
constexpr uint64_t kBatchElements = 4 * 1024 * 1024;
// Tensors with unchanged type are copied in pieces of this many bytes.
constexpr size_t kCopyBytes = 16 << 20;

// The place of a piece in a tensor.
struct Piece {
  uint64_t row;
  uint64_t begin;  // within the row
  uint64_t count;  // of elements
};

// A tensor as a sequence of pieces, and their conversion.
class TensorConversion {
 public:
  explicit TensorConversion(const PlannedTensor& planned)
      : planned_(planned),
        row_elements_(planned.tensor->dims[0]),
        pieces_per_row_(DivideUp(row_elements_, kPieceElements)),
        row_bytes_in_(*gguf::RowBytes(planned.tensor->type, row_elements_)),
        row_bytes_out_(*gguf::RowBytes(planned.type, row_elements_)) {}

  uint64_t piece_count() const {
    return row_elements_ == 0 ? 0
                              : planned_.tensor->element_count / row_elements_ * pieces_per_row_;
  }
  Piece PieceAt(uint64_t index) const {
    const uint64_t begin = index % pieces_per_row_ * kPieceElements;
    return {index / pieces_per_row_, begin, std::min(kPieceElements, row_elements_ - begin)};
  }
  // Where a piece's bytes begin in the new tensor.
  uint64_t OffsetOut(uint64_t index) const {
    if (index == piece_count()) return planned_.bytes;
    const Piece piece = PieceAt(index);
    return piece.row * row_bytes_out_ + *gguf::RowBytes(planned_.type, piece.begin);
  }
  uint64_t OffsetIn(uint64_t index) const {
    if (index == piece_count()) return planned_.tensor->data.size();
    const Piece piece = PieceAt(index);
    return piece.row * row_bytes_in_ + *gguf::RowBytes(planned_.tensor->type, piece.begin);
  }

  struct Scratch {
    std::vector<float> weights;
    std::vector<float> back;  // the weights, read from the new type
  };

  Result<QuantizeError> Convert(uint64_t index, std::span<uint8_t> out, Scratch& scratch) const {
    const Piece piece = PieceAt(index);
    scratch.weights.resize(piece.count);
    scratch.back.resize(piece.count);
    const Bytes in =
        planned_.tensor->data.subspan(OffsetIn(index), OffsetIn(index + 1) - OffsetIn(index));
    TRY(Dequantize(planned_.tensor->type, in, scratch.weights));
    TRY(Quantize(planned_.type, scratch.weights, out, ImportanceOf(piece)).In(Where(piece)));
    TRY(Dequantize(planned_.type, out, scratch.back));
    return Compare(scratch);
  }

 private:
  const float* ImportanceOf(const Piece& piece) const {
    if (planned_.importance.empty()) return nullptr;
    const uint64_t matrix = piece.row / planned_.tensor->dims[1];
    return planned_.importance.data() + matrix * row_elements_ + piece.begin;
  }

  std::string Where(const Piece& piece) const {
    return fmt::format("'{}', row {} from weight {}", planned_.tensor->name, piece.row,
                       piece.begin);
  }

  static QuantizeError Compare(const Scratch& scratch) {
    QuantizeError error;
    for (size_t i = 0; i < scratch.weights.size(); ++i) {
      const double weight = scratch.weights[i];
      const double difference = weight - scratch.back[i];
      error.squared_error += difference * difference;
      error.squared_norm += weight * weight;
    }
    return error;
  }

  const PlannedTensor& planned_;
  const uint64_t row_elements_;
  const uint64_t pieces_per_row_;
  const uint64_t row_bytes_in_;
  const uint64_t row_bytes_out_;
};

// The failure that is first in the file, independent of threads.
class FirstFailure {
 public:
  void Note(uint64_t index, Error error) EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    if (error_.has_value() && index_ < index) return;
    index_ = index;
    error_ = std::move(error);
  }
  Status status() EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    if (error_.has_value()) return *error_;
    return Ok();
  }

 private:
  Mutex mu_;
  uint64_t index_ GUARDED_BY(mu_) = 0;
  std::optional<Error> error_ GUARDED_BY(mu_);
};

class ModelConversion {
 public:
  ModelConversion(const gguf::ModelFiles& files, const QuantizePlan& plan, ThreadPool& pool,
                  const QuantizeProgress& progress)
      : files_(files),
        plan_(plan),
        pool_(pool),
        progress_(progress),
        scratch_(pool.thread_count()) {}

  Result<QuantizeReport> Write(const std::string& path) {
    std::vector<gguf::TensorSpec> specs;
    for (const PlannedTensor& planned : plan_.tensors) {
      specs.push_back(gguf::TensorSpec::Like(*planned.tensor));
      specs.back().type = planned.type;
    }
    gguf::Writer writer = TRY(gguf::Writer::Create(path, plan_.metadata, specs));
    QuantizeReport report;
    for (const PlannedTensor& planned : plan_.tensors) {
      QuantizeError error;
      TRY(planned.converts() ? ConvertTensor(planned, writer, error) : CopyTensor(planned, writer));
      report.errors.push_back(error);
    }
    report.file_bytes = writer.file_bytes();
    TRY(writer.Finish());
    return report;
  }

 private:
  Status CopyTensor(const PlannedTensor& planned, gguf::Writer& writer) {
    const Bytes data = planned.tensor->data;
    for (size_t begin = 0; begin < data.size(); begin += kCopyBytes) {
      const size_t size = std::min(kCopyBytes, data.size() - begin);
      TRY(writer.Append(planned.tensor->name, data.subspan(begin, size)));
      Done(planned, begin, begin + size);
    }
    return Ok();
  }

  Status ConvertTensor(const PlannedTensor& planned, gguf::Writer& writer, QuantizeError& error) {
    const TensorConversion conversion(planned);
    const uint64_t count = conversion.piece_count();
    uint64_t begin = 0;
    while (begin < count) {
      uint64_t end = begin;
      uint64_t elements = 0;
      while (end < count && elements < kBatchElements) {
        elements += conversion.PieceAt(end++).count;
      }
      TRY(ConvertBatch(conversion, begin, end, error));
      TRY(writer.Append(planned.tensor->name, out_));
      Done(planned, conversion.OffsetIn(begin), conversion.OffsetIn(end));
      begin = end;
    }
    return Ok();
  }

  // Leaves the batch's bytes in out_.
  Status ConvertBatch(const TensorConversion& conversion, uint64_t begin, uint64_t end,
                      QuantizeError& error) {
    const uint64_t first_byte = conversion.OffsetOut(begin);
    out_.resize(conversion.OffsetOut(end) - first_byte);
    errors_.assign(end - begin, {});
    FirstFailure failure;
    // Pieces may be rows of a few weights: a thread takes several at once.
    const uint64_t chunk = std::max<uint64_t>((end - begin) / (pool_.thread_count() * 8), 1);
    pool_.ParallelForDynamic(
        end - begin, chunk, [&](size_t first, size_t last, size_t thread_index) {
          for (size_t i = first; i < last; ++i) {
            const uint64_t from = conversion.OffsetOut(begin + i) - first_byte;
            const uint64_t to = conversion.OffsetOut(begin + i + 1) - first_byte;
            auto converted = conversion.Convert(begin + i, std::span(out_).subspan(from, to - from),
                                                scratch_[thread_index]);
            if (converted.ok()) {
              errors_[i] = *converted;
            } else {
              failure.Note(i, std::move(converted).error());
            }
          }
        });
    // Added in order, so that the sum does not depend on threads.
    for (const QuantizeError& piece_error : errors_) error += piece_error;
    return failure.status();
  }

  void Done(const PlannedTensor& planned, uint64_t begin, uint64_t end) {
    files_.files()[planned.file_index].mapped().DontNeed(planned.tensor->offset + begin,
                                                         end - begin);
    done_bytes_ += end - begin;
    if (progress_) progress_(done_bytes_, plan_.bytes_before);
  }

  const gguf::ModelFiles& files_;
  const QuantizePlan& plan_;
  ThreadPool& pool_;
  const QuantizeProgress& progress_;
  std::vector<TensorConversion::Scratch> scratch_;  // one per thread
  std::vector<uint8_t> out_;
  std::vector<QuantizeError> errors_;  // of a batch's pieces
  uint64_t done_bytes_ = 0;
};

}  // namespace

double QuantizeError::Relative() const {
  return squared_norm > 0 ? std::sqrt(squared_error / squared_norm) : 0;
}

QuantizeError& QuantizeError::operator+=(const QuantizeError& other) {
  squared_error += other.squared_error;
  squared_norm += other.squared_norm;
  return *this;
}

Result<QuantizeReport> WriteQuantized(const gguf::ModelFiles& files, const QuantizePlan& plan,
                                      const std::string& path, ThreadPool& pool,
                                      const QuantizeProgress& progress) {
  for (const gguf::File& file : files.files()) {
    const auto existing = IdentifyFile(path);
    if (existing.ok() && *existing == file.mapped().identity()) {
      return InvalidArgument(
          fmt::format("{} is part of the model that is read; give the result another name", path));
    }
  }
  return ModelConversion(files, plan, pool, progress).Write(path);
}

}  // namespace aster::quant
