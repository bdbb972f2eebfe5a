// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Files with some layers each, on several machines. Nothing in a file says which others belong to
// it, but the fingerprint of the whole does, because it depends on the contents of all. Must not
// know how machines are asked.
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

// Some layers of a model, as their node describes them.
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

// The manifest of the model with that fingerprint, if some of the parts make it up.
std::optional<rpc::ModelManifest> FindWhole(const Hash128& fingerprint,
                                            std::span<const Part* const> parts);

// Whether the part agrees with the whole: its keys, tensors and contents.
bool IsPartOf(const rpc::ModelManifest& part, const rpc::ModelManifest& whole);

// "6 layers", or "layers 0-2 of 6" if the model has others.
std::string LayersText(const cluster::HeldModel& held);

}  // namespace aster::fetch
