// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "fetch/journal.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <concepts>

#include "base/bytes.h"

namespace aster::fetch {
namespace {

constexpr std::string_view kFirstWords = "asterism weights 1 ";
constexpr size_t kCheckDigits = 16;

std::string Line(std::string_view body) {
  return fmt::format("{} {:016x}\n", body, Hash64Of(AsBytes(body)));
}

std::string FirstLine(const Hash128& manifest) {
  return Line(fmt::format("{}{}", kFirstWords, manifest.ToHex()));
}

// The words of a line with the right checksum and number of words; nullopt otherwise.
template <size_t count>
std::optional<std::array<std::string_view, count>> Words(std::string_view body) {
  std::array<std::string_view, count> words;
  for (size_t i = 0; i < count; ++i) {
    const size_t space = body.find(' ');
    if ((space == std::string_view::npos) != (i + 1 == count)) return std::nullopt;
    words[i] = body.substr(0, space);
    if (i + 1 < count) body.remove_prefix(space + 1);
  }
  return words;
}

template <std::integral T>
std::optional<T> Number(std::string_view word) {
  T value = 0;
  const auto [end, error] = std::from_chars(word.begin(), word.end(), value);
  if (error != std::errc() || end != word.end()) return std::nullopt;
  return value;
}

// Reads one line after the other; false if one is invalid.
class Reader {
 public:
  Reader(Journal& journal, const std::vector<std::vector<uint64_t>>& sizes)
      : journal_(journal), sizes_(sizes) {}

  bool Take(std::string_view body) {
    if (body.starts_with("has ")) return TakeTensor(body, /*is_verified=*/false);
    if (body.starts_with("done ")) return TakeTensor(body, /*is_verified=*/true);
    if (body.starts_with("stamp ")) return TakeStamp(body);
    return false;
  }

 private:
  bool TakeTensor(std::string_view body, bool is_verified) {
    const auto words = Words<4>(body);
    if (!words) return false;
    const auto file = Number<size_t>((*words)[1]);
    const auto tensor = Number<size_t>((*words)[2]);
    const auto bytes = Number<uint64_t>((*words)[3]);
    if (!file || !tensor || !bytes || *file >= sizes_.size() || *tensor >= sizes_[*file].size()) {
      return false;
    }
    const uint64_t size = sizes_[*file][*tensor];
    if (*bytes > size || (is_verified && *bytes != size)) return false;
    journal_.tensors[*file][*tensor] = {.bytes = *bytes, .is_verified = is_verified};
    return true;
  }

  bool TakeStamp(std::string_view body) {
    const auto words = Words<5>(body);
    if (!words) return false;
    const auto file = Number<size_t>((*words)[1]);
    const auto inode = Number<uint64_t>((*words)[2]);
    const auto size_bytes = Number<uint64_t>((*words)[3]);
    const auto modified_ns = Number<int64_t>((*words)[4]);
    if (!file || !inode || !size_bytes || !modified_ns || *file >= sizes_.size()) return false;
    journal_.stamps[*file] = FileStamp{*inode, *size_bytes, *modified_ns};
    return true;
  }

  Journal& journal_;
  const std::vector<std::vector<uint64_t>>& sizes_;
};

// The next line of `text` without its checksum, if that is right.
std::optional<std::string_view> NextBody(std::string_view& text) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos || end < kCheckDigits + 1) return std::nullopt;
  const std::string_view body = text.substr(0, end - kCheckDigits - 1);
  if (text.substr(0, end + 1) != Line(body)) return std::nullopt;
  text.remove_prefix(end + 1);
  return body;
}

}  // namespace

Journal ParseJournal(std::string_view text, const Hash128& manifest,
                     const std::vector<std::vector<uint64_t>>& sizes) {
  Journal journal;
  for (const std::vector<uint64_t>& file : sizes) journal.tensors.emplace_back(file.size());
  journal.stamps.resize(sizes.size());
  const std::string first = FirstLine(manifest);
  if (!text.starts_with(first)) return journal;
  text.remove_prefix(first.size());
  Reader reader(journal, sizes);
  while (const auto body = NextBody(text)) {
    if (!reader.Take(*body)) break;
  }
  return journal;
}

std::string TensorLine(size_t file_index, size_t tensor_index, const TensorState& state) {
  return Line(fmt::format("{} {} {} {}", state.is_verified ? "done" : "has", file_index,
                          tensor_index, state.bytes));
}

std::string StampLine(size_t file_index, const FileStamp& stamp) {
  return Line(fmt::format("stamp {} {} {} {}", file_index, stamp.inode, stamp.size_bytes,
                          stamp.modified_ns));
}

std::string FormatJournal(const Journal& journal, const Hash128& manifest) {
  std::string text = FirstLine(manifest);
  for (size_t file = 0; file < journal.tensors.size(); ++file) {
    for (size_t tensor = 0; tensor < journal.tensors[file].size(); ++tensor) {
      const TensorState& state = journal.tensors[file][tensor];
      if (state != TensorState{}) text += TensorLine(file, tensor, state);
    }
    if (journal.stamps[file]) text += StampLine(file, *journal.stamps[file]);
  }
  return text;
}

}  // namespace aster::fetch
