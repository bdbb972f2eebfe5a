// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A model without its weights: made where the files are, checked and kept where they are not. The
// format on disk is described in docs/fetch.md. Must not know peers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/result.h"
#include "gguf/fingerprint.h"
#include "gguf/model_files.h"
#include "rpc/control_service.h"

namespace aster::fetch {

// Of files whose fingerprint this is.
rpc::ModelManifest MakeManifest(const gguf::ModelFiles& files,
                                const gguf::Fingerprint& fingerprint);

// The bytes of a tensor from `offset` on, in pieces that are no burden. NotFound where the files
// have no such tensor; the sink's error ends it.
Status ReadTensor(const gguf::ModelFiles& files, std::string_view tensor, uint64_t offset,
                  const rpc::ByteSink& sink);

// A manifest is not trusted, but its fingerprint can be computed from what it says: tensors and
// keys are those of the model, or this is an error. Answers the model's files without their data.
Result<gguf::ModelFiles> CheckManifest(const rpc::ModelManifest& manifest,
                                       const Hash128& fingerprint);

// Of files that hold some layers each, as of one model; an error says why they are not of one. Its
// fingerprint is that of all of them together.
Result<rpc::ModelManifest> JoinManifests(std::span<const rpc::ModelManifest* const> parts);

std::vector<uint8_t> FormatManifest(const rpc::ModelManifest& manifest);
Result<rpc::ModelManifest> ParseManifest(Bytes bytes);

}  // namespace aster::fetch
