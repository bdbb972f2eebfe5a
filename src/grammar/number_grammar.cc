// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "grammar/number_grammar.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"

namespace aster::grammar {
namespace {

// Digits before the point: longer numbers than any program reads are not written.
constexpr size_t kWholeDigits = 16;
constexpr uint64_t kMaxWhole = 9'999'999'999'999'999;
// Total digits that programs with 64-bit floating point can distinguish: a number below a bound is
// still below it when it is read.
constexpr size_t kReadDigits = 15;
// Of bounds. The smallest number of 64-bit floating point has more.
constexpr size_t kMaxBoundDigits = 40;
constexpr int kMaxExponent = 400;

bool AreDigits(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

uint64_t PowerOf10(size_t digits) {
  uint64_t power = 1;
  for (size_t i = 0; i < digits; ++i) power *= 10;
  return power;
}

// A bound of numbers that are not negative.
struct Limit {
  uint64_t whole = 0;
  std::string fraction = {};
  bool is_excluded = false;
};

Limit LimitOf(const NumberBound& bound) {
  Limit limit{.fraction = bound.value.fraction, .is_excluded = bound.is_excluded};
  if (bound.value.whole.size() > kWholeDigits) return {.whole = kMaxWhole + 1};
  const std::string& digits = bound.value.whole;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), limit.whole);
  CHECK(parsed.ec == std::errc());
  return limit;
}

// Whole numbers with the same number of digits, digit by digit. "Tight": all digits so far equal
// those of a bound, so the bound limits the next digit.
class WholeWriter {
 public:
  WholeWriter(Grammar& grammar, uint32_t multiple) : grammar_(grammar), multiple_(multiple) {}

  // Those from `low` to `high`; nothing if there are none.
  std::optional<Element> Between(uint64_t low, uint64_t high) {
    if (low > high) return std::nullopt;
    const RuleId rule = grammar_.AddRule();
    bool has_any = false;
    for (size_t digits = 1; digits <= kWholeDigits; ++digits) {
      const uint64_t first = std::max(low, digits == 1 ? 0 : PowerOf10(digits - 1));
      const uint64_t last = std::min(high, PowerOf10(digits) - 1);
      if (first > last) continue;
      low_ = std::to_string(first);
      high_ = std::to_string(last);
      auto rest = Tight(0, 0, true, true);
      if (!rest) continue;
      grammar_.AddAlternative(rule, *std::move(rest));
      has_any = true;
    }
    if (!has_any) return std::nullopt;
    return Grammar::Rule(rule);
  }

 private:
  uint32_t Next(uint32_t remainder, uint32_t digit) const {
    return (remainder * 10 + digit) % multiple_;
  }

  std::optional<Sequence> Tight(size_t at, uint32_t remainder, bool is_low, bool is_high) {
    if (!is_low && !is_high) return Loose(low_.size() - at, remainder);
    if (at == low_.size()) return remainder == 0 ? std::optional(Sequence{}) : std::nullopt;
    const uint32_t first = is_low ? static_cast<uint32_t>(low_[at] - '0') : 0;
    const uint32_t last = is_high ? static_cast<uint32_t>(high_[at] - '0') : 9;
    // Digits with the same continuation are one set.
    std::map<std::tuple<uint32_t, bool, bool>, ByteSet> ways;
    for (uint32_t digit = first; digit <= last; ++digit) {
      ways[{Next(remainder, digit), is_low && digit == first, is_high && digit == last}].set('0' +
                                                                                             digit);
    }
    std::vector<Sequence> alternatives;
    for (const auto& [way, set] : ways) {
      auto rest = Tight(at + 1, std::get<0>(way), std::get<1>(way), std::get<2>(way));
      if (rest) alternatives.push_back(Behind(set, *rest));
    }
    return AsRule(std::move(alternatives));
  }

  // Any `digits` digits with the remainder.
  std::optional<Sequence> Loose(size_t digits, uint32_t remainder) {
    if (digits == 0) return remainder == 0 ? std::optional(Sequence{}) : std::nullopt;
    const auto known = loose_.find({digits, remainder});
    if (known != loose_.end()) return known->second;
    std::map<uint32_t, ByteSet> ways;
    for (uint32_t digit = 0; digit <= 9; ++digit) ways[Next(remainder, digit)].set('0' + digit);
    std::vector<Sequence> alternatives;
    for (const auto& [next, set] : ways) {
      const auto rest = Loose(digits - 1, next);
      if (rest) alternatives.push_back(Behind(set, *rest));
    }
    return loose_[{digits, remainder}] = AsRule(std::move(alternatives));
  }

  Sequence Behind(const ByteSet& set, const Sequence& rest) {
    Sequence all = {grammar_.Bytes(set)};
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  }
  std::optional<Sequence> AsRule(std::vector<Sequence> alternatives) {
    if (alternatives.empty()) return std::nullopt;
    return Sequence{Grammar::Rule(grammar_.AddRule(std::move(alternatives)))};
  }

  Grammar& grammar_;
  const uint32_t multiple_;
  std::string low_;  // with as many digits as high_
  std::string high_;
  std::map<std::pair<size_t, uint32_t>, std::optional<Sequence>> loose_;
};

// The part after whole digits: nothing, or a point and digits.
class FractionWriter {
 public:
  // Null limits do not apply; at most `digits` digits.
  FractionWriter(Grammar& grammar, const Limit* low, const Limit* high, size_t digits)
      : grammar_(grammar), low_(low), high_(high), digits_(digits) {}

  std::optional<Element> Add() {
    const bool is_low = low_ != nullptr;
    const bool is_high = high_ != nullptr;
    std::vector<Sequence> alternatives;
    if (CanEnd(0, is_low, is_high)) alternatives.emplace_back();
    if (const auto rest = Digits(0, is_low, is_high))
      alternatives.push_back({grammar_.Literal(".").front(), *rest});
    if (alternatives.empty()) return std::nullopt;
    return Grammar::Rule(grammar_.AddRule(std::move(alternatives)));
  }

 private:
  // Whether any number of zeros may follow.
  bool CanEnd(size_t at, bool is_low, bool is_high) const {
    const bool is_above = !is_low || (at >= low_->fraction.size() && !low_->is_excluded);
    const bool is_below = !is_high || at < high_->fraction.size() || !high_->is_excluded;
    return is_above && is_below;
  }
  static uint32_t DigitOf(const Limit& limit, size_t at) {
    return at < limit.fraction.size() ? static_cast<uint32_t>(limit.fraction[at] - '0') : 0;
  }

  // One digit or more.
  std::optional<Element> Digits(size_t at, bool is_low, bool is_high) {
    if (at == digits_) return std::nullopt;
    const auto known = known_.find({at, is_low, is_high});
    if (known != known_.end()) return known->second;
    const uint32_t first = is_low ? DigitOf(*low_, at) : 0;
    const uint32_t last = is_high ? DigitOf(*high_, at) : 9;
    std::map<std::pair<bool, bool>, ByteSet> ways;
    for (uint32_t digit = first; digit <= last; ++digit)
      ways[{is_low && digit == first, is_high && digit == last}].set('0' + digit);
    std::vector<Sequence> alternatives;
    for (const auto& [way, set] : ways) {
      if (CanEnd(at + 1, way.first, way.second)) alternatives.push_back({grammar_.Bytes(set)});
      const auto rest = Digits(at + 1, way.first, way.second);
      if (rest) alternatives.push_back({grammar_.Bytes(set), *rest});
    }
    std::optional<Element> element;
    if (!alternatives.empty()) element = Grammar::Rule(grammar_.AddRule(std::move(alternatives)));
    return known_[{at, is_low, is_high}] = element;
  }

  Grammar& grammar_;
  const Limit* const low_;
  const Limit* const high_;
  const size_t digits_;
  std::map<std::tuple<size_t, bool, bool>, std::optional<Element>> known_;
};

// Digits of a fraction after this whole number.
size_t FractionDigits(const NumberRange& range, uint64_t whole, const Limit* low,
                      const Limit* high) {
  const size_t before = std::to_string(whole).size();
  size_t digits = kReadDigits - std::min(kReadDigits, before);
  if (low != nullptr) digits = std::max(digits, low->fraction.size());
  if (high != nullptr) digits = std::max(digits, high->fraction.size());
  return std::min(digits, range.fraction_digits);
}

// Numbers that are not negative, from one limit to the other, as alternatives of `rule`; false if
// there are none.
bool AddMagnitudes(const NumberRange& range, const Limit& low, Limit high, const Sequence& sign,
                   RuleId rule, Grammar& grammar) {
  if (low.whole > kMaxWhole) return false;
  if (high.whole > kMaxWhole) high = {.whole = kMaxWhole};
  bool has_any = false;
  const auto add = [&](std::initializer_list<std::optional<Element>> parts) {
    Sequence sequence = sign;
    for (const auto& part : parts) {
      if (!part) return;
      sequence.push_back(*part);
    }
    grammar.AddAlternative(rule, std::move(sequence));
    has_any = true;
  };
  WholeWriter wholes(grammar, range.is_integer ? range.multiple : 1);
  if (range.is_integer) {
    const bool is_above = !low.fraction.empty() || low.is_excluded;
    const bool is_below = high.fraction.empty() && high.is_excluded;
    if (is_below && high.whole == 0) return false;
    add({wholes.Between(low.whole + (is_above ? 1 : 0), high.whole - (is_below ? 1 : 0))});
    return has_any;
  }
  const auto add_one = [&](uint64_t whole, const Limit* from, const Limit* to) {
    FractionWriter fraction(grammar, from, to, FractionDigits(range, whole, from, to));
    add({wholes.Between(whole, whole), fraction.Add()});
  };
  if (low.whole > high.whole) return false;
  if (low.whole == high.whole) {
    add_one(low.whole, &low, &high);
    return has_any;
  }
  add_one(low.whole, &low, nullptr);
  // A number close to an excluded bound must not be read as the bound.
  const bool is_near = high.is_excluded && high.fraction.empty();
  const size_t digits =
      is_near ? std::max(size_t{1}, FractionDigits(range, high.whole, {}, {})) : kReadDigits;
  FractionWriter any(grammar, nullptr, nullptr, std::min(digits, range.fraction_digits));
  add({wholes.Between(low.whole + 1, high.whole - 1), any.Add()});
  add_one(high.whole, nullptr, &high);
  return has_any;
}

}  // namespace

std::optional<Decimal> ParseDecimal(std::string_view text) {
  Decimal decimal;
  decimal.is_negative = text.starts_with('-');
  if (decimal.is_negative) text.remove_prefix(1);
  int exponent = 0;
  const size_t e = text.find_first_of("eE");
  if (e != std::string_view::npos) {
    std::string_view digits = text.substr(e + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size() ||
        exponent < -kMaxExponent || exponent > kMaxExponent) {
      return std::nullopt;
    }
    text = text.substr(0, e);
  }
  const size_t point = std::min(text.find('.'), text.size());
  std::string digits(text.substr(0, point));
  if (digits.empty()) return std::nullopt;
  auto whole = static_cast<ptrdiff_t>(digits.size()) + exponent;
  if (point < text.size()) digits += text.substr(point + 1);
  if (!AreDigits(digits)) return std::nullopt;
  if (whole < 0) {
    digits.insert(0, static_cast<size_t>(-whole), '0');
    whole = 0;
  }
  if (static_cast<size_t>(whole) > digits.size()) digits.resize(static_cast<size_t>(whole), '0');
  decimal.whole = digits.substr(0, static_cast<size_t>(whole));
  decimal.fraction = digits.substr(static_cast<size_t>(whole));
  decimal.whole.erase(0, std::min(decimal.whole.find_first_not_of('0'), decimal.whole.size()));
  decimal.fraction.resize(decimal.fraction.find_last_not_of('0') + 1);
  if (decimal.whole.empty()) decimal.whole = "0";
  if (decimal.fraction.size() > kMaxBoundDigits) return std::nullopt;
  if (decimal.whole == "0" && decimal.fraction.empty()) decimal.is_negative = false;
  return decimal;
}

int Compare(const Decimal& a, const Decimal& b) {
  if (a.is_negative != b.is_negative) return a.is_negative ? -1 : 1;
  int order = a.whole.size() < b.whole.size() ? -1 : a.whole.size() > b.whole.size() ? 1 : 0;
  if (order == 0) order = a.whole.compare(b.whole);
  // Without zeros at the end, digits decide from the first one, then the length.
  if (order == 0) order = a.fraction.compare(b.fraction);
  return a.is_negative ? -order : order;
}

void NumberRange::RaiseLow(NumberBound bound) {
  const int order = low ? Compare(bound.value, low->value) : 1;
  if (order > 0) low = std::move(bound);
  if (order == 0) low->is_excluded |= bound.is_excluded;
}

void NumberRange::LowerHigh(NumberBound bound) {
  const int order = high ? Compare(bound.value, high->value) : -1;
  if (order < 0) high = std::move(bound);
  if (order == 0) high->is_excluded |= bound.is_excluded;
}

Result<Element> AddNumbers(const NumberRange& range, Grammar& grammar) {
  CHECK(range.multiple > 0 && range.multiple <= kMaxMultiple);
  const RuleId rule = grammar.AddRule();
  const Limit far{.whole = kMaxWhole};
  const bool starts_below = !range.low || range.low->value.is_negative;
  const bool ends_below = range.high && range.high->value.is_negative;
  bool has_any = false;
  if (starts_below) {
    // Minus zero is not written.
    const Limit nearest =
        ends_below ? LimitOf(*range.high) : Limit{.whole = 0, .fraction = {}, .is_excluded = true};
    has_any |= AddMagnitudes(range, nearest, range.low ? LimitOf(*range.low) : far,
                             grammar.Literal("-"), rule, grammar);
  }
  if (!ends_below) {
    has_any |= AddMagnitudes(range, starts_below ? Limit{} : LimitOf(*range.low),
                             range.high ? LimitOf(*range.high) : far, {}, rule, grammar);
  }
  if (!has_any) return InvalidArgument("no number is within the bounds");
  return Grammar::Rule(rule);
}

}  // namespace aster::grammar
