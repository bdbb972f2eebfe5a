// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/load_tokenizer.h"

#include "base/utf8.h"
#include "text/vocab_reader.h"

namespace aster::open {

Result<std::unique_ptr<text::Tokenizer>> LoadTokenizer(const gguf::ModelFiles& files,
                                                       std::string_view path, Reporter& reporter) {
  auto vocab = text::ReadVocab(files.metadata());
  if (!vocab.ok()) return std::move(vocab).error().In(path);
  for (const std::string& note : vocab->notes) reporter.Complain("note", ForDisplay(note));
  return text::Tokenizer::Make(*std::move(vocab)).In(path);
}

}  // namespace aster::open
