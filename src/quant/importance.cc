// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "quant/importance.h"

#include <fmt/format.h>

#include <cmath>

#include "base/mapped_file.h"
#include "gguf/file.h"
#include "quant/dequantize.h"

namespace aster::quant {

class ImportanceReader {
 public:
  Result<ImportanceMatrix> Read(Bytes bytes) {
    const bool is_gguf = bytes.size() >= 4 && AsText(bytes.first(4)) == "GGUF";
    TRY(is_gguf ? ReadGguf(bytes) : ReadPlain(bytes));
    if (result_.values_.empty()) return InvalidArgument("an importance matrix without any entry");
    return std::move(result_);
  }

 private:
  // Tensor NAME.in_sum2 has sums of squares [columns, matrices], NAME.counts the numbers of
  // summands [1, matrices].
  Status ReadGguf(Bytes bytes) {
    const gguf::File file = TRY(gguf::File::Parse(bytes));
    result_.chunk_count_ = TRY(file.metadata().GetOr<uint32_t>("imatrix.chunk_count", 0));
    constexpr std::string_view kSums = ".in_sum2";
    for (const gguf::Tensor& tensor : file.tensors()) {
      if (!tensor.name.ends_with(kSums)) continue;
      const std::string_view name = tensor.name.substr(0, tensor.name.size() - kSums.size());
      const gguf::Tensor* counts = file.FindTensor(fmt::format("{}.counts", name));
      if (counts == nullptr) {
        return DataLoss(fmt::format("'{}' has sums but no counts", name));
      }
      std::vector<float> means = TRY(Numbers(tensor));
      TRY(Divide(name, means, TRY(Numbers(*counts))));
      TRY(Add(name, std::move(means)));
    }
    return Ok();
  }

  static Result<std::vector<float>> Numbers(const gguf::Tensor& tensor) {
    if (tensor.type != gguf::TensorType::kF32) {
      return InvalidArgument(
          fmt::format("'{}' is {}, not F32", tensor.name, gguf::TensorTypeName(tensor.type)));
    }
    std::vector<float> numbers(tensor.element_count);
    TRY(Dequantize(tensor.type, tensor.data, numbers));
    return numbers;
  }

  // A matrix without inputs (an expert that no token chose) has no preferences.
  static Status Divide(std::string_view name, std::vector<float>& sums,
                       const std::vector<float>& counts) {
    if (counts.empty() || sums.size() % counts.size() != 0) {
      return DataLoss(
          fmt::format("'{}' has {} sums for {} counts", name, sums.size(), counts.size()));
    }
    const size_t columns = sums.size() / counts.size();
    for (size_t i = 0; i < sums.size(); ++i) {
      const float count = counts[i / columns];
      sums[i] = count > 0 ? sums[i] / count : 1;
    }
    return Ok();
  }

  // A count of entries; for each its name, its number of calls, and its means times that number.
  // After them, in newer files, the number of chunks and the name of the text.
  Status ReadPlain(Bytes bytes) {
    ByteReader in(bytes);
    constexpr size_t kLeastEntryBytes = 3 * sizeof(uint32_t);
    const auto entry_count = TRY(in.ReadCount<uint32_t>(kLeastEntryBytes));
    for (uint32_t i = 0; i < entry_count; ++i) TRY(ReadPlainEntry(in));
    if (in.left() >= sizeof(uint32_t)) result_.chunk_count_ = TRY(in.Read<uint32_t>());
    return Ok();
  }

  Status ReadPlainEntry(ByteReader& in) {
    const auto name_bytes = TRY(in.ReadCount<uint32_t>(1));
    const std::string_view name = AsText(TRY(in.ReadBytes(name_bytes)));
    const auto calls = TRY(in.Read<int32_t>());
    const auto value_count = TRY(in.ReadCount<uint32_t>(sizeof(float)));
    std::vector<float> means(value_count);
    for (float& mean : means) {
      mean = TRY(in.Read<float>());
      if (calls > 0) mean /= static_cast<float>(calls);
    }
    return Add(name, std::move(means));
  }

  Status Add(std::string_view name, std::vector<float> means) {
    for (const float mean : means) {
      if (!std::isfinite(mean) || mean < 0) {
        return DataLoss(
            fmt::format("'{}' holds {}, which cannot be a mean of squares", name, mean));
      }
    }
    if (means.empty()) return DataLoss(fmt::format("'{}' holds no numbers", name));
    const auto [entry, is_new] = result_.values_.emplace(name, std::move(means));
    if (!is_new) return DataLoss(fmt::format("two entries for '{}'", entry->first));
    return Ok();
  }

  ImportanceMatrix result_;
};

Result<ImportanceMatrix> ImportanceMatrix::Load(const std::string& path) {
  const MappedFile file = TRY(MappedFile::Open(path));
  return Parse(file.bytes()).In(path);
}

Result<ImportanceMatrix> ImportanceMatrix::Parse(Bytes bytes) {
  return ImportanceReader().Read(bytes);
}

std::span<const float> ImportanceMatrix::Find(std::string_view tensor_name) const {
  const auto found = values_.find(tensor_name);
  if (found == values_.end()) return {};
  return found->second;
}

}  // namespace aster::quant
