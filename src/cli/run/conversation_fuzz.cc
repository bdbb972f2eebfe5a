// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whatever stands in a file: it is refused, or it is a conversation that is written and read again
// as it was.

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/check.h"
#include "cli/run/conversation.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint32_t kVocabSize = 300;
  const auto read = aster::cli::ReadConversation(aster::AsText({data, size}), kVocabSize);
  if (!read.ok()) return 0;
  CHECK(read->vocab_size == kVocabSize && read->messages.size() % 2 == 0);
  for (const int32_t token : read->tokens) CHECK(token >= 0 && token < int32_t{kVocabSize});
  const auto again = aster::cli::ReadConversation(aster::cli::WriteConversation(*read), kVocabSize);
  CHECK(again.ok() && *again == *read);
  return 0;
}
