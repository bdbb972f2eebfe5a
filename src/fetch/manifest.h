// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A model without its weights: made on the machine with the files, checked and stored on another
// one. The format on disk is described in docs/fetch.md. Must not know peers.
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

// For files with this fingerprint.
rpc::ModelManifest MakeManifest(const gguf::ModelFiles& files,
                                const gguf::Fingerprint& fingerprint);

// Reads a tensor from `offset` on, in pieces of moderate size. NotFound if the files have no such
// tensor; an error of the sink ends it.
Status ReadTensor(const gguf::ModelFiles& files, std::string_view tensor, uint64_t offset,
                  const rpc::ByteSink& sink);

// A manifest is not trusted, but its fingerprint can be computed: an error unless its tensors and
// keys are those of the model. Returns the model's files without their data.
Result<gguf::ModelFiles> CheckManifest(const rpc::ModelManifest& manifest,
                                       const Hash128& fingerprint);

// Joins files with some layers each into one model; an error says why they do not belong together.
// The fingerprint is that of all of them.
Result<rpc::ModelManifest> JoinManifests(std::span<const rpc::ModelManifest* const> parts);

std::vector<uint8_t> FormatManifest(const rpc::ModelManifest& manifest);
Result<rpc::ModelManifest> ParseManifest(Bytes bytes);

}  // namespace aster::fetch
