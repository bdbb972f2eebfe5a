// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whatever the strings and however the text is cut: the same text is shown as if it comes at once.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "engine/stops.h"

// The first byte is the number of stop strings; each line of the rest is one, then comes the text.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2 || size > 4096) return 0;
  std::string_view rest = aster::AsText({data, size});
  const size_t count = static_cast<uint8_t>(rest[0]) % 8;
  const size_t piece_bytes = 1 + static_cast<uint8_t>(rest[1]) % 16;
  rest.remove_prefix(2);
  std::vector<std::string> stops;
  while (stops.size() < count) {
    const size_t end = rest.find('\n');
    stops.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  if (!aster::engine::CheckStopStrings(stops).ok()) return 0;

  aster::engine::StopStrings whole(stops);
  std::string shown_whole;
  whole.Push(rest, shown_whole);
  if (!whole.found()) whole.Finish(shown_whole);

  aster::engine::StopStrings pieces(stops);
  std::string shown;
  for (size_t begin = 0; begin < rest.size() && !pieces.found(); begin += piece_bytes) {
    pieces.Push(rest.substr(begin, piece_bytes), shown);
  }
  if (!pieces.found()) pieces.Finish(shown);
  CHECK(shown == shown_whole && pieces.found() == whole.found());
  CHECK(rest.starts_with(shown));
  if (whole.found()) {
    CHECK(rest.substr(shown.size()).starts_with(*whole.found()));
  } else {
    CHECK(shown == rest);
    for (const std::string& stop : stops) CHECK(rest.find(stop) == std::string_view::npos);
  }
  return 0;
}
