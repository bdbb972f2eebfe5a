// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/stops.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"

namespace aster::engine {

Status CheckStopStrings(std::span<const std::string> stops) {
  if (stops.size() > kMaxStopStrings) {
    return InvalidArgument(
        fmt::format("{} stop strings; at most {} are allowed", stops.size(), kMaxStopStrings));
  }
  for (size_t i = 0; i < stops.size(); ++i) {
    if (stops[i].empty()) {
      return InvalidArgument(fmt::format("stop string {} is empty; leave it out", i + 1));
    }
    if (stops[i].size() > kMaxStopStringBytes) {
      return InvalidArgument(fmt::format("stop string {} has {} bytes; at most {} are allowed",
                                         i + 1, stops[i].size(), kMaxStopStringBytes));
    }
    if (!IsValidUtf8(stops[i])) {
      return InvalidArgument(
          fmt::format("stop string {} is not UTF-8 and would never be found", i + 1));
    }
  }
  return Ok();
}

StopStrings::StopStrings(std::vector<std::string> stops) {
  for (std::string& stop : stops) {
    CHECK(!stop.empty());
    Pattern pattern{.text = std::move(stop), .fallback = {}};
    // Knuth, Morris and Pratt: after a mismatch the next possible match is known without going back
    // in the text, of which earlier parts are already shown.
    pattern.fallback.resize(pattern.text.size());
    uint32_t border = 0;  // bytes that both begin and end text[0, i)
    for (uint32_t i = 1; i < pattern.text.size(); ++i) {
      pattern.fallback[i] = border;
      while (border > 0 && pattern.text[border] != pattern.text[i]) {
        border = pattern.fallback[border];
      }
      if (pattern.text[border] == pattern.text[i]) ++border;
    }
    patterns_.push_back(std::move(pattern));
  }
}

void StopStrings::Advance(Pattern& pattern, char byte) {
  while (pattern.matched > 0 && pattern.text[pattern.matched] != byte) {
    pattern.matched = pattern.fallback[pattern.matched];
  }
  if (pattern.text[pattern.matched] == byte) ++pattern.matched;
}

void StopStrings::Push(std::string_view text, std::string& out) {
  CHECK(!found_);
  if (patterns_.empty()) {
    out += text;
    return;
  }
  // Byte by byte over all patterns. Of several that end here the longest is found.
  for (const char byte : text) {
    held_ += byte;
    const Pattern* ended = nullptr;
    for (Pattern& pattern : patterns_) {
      Advance(pattern, byte);
      if (pattern.matched < pattern.text.size()) continue;
      if (ended == nullptr || pattern.text.size() > ended->text.size()) ended = &pattern;
    }
    if (ended == nullptr) continue;
    found_ = ended->text;
    out.append(held_, 0, held_.size() - ended->text.size());
    held_.clear();
    return;
  }
  // The longest beginning of a stop string is held back; the rest can be shown.
  size_t kept = 0;
  for (const Pattern& pattern : patterns_) kept = std::max<size_t>(kept, pattern.matched);
  out.append(held_, 0, held_.size() - kept);
  held_.erase(0, held_.size() - kept);
}

void StopStrings::Finish(std::string& out) {
  if (!found_) out += held_;
  held_.clear();
}

}  // namespace aster::engine
