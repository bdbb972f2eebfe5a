// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/reference/reference_math_for_test.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/check.h"
#include "quant/dequantize.h"

namespace aster::model::reference {

const std::vector<float>& Weights::operator[](const std::string& name) const {
  std::vector<float>& values = values_[name];
  if (!values.empty()) return values;
  const gguf::Tensor* tensor = files_.FindTensor(name);
  CHECK_NOTE(tensor != nullptr, name);
  values.resize(tensor->element_count);
  CHECK(quant::Dequantize(tensor->type, tensor->data, values).ok());
  return values;
}

Row Multiply(const std::vector<float>& weights, const Row& x, size_t outputs, size_t first) {
  Row y(outputs);
  for (size_t o = 0; o < outputs; ++o) {
    for (size_t i = 0; i < x.size(); ++i) y[o] += double{weights[first + o * x.size() + i]} * x[i];
  }
  return y;
}

void Normalise(std::span<double> x, const std::vector<float>& weight, double epsilon) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  const double factor = 1.0 / std::sqrt(squares / static_cast<double>(x.size()) + epsilon);
  for (size_t i = 0; i < x.size(); ++i) x[i] *= factor * double{weight[i]};
}

double Stretched(const Rope& rope, double pair, double frequency) {
  const auto pair_of = [&](double turns) {
    const double wave =
        static_cast<double>(rope.original_context) / (turns * 2.0 * std::numbers::pi);
    return rope.dimensions * std::log(wave) / (2.0 * std::log(double{rope.base}));
  };
  const double low = std::max(0.0, std::floor(pair_of(double{rope.beta_fast})));
  const double high = std::min(rope.dimensions - 1.0, std::ceil(pair_of(double{rope.beta_slow})));
  const double ramp = std::clamp((pair - low) / (high - low), 0.0, 1.0);
  return frequency * (1.0 - ramp) + frequency / double{rope.factor} * ramp;
}

double Magnitude(const Rope& rope) {
  const double log = 0.1 * std::log(double{rope.factor});
  return (log + 1.0) / (double{rope.log_multiplier} * log + 1.0);
}

void Rotate(std::span<double> head, const Rope& rope, const std::vector<float>& factors,
            bool adjacent, size_t position) {
  const size_t pairs = rope.dimensions / 2;
  const bool is_yarn = rope.scaling == RopeScaling::kYarn;
  const double size = double{rope.attention_factor} * (is_yarn ? Magnitude(rope) : 1.0);
  for (size_t i = 0; i < pairs; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / rope.dimensions;
    double frequency = std::pow(double{rope.base}, exponent);
    if (!factors.empty()) frequency /= double{factors[i]};
    if (is_yarn) frequency = Stretched(rope, static_cast<double>(i), frequency);
    if (rope.scaling == RopeScaling::kLinear) frequency /= double{rope.factor};
    const double angle = static_cast<double>(position) * frequency;
    double& a = head[adjacent ? 2 * i : i];
    double& b = head[adjacent ? 2 * i + 1 : i + pairs];
    const double rotated = size * (a * std::cos(angle) - b * std::sin(angle));
    b = size * (a * std::sin(angle) + b * std::cos(angle));
    a = rotated;
  }
}

void NormaliseLayer(Row& row, const std::vector<float>& weight, const std::vector<float>& bias) {
  const auto count = static_cast<double>(row.size());
  const double mean = std::accumulate(row.begin(), row.end(), 0.0) / count;
  double variance = 0;
  for (const double value : row) variance += (value - mean) * (value - mean) / count;
  for (size_t i = 0; i < row.size(); ++i)
    row[i] = (row[i] - mean) / std::sqrt(variance + 1e-6) * double{weight[i]} + double{bias[i]};
}

double Gelu(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

void Add(Row& x, const Row& y) {
  for (size_t i = 0; i < x.size(); ++i) x[i] += y[i];
}

void Scale(Row& x, double factor) {
  for (double& value : x) value *= factor;
}

}  // namespace aster::model::reference
