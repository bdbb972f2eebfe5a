// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "compute/commands.h"

namespace aster::compute {
namespace {

Error OnProcessorOnly() {
  return Unimplemented("experts are computed in parts on the processor only");
}

Error BlocksOnProcessorOnly() {
  return Unimplemented("rows are put together of 8-bit blocks on the processor only");
}

}  // namespace

Result<Bytes> Commands::DownloadBlocks(kernels::ActivationFormat, const Tensor&) {
  return BlocksOnProcessorOnly();
}

Status Commands::SetInParts(Operand&, kernels::ActivationFormat, size_t, size_t) {
  return BlocksOnProcessorOnly();
}

Status Commands::UploadBlocks(Bytes, Operand&, const BlockColumns&) {
  return BlocksOnProcessorOnly();
}

Status Commands::ExpandExperts(const ExpertSum&, const Tensor&) { return OnProcessorOnly(); }

Status Commands::ContractExperts(const ExpertSum&, Operand&, Operand&) { return OnProcessorOnly(); }

Result<std::span<const int32_t>> Commands::ReadChoice(const Tensor&) { return OnProcessorOnly(); }

Status Commands::SumOwnExperts(const ExpertSum&, const OwnExperts&) { return OnProcessorOnly(); }

Status Commands::AddSums(std::span<int64_t>, std::span<const uint32_t>, std::span<const int64_t>,
                         size_t) {
  return OnProcessorOnly();
}

Status Commands::FinishSums(std::span<const int64_t>, const Tensor&) { return OnProcessorOnly(); }

}  // namespace aster::compute
