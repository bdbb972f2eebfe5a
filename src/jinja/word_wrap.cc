// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Breaking a line into shorter ones where Python's textwrap breaks it.
#include <algorithm>

#include "jinja/filters.h"
#include "jinja/unicode.h"

namespace aster::jinja {
namespace {

using Chunks = std::vector<std::u32string>;

bool IsBlank(char32_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool IsBlankChunk(const std::u32string& chunk) { return std::ranges::all_of(chunk, IsSpace); }
bool IsWordLetter(char32_t c) { return IsWord(c) && c != '_' && !IsDecimal(c); }
bool IsWordPunctuation(char32_t c) {
  return IsWord(c) || std::u32string_view(U"!\"'&.,?").find(c) != std::u32string_view::npos;
}

// Cuts a line into pieces between which it may be broken.
class ChunkSplitter {
 public:
  ChunkSplitter(std::u32string_view line, bool at_hyphens) : line_(line), at_hyphens_(at_hyphens) {}

  Chunks Split() const {
    Chunks chunks;
    for (size_t begin = 0; begin < line_.size();) {
      const size_t end = EndOfChunk(begin);
      chunks.emplace_back(line_.substr(begin, end - begin));
      begin = end;
    }
    return chunks;
  }

 private:
  bool IsAt(size_t index, bool (*is)(char32_t)) const {
    return index < line_.size() && is(line_[index]);
  }
  bool IsHyphen(size_t index) const { return index < line_.size() && line_[index] == '-'; }

  // The size of a dash of two or more hyphens between words that begins there, or 0.
  size_t DashAt(size_t index) const {
    if (index == 0 || !IsWordPunctuation(line_[index - 1])) return 0;
    size_t end = index;
    while (IsHyphen(end)) ++end;
    return end - index >= 2 && IsAt(end, IsWord) ? end - index : 0;
  }

  // Whether the hyphen there joins two parts of a word, each of two letters at least.
  bool JoinsWords(size_t hyphen, size_t begin) const {
    if (!IsHyphen(hyphen) || hyphen == begin) return false;
    const bool letters_before =
        hyphen >= 2 && IsWordLetter(line_[hyphen - 1]) &&
        (IsWordLetter(line_[hyphen - 2]) ||
         (hyphen >= 3 && IsHyphen(hyphen - 2) && IsWordLetter(line_[hyphen - 3])));
    const bool letters_after = IsAt(hyphen + 1, IsWordLetter) &&
                               (IsAt(hyphen + 2, IsWordLetter) ||
                                (IsHyphen(hyphen + 2) && IsAt(hyphen + 3, IsWordLetter)));
    return letters_before && letters_after;
  }

  size_t EndOfChunk(size_t begin) const {
    size_t end = begin;
    if (IsBlank(line_[begin])) {
      while (IsAt(end, IsBlank)) ++end;
      return end;
    }
    if (at_hyphens_) {
      if (const size_t dash = DashAt(begin)) return begin + dash;
    }
    for (end = begin + 1; end < line_.size() && !IsBlank(line_[end]); ++end) {
      if (!at_hyphens_) continue;
      if (JoinsWords(end, begin)) return end + 1;
      if (DashAt(end) > 0) return end;
    }
    return end;
  }

  const std::u32string_view line_;
  const bool at_hyphens_;
};

// Takes from the front of a chunk that fits on no line what still fits on this one.
std::u32string TakePart(std::u32string& chunk, size_t room, bool at_hyphens) {
  size_t end = room;
  if (at_hyphens && chunk.size() > room) {
    const size_t hyphen = room == 0 ? std::u32string::npos : chunk.rfind('-', room - 1);
    const bool is_inside =
        hyphen != std::u32string::npos && hyphen > 0 &&
        std::any_of(chunk.begin(), chunk.begin() + hyphen, [](char32_t c) { return c != '-'; });
    if (is_inside) end = hyphen + 1;
  }
  std::u32string part = chunk.substr(0, end);
  chunk.erase(0, end);
  return part;
}

}  // namespace

Result<std::vector<std::string>> WrapLine(Runtime& runtime, std::string_view line,
                                          const WrapStyle& style) {
  if (style.width <= 0) return TemplateError("invalid width (must be > 0)");
  const auto width = static_cast<size_t>(style.width);
  const std::u32string code_points = Decode(line);
  Chunks chunks = ChunkSplitter(code_points, style.break_on_hyphens).Split();
  std::vector<std::string> lines;
  for (size_t next = 0; next < chunks.size();) {
    TRY(runtime.Charge());
    if (IsBlankChunk(chunks[next]) && !lines.empty()) ++next;
    std::vector<std::u32string> current;
    size_t size = 0;
    while (next < chunks.size() && size + chunks[next].size() <= width) {
      size += chunks[next].size();
      current.push_back(chunks[next++]);
    }
    if (next < chunks.size() && chunks[next].size() > width) {
      if (style.break_long_words) {
        current.push_back(TakePart(chunks[next], width - size, style.break_on_hyphens));
      } else if (current.empty()) {
        current.push_back(chunks[next++]);
      }
    }
    if (!current.empty() && IsBlankChunk(current.back())) current.pop_back();
    if (current.empty()) continue;
    std::u32string joined;
    for (const std::u32string& chunk : current) joined += chunk;
    lines.push_back(Encode(joined));
  }
  return lines;
}

}  // namespace aster::jinja
