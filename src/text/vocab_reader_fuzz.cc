// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Tokenizers of malformed model files.

#include <cstdint>

#include "base/check.h"
#include "gguf/file.h"
#include "text/tokenizer.h"
#include "text/vocab_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aster;  // tidy: allow(using-namespace) short names here only
  const auto file = gguf::File::Parse({data, size});
  if (!file.ok()) return 0;
  auto vocab = text::ReadVocab(file->metadata());
  if (!vocab.ok()) return 0;
  // The tokenizer must accept everything that the reader accepts.
  const auto tokenizer = text::Tokenizer::Make(*std::move(vocab));
  CHECK(tokenizer.ok());
  const auto ids = (*tokenizer)->Encode("The \xFF fox\n\n12", {.add_special = true});
  CHECK(ids.ok() && (*tokenizer)->Decode(*ids, {}).ok());
  return 0;
}
