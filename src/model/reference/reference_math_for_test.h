// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What the references in double precision have in common. Only for tests.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "gguf/model_files.h"
#include "model/shape/shape.h"

namespace aster::model::reference {

using Row = std::vector<double>;

// The weights of a model, each tensor dequantised once.
class Weights {
 public:
  explicit Weights(const gguf::ModelFiles& files) : files_(files) {}
  const std::vector<float>& operator[](const std::string& name) const;

 private:
  const gguf::ModelFiles& files_;
  mutable std::map<std::string, std::vector<float>> values_;
};

// y = W x, W being [outputs, x.size()] from element `first` on.
Row Multiply(const std::vector<float>& weights, const Row& x, size_t outputs, size_t first = 0);

void Normalise(std::span<double> x, const std::vector<float>& weight, double epsilon);

// LayerNorm: subtracts the mean, and has a bias.
void NormaliseLayer(Row& row, const std::vector<float>& weight, const std::vector<float>& bias);

// YaRN as in its paper, with the correction range widened to whole pairs, as for published files:
// fast pairs keep their frequency, slow ones are scaled, with a ramp between.
double Stretched(const Rope& rope, double pair, double frequency);

double Magnitude(const Rope& rope);

// `factors`: one for each pair, or none.
void Rotate(std::span<double> head, const Rope& rope, const std::vector<float>& factors,
            bool adjacent, size_t position);

double Gelu(double x);

void Add(Row& x, const Row& y);

void Scale(Row& x, double factor);

}  // namespace aster::model::reference
