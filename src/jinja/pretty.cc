// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Values over several lines, as Python's pprint lays them out: 80 columns, keys in order.
#include <algorithm>

#include "jinja/compare.h"
#include "jinja/filters.h"
#include "jinja/sort.h"
#include "jinja/string_methods.h"
#include "jinja/text.h"
#include "jinja/unicode.h"

namespace aster::jinja {
namespace {

constexpr int64_t kWidth = 80;

// Keys that have no order between them go by the names of their types.
Status SortKeys(Runtime& runtime, std::vector<Keyed>& entries) {
  std::vector<Keyed> by_key = entries;
  if (SortByKey(runtime, by_key, false).ok()) {
    entries = std::move(by_key);
    return Ok();
  }
  std::vector<Keyed> by_type;
  for (const Keyed& entry : entries) {
    const Value type = runtime.NewString(std::string(TypeName(entry.key)));
    by_type.push_back({type, runtime.NewTuple({entry.key, entry.item})});
  }
  TRY(SortByKey(runtime, by_type, false));
  entries.clear();
  for (const Keyed& entry : by_type) {
    const Values& pair = entry.item.as<Tuple>().items;
    entries.push_back({pair[0], pair[1]});
  }
  return Ok();
}

// The value with every dict within it in the order of its keys.
Result<Value> Sorted(Runtime& runtime, const Value& value) {
  const Deeper deeper(runtime);
  TRY(deeper.Check());
  if (value.is_sequence()) {
    const bool is_list = value.Is(Kind::kList);
    Values items;
    for (const Value& item : is_list ? value.as<List>().items : value.as<Tuple>().items) {
      items.push_back(TRY(Sorted(runtime, item)));
    }
    return is_list ? Value(runtime.NewList(std::move(items)))
                   : Value(runtime.NewTuple(std::move(items)));
  }
  if (!value.Is(Kind::kDict)) return value;
  std::vector<Keyed> entries;
  for (const Dict::Entry& entry : value.as<Dict>().entries()) {
    entries.push_back({entry.key, TRY(Sorted(runtime, entry.value))});
  }
  TRY(SortKeys(runtime, entries));
  const Ref<Dict> sorted = runtime.NewDict();
  for (Keyed& entry : entries) {
    DictKey key = TRY(KeyOf(runtime, entry.key));
    sorted->Set(entry.key, std::move(key), std::move(entry.item));
  }
  return Value(sorted);
}

int64_t SizeOf(std::string_view text) { return static_cast<int64_t>(CountCodePoints(text)); }

// Words, each with the white space after it.
std::vector<std::string_view> WordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  size_t begin = 0;
  bool after_space = false;
  for (size_t offset = 0; offset < line.size();) {
    const size_t at = offset;
    const bool is_space = IsSpace(DecodeNext(line, offset));
    if (!is_space && after_space) {
      words.push_back(line.substr(begin, at - begin));
      begin = at;
    }
    after_space = is_space;
  }
  if (begin < line.size()) words.push_back(line.substr(begin));
  return words;
}

class PrettyPrinter {
 public:
  explicit PrettyPrinter(Runtime& runtime) : runtime_(runtime), builder_(runtime) {}

  // `indent` is the column, `allowance` the room that closing brackets still need.
  Status Print(const Value& value, int64_t indent, int64_t allowance, int level) {
    TRY(runtime_.Charge());
    const std::string repr = TRY(ReprOf(runtime_, value));
    const bool fits = SizeOf(repr) <= kWidth - indent - allowance;
    if (!fits && value.Is(Kind::kDict) && value.as<Dict>().size() > 0) {
      return PrintDict(value.as<Dict>(), indent, allowance + 1, level);
    }
    if (!fits && value.is_sequence()) return PrintItems(value, indent, allowance, level);
    if (!fits && value.is_string() && !value.text().empty()) {
      PrintText(value.text(), indent, allowance, level);
    } else {
      builder_.Append(repr);
    }
    return Ok();
  }

  Result<std::string> Take() { return builder_.Take(); }

 private:
  void NewLine(int64_t indent) {
    builder_.Append('\n');
    builder_.AppendRepeated(' ', static_cast<size_t>(indent));
  }

  Status PrintDict(const Dict& dict, int64_t indent, int64_t allowance, int level) {
    builder_.Append('{');
    ++indent;
    for (size_t i = 0; i < dict.size(); ++i) {
      const Dict::Entry& entry = dict.entries()[i];
      const bool is_last = i + 1 == dict.size();
      const std::string key = TRY(ReprOf(runtime_, entry.key));
      builder_.Append(key + ": ");
      TRY(Print(entry.value, indent + SizeOf(key) + 2, is_last ? allowance : 1, level + 1));
      if (is_last) break;
      builder_.Append(',');
      NewLine(indent);
    }
    builder_.Append('}');
    return Ok();
  }

  Status PrintItems(const Value& value, int64_t indent, int64_t allowance, int level) {
    const bool is_list = value.Is(Kind::kList);
    const Values& items = is_list ? value.as<List>().items : value.as<Tuple>().items;
    const std::string_view closing = is_list ? "]" : items.size() == 1 ? ",)" : ")";
    builder_.Append(is_list ? '[' : '(');
    ++indent;
    allowance += static_cast<int64_t>(closing.size());
    for (size_t i = 0; i < items.size(); ++i) {
      const bool is_last = i + 1 == items.size();
      TRY(Print(items[i], indent, is_last ? allowance : 1, level + 1));
      if (is_last) break;
      builder_.Append(',');
      NewLine(indent);
    }
    builder_.Append(closing);
    return Ok();
  }

  // Lines that are too long are broken between words.
  static void BreakLine(std::string_view line, int64_t width, int64_t last_width,
                        std::vector<std::string>& chunks) {
    const std::vector<std::string_view> words = WordsOf(line);
    std::string current;
    for (size_t i = 0; i < words.size(); ++i) {
      const std::string candidate = current + std::string(words[i]);
      const int64_t room = i + 1 == words.size() ? last_width : width;
      if (SizeOf(ReprOfString(candidate)) <= room) {
        current = candidate;
        continue;
      }
      if (!current.empty()) chunks.push_back(ReprOfString(current));
      current = words[i];
    }
    if (!current.empty()) chunks.push_back(ReprOfString(current));
  }

  void PrintText(std::string_view text, int64_t indent, int64_t allowance, int level) {
    const bool is_outermost = level == 1;
    if (is_outermost) {
      ++indent;
      ++allowance;
    }
    const int64_t width = kWidth - indent;
    std::vector<std::string> chunks;
    const std::vector<std::string_view> lines = SplitLines(text, true);
    for (size_t i = 0; i < lines.size(); ++i) {
      const int64_t last_width = i + 1 == lines.size() ? width - allowance : width;
      std::string repr = ReprOfString(lines[i]);
      if (SizeOf(repr) <= last_width) {
        chunks.push_back(std::move(repr));
      } else {
        BreakLine(lines[i], width, last_width, chunks);
      }
    }
    const bool in_brackets = is_outermost && chunks.size() > 1;
    if (in_brackets) builder_.Append('(');
    for (size_t i = 0; i < chunks.size(); ++i) {
      if (i > 0) NewLine(indent);
      builder_.Append(chunks[i]);
    }
    if (in_brackets) builder_.Append(')');
  }

  Runtime& runtime_;
  TextBuilder builder_;
};

}  // namespace

Result<std::string> PrettyRepr(Runtime& runtime, const Value& value) {
  PrettyPrinter printer(runtime);
  TRY(printer.Print(TRY(Sorted(runtime, value)), 0, 0, 1));
  return printer.Take();
}

}  // namespace aster::jinja
