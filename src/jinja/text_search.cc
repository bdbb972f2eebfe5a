// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/text_search.h"

#include <cstring>
#include <vector>

namespace aster::jinja {
namespace {

// Up to this size of the wanted text, quadratic time is harmless.
constexpr size_t kShortSize = 8;

// Text from its first character forwards, or from its last one backwards.
template <bool kBackwards>
class Directed {
 public:
  explicit Directed(std::string_view text) : text_(text) {}
  size_t size() const { return text_.size(); }
  char operator[](size_t index) const {
    return kBackwards ? text_[text_.size() - 1 - index] : text_[index];
  }
  // The next index at or after `index` where `c` may be.
  size_t Skip(size_t index, char c) const {
    if (kBackwards || index >= text_.size()) return index;
    const void* next = std::memchr(text_.data() + index, c, text_.size() - index);
    return next == nullptr ? text_.size() : static_cast<const char*>(next) - text_.data();
  }

 private:
  const std::string_view text_;
};

// For each prefix of `wanted`, the length of its longest border: a proper prefix and suffix.
template <bool kBackwards>
std::vector<size_t> BordersOf(const Directed<kBackwards>& wanted) {
  std::vector<size_t> borders(wanted.size() + 1, 0);
  size_t border = 0;
  for (size_t i = 1; i < wanted.size(); ++i) {
    while (border > 0 && wanted[i] != wanted[border]) border = borders[border];
    if (wanted[i] == wanted[border]) ++border;
    borders[i + 1] = border;
  }
  return borders;
}

// The search of Knuth, Morris and Pratt.
template <bool kBackwards>
size_t FindLong(const Directed<kBackwards>& text, const Directed<kBackwards>& wanted) {
  const std::vector<size_t> borders = BordersOf(wanted);
  size_t matched = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (matched == 0) {
      i = text.Skip(i, wanted[0]);
      if (i == text.size()) break;
    }
    while (matched > 0 && text[i] != wanted[matched]) matched = borders[matched];
    if (text[i] == wanted[matched]) ++matched;
    if (matched == wanted.size()) return i + 1 - matched;
  }
  return std::string_view::npos;
}

}  // namespace

size_t FindFirst(std::string_view text, std::string_view wanted, size_t from) {
  if (from > text.size() || text.size() - from < wanted.size()) return std::string_view::npos;
  if (wanted.size() <= kShortSize) return text.find(wanted, from);
  const size_t offset = FindLong(Directed<false>(text.substr(from)), Directed<false>(wanted));
  return offset == std::string_view::npos ? offset : from + offset;
}

size_t FindLast(std::string_view text, std::string_view wanted) {
  if (text.size() < wanted.size()) return std::string_view::npos;
  if (wanted.size() <= kShortSize) return text.rfind(wanted);
  const size_t offset = FindLong(Directed<true>(text), Directed<true>(wanted));
  return offset == std::string_view::npos ? offset : text.size() - wanted.size() - offset;
}

}  // namespace aster::jinja
