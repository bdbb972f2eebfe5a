// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/kernels/experts.h"

#include <fmt/format.h>

#include "base/check.h"
#include "kernels/packed.h"
#include "vulkan/kernels/type_names.h"

namespace aster::vulkan {
namespace {

using kernels::WeightType;

constexpr uint32_t kFloatOutputs = 64;  // of product_floats.comp

struct ChoosePush {
  Address scores;
  Address bias;
  Address given;
  Address ids;
  Address weights;
  uint32_t rows;
  uint32_t experts;
  uint32_t stride;
  uint32_t used;
  uint32_t has_bias;
  uint32_t is_given;
  uint32_t normalized;
  float lowest_sum;
  float scale;
};

struct ExpertPush {
  Address matrices;
  Address ids;
  Address activations;
  Address result;
  Address grid;
  uint32_t outputs;
  uint32_t columns;
  uint32_t activation_rows;
  uint32_t first_row;
  uint32_t rows;
  uint32_t out_stride;
  uint32_t sharing;
};

struct ExpertFloatPush {
  Address matrices;
  Address ids;
  Address activations;
  Address result;
  uint32_t outputs;
  uint32_t columns;
  uint32_t activation_rows;
  uint32_t first_row;
  uint32_t rows;
  uint32_t out_stride;
  uint32_t sharing;
};

}  // namespace

Status RecordChooseExperts(Kernels& kernels, Commands& commands, const ChooseExpertsJob& job) {
  const ChoosePush push{job.scores,
                        job.bias,
                        job.given,
                        job.ids,
                        job.weights,
                        job.rows,
                        job.experts,
                        job.stride,
                        job.used,
                        job.bias != 0 ? 1u : 0u,
                        job.given != 0 ? 1u : 0u,
                        job.spec.normalized ? 1u : 0u,
                        job.spec.lowest_sum,
                        job.spec.scale};
  return kernels.Record(commands, "choose_experts", {}, push, GroupsForRows(job.rows));
}

Status RecordExpertProduct(Kernels& kernels, Commands& commands, const ExpertProductJob& job) {
  CHECK(job.rows <= kRowGroups);
  const std::string name = fmt::format("product_experts_{}", NameOfType(job.type));
  if (job.type <= WeightType::kBF16) {
    const ExpertFloatPush push{job.matrices, job.ids,     job.activations,     job.result,
                               job.outputs,  job.columns, job.activation_rows, job.first_row,
                               job.rows,     job.outputs, job.sharing};
    return kernels.Record(commands, name, {1}, push,
                          {.x = DivideRoundingUp(job.outputs, kFloatOutputs), .y = job.rows});
  }
  const ExpertPush push{job.matrices,   job.ids,     job.activations, job.result,
                        kernels.grid(), job.outputs, job.columns,     job.activation_rows,
                        job.first_row,  job.rows,    job.outputs,     job.sharing};
  const auto panel = static_cast<uint32_t>(kernels::kPanelRows);
  return kernels.Record(commands, kernels.arithmetic().dot_products ? name + "_dot" : name, {1},
                        push, {.x = DivideRoundingUp(job.outputs, panel), .y = job.rows});
}

}  // namespace aster::vulkan
