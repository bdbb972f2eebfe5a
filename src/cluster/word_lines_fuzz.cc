// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Untrusted files: the accepted words are exactly those of the text.
#include "base/check.h"
#include "cluster/word_lines.h"

namespace aster::cluster {
namespace {

void Run(std::string_view text) {
  const auto lines = ParseWordLines(text, "heading 1");
  if (lines.ok()) {
    std::string again = "heading 1\n";
    for (const Words& words : *lines) {
      for (size_t i = 0; i < words.size(); ++i) {
        if (i > 0) again += ' ';
        again += words[i];
      }
      again += '\n';
    }
    CHECK(again == text);
  }
  const auto number = ParseNumber(text);
  if (number.ok()) CHECK(*number >> 63 == 0);
  const auto hash = ParseHash(text);
  if (hash.ok()) CHECK(hash->ToHex() == text);
  const auto bytes = ParseHex(text);
  if (bytes.ok()) CHECK(ToHex(*bytes) == text);
}

}  // namespace
}  // namespace aster::cluster

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  aster::cluster::Run(aster::AsText({data, size}));
  return 0;
}
