// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The digest of a vocabulary: a drafter on another machine drafts for a model only if both digests
// are equal. Must not know who drafts.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/hash.h"
#include "base/result.h"
#include "gguf/model_files.h"

namespace aster::drafting {

struct Vocabulary {
  Hash128 digest;
  uint32_t size = 0;
  bool operator==(const Vocabulary&) const = default;
};

// The digest of all tokens in their order.
Vocabulary VocabularyOf(std::span<const std::string> tokens);
// The digest of a model's vocabulary. If its files name no tokens, only their number counts.
Result<Vocabulary> VocabularyOf(const gguf::ModelFiles& files);

}  // namespace aster::drafting
