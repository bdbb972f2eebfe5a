// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Reads a vocabulary from a model file's metadata. Must not know how tokens are used.
#pragma once

#include "base/result.h"
#include "gguf/metadata.h"
#include "text/vocab.h"

namespace aster::text {

// Whether there is one at all.
bool HasVocab(const gguf::Metadata& metadata);
// Copies what it needs; the file may be closed then. Validated.
Result<Vocab> ReadVocab(const gguf::Metadata& metadata);

}  // namespace aster::text
