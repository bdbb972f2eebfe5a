// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The identity of a model for data that outlives a command: its name for users and its fingerprint
// for machines. Must not know what is stored.
#pragma once

#include <optional>
#include <string>

#include "base/hash.h"
#include "base/result.h"
#include "gguf/model_files.h"
#include "open/reporter.h"

namespace aster::open {

// Reads every byte of the weights once, with progress; for large files the result is stored beside
// them.
Result<Hash128> FingerprintOf(const gguf::ModelFiles& files, Reporter& reporter);

// The same if it is cheap: for small models, and for those with stored hashes.
std::optional<Hash128> KnownFingerprintOf(const gguf::ModelFiles& files, Reporter& reporter);

// The name in its metadata, or else its file's name.
std::string ModelName(const gguf::ModelFiles& files);

}  // namespace aster::open
