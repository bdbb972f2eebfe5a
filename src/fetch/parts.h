// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Files that each hold some layers, on as many machines. Nothing in a file says which others belong
// to it; the fingerprint of the whole does, because it follows from the contents of all of them.
// Must not know how machines are asked.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "cluster/description.h"
#include "gguf/fingerprint.h"
#include "gguf/model_files.h"
#include "rpc/control_service.h"

namespace aster::fetch {

// Some layers of a model, as the node that has them tells it.
struct Part {
  cluster::HeldModel description;
  rpc::ModelManifest manifest;
};

// The same on this machine, where every byte was hashed.
struct PartHere {
  Part part;
  std::shared_ptr<const gguf::ModelFiles> files;
  gguf::Fingerprint fingerprint;
};

// The manifest of the model with that fingerprint, where some of the parts make it up.
std::optional<rpc::ModelManifest> FindWhole(const Hash128& fingerprint,
                                            std::span<const Part* const> parts);

// Whether all that the part says is what the whole says, too: its keys, tensors and contents.
bool IsPartOf(const rpc::ModelManifest& part, const rpc::ModelManifest& whole);

// "6 layers", or "layers 0-2 of 6" where there are others elsewhere.
std::string LayersText(const cluster::HeldModel& held);

}  // namespace aster::fetch
