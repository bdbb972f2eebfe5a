// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The times of one request: a small file for each, in the form that trace viewers (Perfetto,
// chrome://tracing) read. Must not know what was asked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace aster::serve {

// The facts about a request besides its times.
struct TracedRequest {
  std::string id = {};  // as the client gave it
  std::string path = {};
  std::string model = {};
  int status = 0;
  bool is_gone = false;
  uint64_t prompt_tokens = 0;
  uint64_t cached_tokens = 0;
  uint64_t answer_tokens = 0;
};

// Used by one thread at a time. Free if it is off.
class RequestTrace {
 public:
  enum Moment : uint8_t { kQueued, kBegun, kMoments };

  RequestTrace(bool is_wanted, int64_t start_ns) : is_wanted_(is_wanted), start_ns_(start_ns) {}

  bool is_wanted() const { return is_wanted_; }
  void Mark(Moment moment, int64_t now_ns) { moments_[moment] = now_ns; }
  void AddToken(size_t choice, int64_t now_ns) {
    if (is_wanted_ && tokens_.size() < kMaxTokens) tokens_.push_back({choice, now_ns});
  }

  // The request is over. The file's name consists of the time and of plain characters of the id, so
  // that clients cannot choose the place.
  Status Save(const std::string& folder, const TracedRequest& request, const Clock& clock) const;
  std::string ToJson(const TracedRequest& request, int64_t end_ns) const;

 private:
  // Further tokens are not recorded: a file stays below a few MiB.
  static constexpr size_t kMaxTokens = 1 << 15;
  struct Token {
    size_t choice;
    int64_t at_ns;
  };

  const bool is_wanted_;
  const int64_t start_ns_;
  std::array<int64_t, kMoments> moments_ = {};  // 0: never
  std::vector<Token> tokens_;
};

}  // namespace aster::serve
