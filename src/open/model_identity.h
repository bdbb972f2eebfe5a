// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which model some files are, for what is kept longer than a command runs: its name for people and
// its fingerprint for machines. Must not know what is kept.
#pragma once

#include <optional>
#include <string>

#include "base/hash.h"
#include "base/result.h"
#include "gguf/model_files.h"
#include "open/reporter.h"

namespace aster::open {

// Reads every byte of the weights once, with progress; of large files, what comes out is kept
// beside them.
Result<Hash128> FingerprintOf(const gguf::ModelFiles& files, Reporter& reporter);

// The same where it costs little: of small models, and of those whose hashes are kept.
std::optional<Hash128> KnownFingerprintOf(const gguf::ModelFiles& files, Reporter& reporter);

// What its metadata calls it, or else its file's name.
std::string ModelName(const gguf::ModelFiles& files);

}  // namespace aster::open
