// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/byte_reader.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "ensemble/mixture.h"
#include "kernels/math.h"

namespace aster::ensemble {
namespace {

// e to the power of less is negligible beside 1.
constexpr double kFarBelow = -700;

double Relative(double log_probability, double largest) {
  const double difference = log_probability - largest;
  return difference > kFarBelow ? kernels::Exp(difference) : 0;
}

}  // namespace

ByteReader::ByteReader(const Spelling& spelling, bool drops_space, double least_share)
    : spelling_(&spelling), drops_space_(drops_space), least_share_(least_share) {
  histories_.push_back(std::make_shared<History>());
}

std::vector<size_t> ByteReader::Wanted() const {
  std::vector<size_t> wanted;
  for (size_t i = 0; i < histories_.size(); ++i) {
    if (histories_[i]->probabilities.empty()) wanted.push_back(i);
  }
  return wanted;
}

Status ByteReader::Give(size_t history, std::span<const float> logits) {
  CHECK(logits.size() == spelling_->vocab_size());
  History& given = *histories_[history];
  const float largest = *std::ranges::max_element(logits);
  // In the order of the tokens, so that the sum is the same on every machine.
  std::vector<double> probabilities(logits.size());
  double sum = 0;
  for (size_t token = 0; token < logits.size(); ++token) {
    probabilities[token] = Relative(logits[token], largest);
    sum += probabilities[token];
  }
  if (!std::isfinite(sum) || sum <= 0) return Error(Code::kInternal, "a logit is not a number");
  const Spelling::Range all = spelling_->all();
  given.probabilities.reserve(all.end);
  for (uint32_t place = all.begin; place < all.end; ++place)
    given.probabilities.push_back(probabilities[static_cast<size_t>(spelling_->token(place))] /
                                  sum);
  for (const int32_t end : spelling_->ends()) {
    if (static_cast<size_t>(end) < probabilities.size())
      given.end_probability += probabilities[static_cast<size_t>(end)] / sum;
  }
  AddReadings(std::shared_ptr<History>(histories_[history]));
  if (Wanted().empty()) histories_.clear();
  return Ok();
}

// Adds the readings that may follow a history that spells the whole text.
void ByteReader::AddReadings(const std::shared_ptr<History>& history) {
  const Spelling::Range all = spelling_->all();
  if (!drops_space_ || !history->tokens.empty()) {
    readings_.push_back({.history = history, .range = all, .may_end = true});
    return;
  }
  // At the beginning, tokens with a leading space stand for their text without it.
  const Spelling::Range spaced = spelling_->Narrow(all, 0, ' ');
  readings_.push_back(
      {.history = history, .range = {.begin = all.begin, .end = spaced.begin}, .may_end = true});
  readings_.push_back({.history = history, .range = {.begin = spaced.end, .end = all.end}});
  // A space alone is no text: the text begins after it.
  Spelling::Range range = spaced;
  for (; !range.is_empty() && spelling_->bytes(range.begin).size() == 1; ++range.begin) {
    const double probability = history->probabilities[range.begin];
    if (probability < least_share_) {
      left_out_ += probability;
      continue;
    }
    histories_.push_back(std::make_shared<History>(History{
        .tokens = {spelling_->token(range.begin)}, .log_probability = kernels::Log(probability)}));
  }
  readings_.push_back({.history = history, .range = range, .depth = 1});
}

double ByteReader::LargestLogProbability() const {
  double largest = kImpossible;
  for (const Reading& reading : readings_)
    largest = std::max(largest, reading.history->log_probability);
  return largest;
}

double ByteReader::Share(const Reading& reading, double largest) const {
  double sum = reading.may_end ? reading.history->end_probability : 0;
  for (uint32_t place = reading.range.begin; place < reading.range.end; ++place)
    sum += reading.history->probabilities[place];
  return sum * Relative(reading.history->log_probability, largest);
}

std::array<double, kSymbols> ByteReader::Next() const {
  CHECK(histories_.empty());
  const double largest = LargestLogProbability();
  std::array<double, kSymbols> sums{};
  double total = 0;
  for (const auto& [history, range, depth, may_end] : readings_) {
    const double share = Relative(history->log_probability, largest);
    if (may_end) sums[kEndSymbol] += share * history->end_probability;
    for (uint32_t place = range.begin; place < range.end; ++place)
      sums[static_cast<uint8_t>(spelling_->bytes(place)[depth])] +=
          share * history->probabilities[place];
  }
  for (const double sum : sums) total += sum;
  std::array<double, kSymbols> next;
  for (size_t symbol = 0; symbol < kSymbols; ++symbol) {
    const double probability = sums[symbol] / total;
    // Denormal numbers have no logarithm here.
    next[symbol] = std::isnormal(probability) ? kernels::Log(probability) : kImpossible;
  }
  return next;
}

// The rest of a reading after a byte: tokens that end there begin new histories.
void ByteReader::Narrow(Reading reading, uint8_t byte, std::vector<Reading>& narrowed,
                        std::vector<std::shared_ptr<History>>& fresh) const {
  reading.range = spelling_->Narrow(reading.range, reading.depth, byte);
  ++reading.depth;
  reading.may_end = false;
  for (; !reading.range.is_empty(); ++reading.range.begin) {
    const uint32_t place = reading.range.begin;
    if (spelling_->bytes(place).size() > reading.depth) break;
    const double probability = reading.history->probabilities[place];
    if (!std::isnormal(probability)) continue;
    auto history = std::make_shared<History>();
    history->tokens = reading.history->tokens;
    history->tokens.push_back(spelling_->token(place));
    history->log_probability = reading.history->log_probability + kernels::Log(probability);
    fresh.push_back(std::move(history));
  }
  if (!reading.range.is_empty()) narrowed.push_back(std::move(reading));
}

void ByteReader::Push(uint8_t byte) {
  CHECK(histories_.empty());
  std::vector<Reading> narrowed;
  std::vector<std::shared_ptr<History>> fresh;
  for (const Reading& reading : readings_) Narrow(reading, byte, narrowed, fresh);
  readings_ = std::move(narrowed);
  LeaveOutUnlikely(fresh);
  histories_ = std::move(fresh);
}

void ByteReader::LeaveOutUnlikely(std::vector<std::shared_ptr<History>>& fresh) {
  double largest = LargestLogProbability();
  for (const auto& history : fresh) largest = std::max(largest, history->log_probability);
  // Over all ways to spell the text.
  double total = 0;
  for (const Reading& reading : readings_) total += Share(reading, largest);
  for (const auto& history : fresh) total += Relative(history->log_probability, largest);
  double lost = 0;
  const auto is_unlikely = [&](double share) {
    if (share >= least_share_ * total) return false;
    lost += share;
    return true;
  };
  std::erase_if(fresh, [&](const auto& history) {
    return is_unlikely(Relative(history->log_probability, largest));
  });
  std::erase_if(readings_,
                [&](const auto& reading) { return is_unlikely(Share(reading, largest)); });
  left_out_ += lost / total;
}

size_t ByteReader::length() const {
  double largest = LargestLogProbability();
  for (const auto& history : histories_) largest = std::max(largest, history->log_probability);
  double most = -1;
  size_t length = 0;
  const auto add = [&](double share, size_t tokens) {
    if (share > most) length = tokens;
    most = std::max(most, share);
  };
  for (const Reading& reading : readings_)
    add(Share(reading, largest), reading.history->tokens.size());
  for (const auto& history : histories_)
    add(Relative(history->log_probability, largest), history->tokens.size());
  return length;
}

}  // namespace aster::ensemble
