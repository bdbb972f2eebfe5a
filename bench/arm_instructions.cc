// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Computes one product of a matrix several times; arm_instructions.py counts the instructions
// executed. Their number does not depend on the values, so all are zero.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/float_mode.h"
#include "kernels/activations.h"
#include "kernels/isa_choice.h"
#include "kernels/matmul.h"
#include "kernels/pack.h"

namespace aster::kernels {
namespace {

WeightType TypeNamed(std::string_view name) {
  for (int i = 0; i < kWeightTypeCount; ++i) {
    if (name == WeightTypeName(static_cast<WeightType>(i))) return static_cast<WeightType>(i);
  }
  std::fprintf(stderr, "no such type\n");
  std::exit(2);
}

size_t NumberOf(std::string_view text) {
  size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

struct alignas(kPackedAlignment) Line {
  uint8_t bytes[kPackedAlignment];
};
std::vector<Line> Zeros(size_t bytes) { return std::vector<Line>(bytes / sizeof(Line) + 1); }

int Main(char** arguments) {
  const Result<Isa> isa = IsaFromName(arguments[1]);
  if (!isa.ok()) {
    std::fprintf(stderr, "%s\n", isa.error().message().c_str());
    return 2;
  }
  const WeightType type = TypeNamed(arguments[2]);
  const size_t outputs = NumberOf(arguments[3]);
  const size_t columns = NumberOf(arguments[4]);
  const size_t rows = NumberOf(arguments[5]);
  const ComputeFloatMode mode;
  const std::vector<Line> weights = Zeros(PanelCount(outputs) * PanelBytes(type, columns));
  const std::vector<Line> activations =
      Zeros(ActivationBytes(ActivationFormatFor(type), rows, columns));
  std::vector<float> out(outputs * rows);
  const MatmulJob job = {.weights = weights.data(),
                         .rows = outputs,
                         .columns = columns,
                         .activations = activations.data(),
                         .activation_rows = rows,
                         .first_row = 0,
                         .batch = rows,
                         .out = out.data(),
                         .out_stride = outputs,
                         .to_rows = nullptr};
  for (size_t left = NumberOf(arguments[6]); left > 0; --left) {
    Matmul(*isa, type, job, 0, PanelCount(outputs));
  }
  return 0;
}

}  // namespace
}  // namespace aster::kernels

int main(int count, char** arguments) {
  if (count == 7) return aster::kernels::Main(arguments);
  std::fprintf(stderr, "arm_instructions ISA TYPE OUTPUTS COLUMNS ROWS TIMES\n");
  return 2;
}
