// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "compute/commands.h"

namespace aster::compute {
namespace {

Error OnProcessorOnly() {
  return Unimplemented("experts are expanded and contracted apart on the processor only");
}

Error StatesOnProcessorOnly() {
  return Unimplemented("states in place of keys and values are on the processor only");
}

}  // namespace

Status Commands::ExpandExperts(const ExpertSum&, const Tensor&) { return OnProcessorOnly(); }

Status Commands::ContractExperts(const ExpertSum&, Operand&) { return OnProcessorOnly(); }

Status Commands::RunDeltaNet(const DeltaNet&) { return StatesOnProcessorOnly(); }

Status Commands::GateBySigmoid(const Tensor&, const Tensor&) { return StatesOnProcessorOnly(); }

}  // namespace aster::compute
