// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What tokens mean, as a digest: a drafter on another machine drafts for a model only where both
// digests are equal. Must not know who drafts.
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

// Of the tokens in their order.
Vocabulary VocabularyOf(std::span<const std::string> tokens);
// Of a model; where its files name no tokens, only their number tells vocabularies apart.
Result<Vocabulary> VocabularyOf(const gguf::ModelFiles& files);

}  // namespace aster::drafting
