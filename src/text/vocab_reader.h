// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Reads a vocabulary from a model file's metadata. Must not know how tokens are used.
#pragma once

#include "base/result.h"
#include "gguf/metadata.h"
#include "text/vocab.h"

namespace aster::text {

// Whether the file has one.
bool HasVocab(const gguf::Metadata& metadata);
// A validated copy; the file may be closed afterwards.
Result<Vocab> ReadVocab(const gguf::Metadata& metadata);

}  // namespace aster::text
