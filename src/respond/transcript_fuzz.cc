// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Any file is refused, or is a chat that can be written and read again unchanged.

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/check.h"
#include "respond/transcript.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint32_t kVocabSize = 300;
  const auto read = aster::respond::ReadTranscript(aster::AsText({data, size}), kVocabSize);
  if (!read.ok()) return 0;
  CHECK(read->vocab_size == kVocabSize &&
        aster::respond::WholeMessages(read->messages) == read->messages.size());
  for (const int32_t token : read->tokens) CHECK(token >= 0 && token < int32_t{kVocabSize});
  const auto again =
      aster::respond::ReadTranscript(aster::respond::WriteTranscript(*read), kVocabSize);
  CHECK(again.ok() && *again == *read);
  return 0;
}
