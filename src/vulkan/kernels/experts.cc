// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/kernels/experts.h"

#include "base/check.h"
#include "vulkan/kernels/product_push.h"

namespace aster::vulkan {
namespace {

struct ChoosePush {
  Address scores;
  Address bias;
  Address given;
  Address ids;
  Address weights;
  Address scales;
  uint32_t rows;
  uint32_t experts;
  uint32_t stride;
  uint32_t used;
  uint32_t has_bias;
  uint32_t is_given;
  uint32_t normalized;
  float lowest_sum;
  float scale;
  uint32_t groups;
  uint32_t used_groups;
  uint32_t has_scales;
};

struct GroupPush {
  Address ids;
  Address slots;
  uint32_t slot_count;
  uint32_t experts;
  uint32_t together;
  uint32_t size;
};

constexpr uint32_t kAddInvocations = 256;  // of a workgroup of add_by_expert.comp

struct AddByExpertPush {
  Address biases;
  Address ids;
  Address y;
  uint32_t rows;
  uint32_t width;
};

}  // namespace

Status RecordChooseExperts(Kernels& kernels, Commands& commands, const ChooseExpertsJob& job) {
  CHECK(job.spec.groups <= kernels::kMaxExpertGroups && job.experts % job.spec.groups == 0);
  const ChoosePush push{job.scores,
                        Readable(job.bias, job.scores),
                        Readable(job.given, job.scores),
                        job.ids,
                        job.weights,
                        Readable(job.scales, job.scores),
                        job.rows,
                        job.experts,
                        job.stride,
                        job.used,
                        job.bias != 0 ? 1u : 0u,
                        job.given != 0 ? 1u : 0u,
                        job.spec.normalized ? 1u : 0u,
                        job.spec.lowest_sum,
                        job.spec.scale,
                        job.spec.groups,
                        job.spec.used_groups,
                        job.scales != 0 ? 1u : 0u};
  return kernels.Record(commands, "choose_experts", {}, push, GroupsForRows(job.rows));
}

Status RecordGroupExperts(Kernels& kernels, Commands& commands, const GroupExpertsJob& job) {
  const ExpertGroups& groups = job.groups;
  CHECK(groups.count >= MostGroups(job.slots, job.experts, groups.together));
  const GroupPush push{job.ids,     groups.slots,    job.slots,
                       job.experts, groups.together, groups.count * groups.together};
  return kernels.Record(commands, "group_experts", {}, push, {});
}

Status RecordExpertProduct(Kernels& kernels, Commands& commands, const ExpertProductJob& job) {
  const ExpertGroups& groups = job.groups;
  const bool is_grouped = groups.slots != 0;
  CHECK(is_grouped || groups.together == 1);
  const ProductPush push{.weights = job.matrices,
                         .ids = job.ids,
                         .slots = groups.slots,
                         .activations = job.activations,
                         .result = job.result,
                         .grid = kernels.grid(),
                         .sum = 0,
                         .outputs = job.outputs,
                         .columns = job.columns,
                         .activation_rows = job.activation_rows,
                         .first_row = job.first_row,
                         .rows = 0,
                         .out_stride = job.outputs,
                         .sharing = job.sharing,
                         .kind = is_grouped ? ProductRows::kSlotGroups : ProductRows::kEachSlot,
                         .sum_stride = 0};
  const ProductWay way = groups.together >= kMatrixRows ? ProductWay::kMatrix
                         : groups.together == kManyRows ? ProductWay::kMany
                                                        : ProductWay::kFew;
  return RecordProductPush(kernels, commands, job.type, push, {way, groups.together}, groups.count);
}

Status RecordAddByExpert(Kernels& kernels, Commands& commands, const AddByExpertJob& job) {
  const AddByExpertPush push{job.biases, job.ids, job.y, job.rows, job.width};
  return kernels.Record(commands, "add_by_expert", {}, push,
                        GroupsForElements(uint64_t{job.rows} * job.width, kAddInvocations));
}

}  // namespace aster::vulkan
