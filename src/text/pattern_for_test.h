// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Patterns as models publish them, run by PCRE2: tests compare our scanners with them. Too slow and
// too easily exhausted for other uses.
#pragma once

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"

namespace aster::text {

class PatternForTest {
 public:
  explicit PatternForTest(std::string_view pattern) {
    int error = 0;
    size_t offset = 0;
    code_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                          PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY, &error, &offset, nullptr);
    CHECK_NOTE(code_ != nullptr, pattern);
    pcre2_jit_compile(code_, PCRE2_JIT_COMPLETE);
    match_ = pcre2_match_data_create_from_pattern(code_, nullptr);
  }
  ~PatternForTest() {
    pcre2_match_data_free(match_);
    pcre2_code_free(code_);
  }
  PatternForTest(const PatternForTest&) = delete;
  PatternForTest& operator=(const PatternForTest&) = delete;

  struct Found {
    bool found = false;
    size_t begin = 0;
    size_t end = 0;
    bool empty() const { return !found; }
  };
  // In well-formed UTF-8.
  Found Match(std::string_view text, size_t from) const {
    const int count = pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                  from, 0, match_, nullptr);
    CHECK(count > 0 || count == PCRE2_ERROR_NOMATCH);
    if (count < 0) return {};
    const size_t* offsets = pcre2_get_ovector_pointer(match_);
    return {true, offsets[0], offsets[1]};
  }

  // The ends of pieces if every match, and everything between matches, is a piece.
  std::vector<size_t> Isolate(std::string_view text) const {
    std::vector<size_t> ends;
    size_t piece_begin = 0;
    const auto end_piece_at = [&](size_t end) {
      if (end > piece_begin) ends.push_back(end);
      piece_begin = end;
    };
    for (size_t from = 0; from <= text.size();) {
      const Found found = Match(text, from);
      if (found.empty()) break;
      end_piece_at(found.begin);
      end_piece_at(found.end);
      // After an empty match, continue with the next character.
      from = found.end > found.begin ? found.end : found.end + 1;
      while (from < text.size() && (text[from] & 0xC0) == 0x80) ++from;
    }
    end_piece_at(text.size());
    return ends;
  }

 private:
  pcre2_code* code_;
  pcre2_match_data* match_;
};

}  // namespace aster::text
