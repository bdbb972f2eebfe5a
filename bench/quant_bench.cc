// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How fast one thread quantises and dequantises rows, and how large the error is: the relative root
// mean square over made-up rows of several shapes, without importance and with (then each squared
// difference is weighted by its importance).

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "quant/dequantize.h"
#include "quant/quantize.h"
#include "weight_rows.h"

namespace aster::bench {
namespace {

using gguf::TensorType;

constexpr TensorType kTypes[] = {
    TensorType::kF16,   TensorType::kBF16, TensorType::kQ8_0,   TensorType::kQ6_K,
    TensorType::kQ5_K,  TensorType::kQ5_1, TensorType::kQ5_0,   TensorType::kQ4_K,
    TensorType::kQ4_1,  TensorType::kQ4_0, TensorType::kIQ4_NL, TensorType::kIQ4_XS,
    TensorType::kMXFP4, TensorType::kQ3_K, TensorType::kQ2_K,   TensorType::kIQ2_XXS,
};

// Rows of one type, as a file has them.
class QuantizedRows {
 public:
  explicit QuantizedRows(TensorType type)
      : type_(type),
        row_bytes_(gguf::RowBytes(type, kRowElements).value()),
        bytes_(kRowCount * row_bytes_) {}

  void Quantize(const WeightRows& rows, const float* importance) {
    for (size_t i = 0; i < kRowCount; ++i) {
      const auto row = std::span(rows.weights).subspan(i * kRowElements, kRowElements);
      CHECK(quant::Quantize(type_, row, RowAt(i), importance).ok());
    }
  }
  void Dequantize(std::vector<float>& weights) {
    for (size_t i = 0; i < kRowCount; ++i) {
      const auto row = std::span(weights).subspan(i * kRowElements, kRowElements);
      CHECK(quant::Dequantize(type_, RowAt(i), row).ok());
    }
  }

 private:
  std::span<uint8_t> RowAt(size_t i) {
    return std::span(bytes_).subspan(i * row_bytes_, row_bytes_);
  }

  TensorType type_;
  size_t row_bytes_;
  std::vector<uint8_t> bytes_;
};

double RelativeError(const WeightRows& rows, const std::vector<float>& back, bool weighted) {
  double error = 0;
  double norm = 0;
  for (size_t i = 0; i < back.size(); ++i) {
    const double importance = weighted ? rows.importance[i % kRowElements] : 1;
    const double difference = static_cast<double>(rows.weights[i]) - back[i];
    error += importance * difference * difference;
    norm += importance * rows.weights[i] * rows.weights[i];
  }
  return std::sqrt(error / norm);
}

void ReportWeights(benchmark::State& state) {
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kRowCount * kRowElements));
}

void BM_Quantize(benchmark::State& state, TensorType type, std::string_view shape, bool weighted) {
  const WeightRows rows = MakeWeightRows(shape);
  QuantizedRows quantized(type);
  for (auto _ : state) quantized.Quantize(rows, weighted ? rows.importance.data() : nullptr);
  std::vector<float> back(rows.weights.size());
  quantized.Dequantize(back);
  state.counters["error"] = RelativeError(rows, back, weighted);
  ReportWeights(state);
}

void BM_Dequantize(benchmark::State& state, TensorType type) {
  const WeightRows rows = MakeWeightRows("normal");
  QuantizedRows quantized(type);
  quantized.Quantize(rows, nullptr);
  std::vector<float> back(rows.weights.size());
  for (auto _ : state) {
    quantized.Dequantize(back);
    benchmark::ClobberMemory();
  }
  ReportWeights(state);
}

void RegisterAll() {
  for (const TensorType type : kTypes) {
    const std::string name = gguf::TensorTypeName(type);
    benchmark::RegisterBenchmark(("Dequantize/" + name).c_str(), BM_Dequantize, type)
        ->Unit(benchmark::kMillisecond);
    for (const std::string_view shape : kWeightShapes) {
      for (const bool weighted : {false, true}) {
        benchmark::RegisterBenchmark(
            fmt::format("Quantize/{}/{}{}", name, shape, weighted ? "/importance" : "").c_str(),
            BM_Quantize, type, shape, weighted)
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
}

}  // namespace
}  // namespace aster::bench

int main(int argc, char** argv) {
  aster::bench::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
