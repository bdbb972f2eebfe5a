// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// For any bytes, the accepted entries are possible, and read again unchanged.

#include <string>

#include "base/bytes.h"
#include "base/check.h"
#include "fetch/journal.h"

namespace aster::fetch {

void CheckText(const std::string& text) {
  static const std::vector<std::vector<uint64_t>> sizes = {{100, 200}, {}, {300}};
  constexpr Hash128 kManifest{1, 2};
  const Journal journal = ParseJournal(text, kManifest, sizes);
  CHECK(journal.tensors.size() == sizes.size() && journal.stamps.size() == sizes.size());
  for (size_t file = 0; file < sizes.size(); ++file) {
    CHECK(journal.tensors[file].size() == sizes[file].size());
    for (size_t i = 0; i < sizes[file].size(); ++i) {
      const TensorState& state = journal.tensors[file][i];
      CHECK(state.bytes <= sizes[file][i]);
      CHECK(!state.is_verified || state.bytes == sizes[file][i]);
    }
  }
  CHECK(ParseJournal(FormatJournal(journal, kManifest), kManifest, sizes) == journal);
}

// The same with right checksums, which the fuzzer cannot find.
std::string WithChecks(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string checked =
      FormatJournal({.tensors = {{{}, {}}, {}, {{}}}, .stamps = {{}, {}, {}}}, {1, 2});
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    checked += std::string(line) + " ";
    const uint64_t hash = Hash64Of(AsBytes(line));
    for (int shift = 60; shift >= 0; shift -= 4) checked += kDigits[(hash >> shift) & 15];
    checked += "\n";
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
  }
  return checked;
}

}  // namespace aster::fetch

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  aster::fetch::CheckText(text);
  aster::fetch::CheckText(aster::fetch::WithChecks(text));
  return 0;
}
