// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/kernels/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "quant/lattice.h"
#include "vulkan/driver/uploader.h"

namespace aster::vulkan {

Result<std::unique_ptr<Kernels>> Kernels::Create(Device& device, ShaderSource source,
                                                 Arithmetic arithmetic) {
  // tidy: allow(ownership) the constructor is private
  std::unique_ptr<Kernels> kernels(new Kernels(device, std::move(source), arithmetic));
  const std::span<const uint8_t> grid(reinterpret_cast<const uint8_t*>(quant::kIq2XxsGrid.data()),
                                      sizeof(quant::kIq2XxsGrid));
  kernels->tables_ = TRY(Buffer::Allocate(device, grid.size(), MemoryKind::kDevice));
  Uploader uploader(device, grid.size());
  TRY(uploader.Write(grid, kernels->tables_, 0));
  return kernels;
}

Status CheckIsInUse(bool is_in_use, std::string_view kernels) {
  if (is_in_use) return Ok();
  return FailedPrecondition(fmt::format("{} were not checked on this GPU", kernels));
}

GroupCount GroupsForElements(uint64_t count, uint32_t size) {
  return {.x = static_cast<uint32_t>(std::min<uint64_t>((count + size - 1) / size, kRowGroups))};
}

GroupCount GroupsForRows(uint32_t rows) {
  return {.x = std::min(rows, kRowGroups), .y = DivideRoundingUp(rows, kRowGroups)};
}

}  // namespace aster::vulkan
