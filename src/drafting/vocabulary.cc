// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "drafting/vocabulary.h"

#include "model/shape/shape.h"
#include "text/vocab_reader.h"

namespace aster::drafting {

Vocabulary VocabularyOf(std::span<const std::string> tokens) {
  Hasher hasher;
  for (const std::string& token : tokens) hasher.AddText(token);
  return {.digest = hasher.Digest(), .size = static_cast<uint32_t>(tokens.size())};
}

Result<Vocabulary> VocabularyOf(const gguf::ModelFiles& files) {
  const model::Shape shape = TRY(model::ReadShape(files.metadata()));
  if (!text::HasVocab(files.metadata())) {
    Hasher hasher;
    hasher.AddValue(shape.vocab_size);
    return Vocabulary{.digest = hasher.Digest(), .size = shape.vocab_size};
  }
  const text::Vocab vocab = TRY(text::ReadVocab(files.metadata()));
  // A model may have embedding rows for more tokens than its vocabulary names.
  return Vocabulary{.digest = VocabularyOf(vocab.tokens).digest, .size = shape.vocab_size};
}

}  // namespace aster::drafting
