// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The pipelines and tables of a device's kernels. A kernel is recorded into Commands by a function
// of this folder; all of them give the bits of src/kernels/ref. Must not know models.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "vulkan/driver/buffer.h"
#include "vulkan/driver/commands.h"
#include "vulkan/driver/pipelines.h"
#include "vulkan/kernel_use.h"

namespace aster::vulkan {

// A place in device memory. Rows start at multiples of four bytes, packed weights at multiples of
// Buffer::kAlignment.
using Address = uint64_t;

// The address for a pointer that a shader reads only on a condition. Some drivers read it before
// they know the condition, so it must always be valid memory, of at least that size.
inline Address Readable(Address wanted, Address otherwise) {
  return wanted != 0 ? wanted : otherwise;
}

// Workgroups in one dimension, which every device supports. row_groups.glsl has the same number.
inline constexpr uint32_t kRowGroups = 65535;

// For each of the eight elements of a tile in an invocation, in four bits: the first element with
// the same output, or row. If that is not known, the element itself.
struct MatrixElements {
  uint32_t same_output = 0x76543210;
  uint32_t same_row = 0x76543210;

  friend bool operator==(const MatrixElements&, const MatrixElements&) = default;
};

// Not for concurrent use. Outlived by its device.
class Kernels {
 public:
  static Result<std::unique_ptr<Kernels>> Create(Device& device, ShaderSource source,
                                                 Arithmetic arithmetic);

  Device& device() { return pipelines_.device(); }
  const Arithmetic& arithmetic() const { return pipelines_.arithmetic(); }

  // The kernels that were checked. From now on others are an error.
  void UseOnly(const KernelUse& use) { use_ = use; }
  const KernelUse& use() const { return use_; }

  // From now on products of many rows with quantised weights use cooperative matrices.
  void UseMatrices(const MatrixTile& tile, const MatrixElements& elements) {
    matrix_ = tile;
    matrix_elements_ = elements;
  }
  void UseNoMatrices(std::string why) {
    matrix_.reset();
    why_no_matrices_ = std::move(why);
  }
  const std::optional<MatrixTile>& matrix() const { return matrix_; }
  const MatrixElements& matrix_elements() const { return matrix_elements_; }
  const std::string& why_no_matrices() const { return why_no_matrices_; }

  // The points of IQ2_XXS, eight bytes each.
  Address grid() const { return tables_.address(); }

  // Records one dispatch; `push`: the shader's push constants.
  template <typename Push>
  Status Record(Commands& commands, std::string_view shader,
                std::initializer_list<uint32_t> constants, const Push& push, GroupCount groups,
                uint32_t subgroup = 0) {
    static_assert(sizeof(push) <= kPushConstantBytes);
    const Pipeline pipeline = TRY(pipelines_.Get(shader, constants, subgroup));
    commands.Dispatch(pipeline, {reinterpret_cast<const uint8_t*>(&push), sizeof(push)}, groups,
                      shader);
    return Ok();
  }

 private:
  Kernels(Device& device, ShaderSource source, Arithmetic arithmetic)
      : pipelines_(device, std::move(source), arithmetic) {}

  Pipelines pipelines_;
  KernelUse use_ = KernelUse::All();
  std::optional<MatrixTile> matrix_;
  MatrixElements matrix_elements_;
  std::string why_no_matrices_;
  Buffer tables_;
};

// An error that names the kernels if they were not checked.
Status CheckIsInUse(bool is_in_use, std::string_view kernels);

// Workgroups of `size` invocations for `count` elements; if there are too few, shaders loop.
GroupCount GroupsForElements(uint64_t count, uint32_t size);
// One workgroup a row, for shaders with row_groups.glsl.
GroupCount GroupsForRows(uint32_t rows);

inline constexpr uint32_t DivideRoundingUp(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

}  // namespace aster::vulkan
