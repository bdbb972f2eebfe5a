// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Reads the numbers of one architecture from a file's metadata and checks each, for the functions
// that make a Shape. Must not know any architecture.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/metadata.h"

namespace aster::model {

// Far above any published model, and low enough that sizes computed from them cannot overflow.
inline constexpr uint32_t kMaxLayers = 4096;
inline constexpr uint32_t kMaxWidth = 1 << 24;

// Tokens that are never the next one: the key belongs to no architecture.
inline constexpr std::string_view kSuppressedKey = "tokenizer.ggml.suppress_tokens";

// Reads the keys of one architecture: `<arch>.<key>`.
class Keys {
 public:
  Keys(const gguf::Metadata& metadata, std::string_view arch) : metadata_(metadata), arch_(arch) {}

  std::string Full(std::string_view key) const { return fmt::format("{}.{}", arch_, key); }
  bool Contains(std::string_view key) const { return metadata_.Contains(Full(key)); }

  // A whole number between 1 and `limit`.
  Result<uint32_t> Count(std::string_view key, uint32_t limit) const {
    const std::string full = Full(key);
    return InRange(full, TRY(metadata_.Get<uint64_t>(full)), limit);
  }
  Result<uint32_t> CountOr(std::string_view key, uint32_t limit, uint32_t fallback) const {
    return Contains(key) ? Count(key, limit) : Result<uint32_t>(fallback);
  }

  // The same; 0 if the file has zero or does not have the key.
  Result<uint32_t> OptionalCount(std::string_view key, uint32_t limit) const {
    if (!Contains(key) || TRY(metadata_.Get<uint64_t>(Full(key))) == 0) return 0U;
    return Count(key, limit);
  }

  // The same number for every layer. Files may hold an array; different numbers are not supported.
  Result<uint32_t> UniformCount(std::string_view key, size_t layer_count, uint32_t limit) const {
    const std::string full = Full(key);
    const auto values = TRY(metadata_.GetPerLayer<uint64_t>(full, layer_count));
    for (const uint64_t value : values) {
      if (value != values.front()) {
        return Unimplemented(
            fmt::format("{} differs between layers ({} and {}); only models whose layers are alike "
                        "are supported",
                        full, values.front(), value));
      }
    }
    return InRange(full, values.front(), limit);
  }

  // A number for each layer; files may have one for all.
  Result<std::vector<uint32_t>> CountPerLayer(std::string_view key, size_t layer_count,
                                              uint32_t limit) const {
    const std::string full = Full(key);
    std::vector<uint32_t> counts;
    for (const uint64_t value : TRY(metadata_.GetPerLayer<uint64_t>(full, layer_count)))
      counts.push_back(TRY(InRange(full, value, limit)));
    return counts;
  }
  Result<std::vector<bool>> FlagPerLayer(std::string_view key, size_t layer_count) const {
    return metadata_.GetPerLayer<bool>(Full(key), layer_count);
  }

  Result<float> Positive(std::string_view key) const {
    const std::string full = Full(key);
    const auto value = TRY(metadata_.Get<float>(full));
    if (!std::isfinite(value) || value <= 0.0f) {
      return DataLoss(fmt::format("{} is {}, a positive number is needed", full, value));
    }
    return value;
  }
  Result<float> Above(std::string_view key, float limit) const {
    const float value = TRY(Positive(key));
    if (value > limit) return value;
    return DataLoss(fmt::format("{} is {}, a number above {} is needed", Full(key), value, limit));
  }
  // A positive number below 1.
  Result<float> Fraction(std::string_view key) const {
    const float value = TRY(Positive(key));
    if (value < 1.0f) return value;
    return DataLoss(fmt::format("{} is {}, a positive number below 1 is needed", Full(key), value));
  }
  // A number that is at least 1, and no larger than the widest model.
  Result<float> Multiple(std::string_view key) const {
    const float value = TRY(Positive(key));
    if (value >= 1.0f && value <= static_cast<float>(kMaxWidth)) return value;
    return DataLoss(
        fmt::format("{} is {}, a number from 1 to {} is needed", Full(key), value, kMaxWidth));
  }
  Result<float> PositiveOr(std::string_view key, float fallback) const {
    return Contains(key) ? Positive(key) : Result<float>(fallback);
  }

  // A positive number, or zero if the key is missing.
  Result<float> ZeroOrPositive(std::string_view key) const {
    if (!Contains(key) || TRY(metadata_.Get<float>(Full(key))) == 0.0f) return 0.0f;
    return Positive(key);
  }

  // A whole number that may be zero; an error if the key is missing.
  Result<uint64_t> Required(std::string_view key) const {
    return metadata_.Get<uint64_t>(Full(key));
  }
  // A whole number, or zero if the key is missing.
  Result<uint64_t> NumberOrZero(std::string_view key) const {
    return metadata_.GetOr<uint64_t>(Full(key), 0);
  }

  // The error if a key has a value that is not supported.
  Error Unexpected(std::string_view key, std::string_view found, std::string_view expected) const {
    return Unimplemented(fmt::format("{} is {}; {} is expected", Full(key), found, expected));
  }
  // An error if the key exists with another value.
  Status ExpectNumber(std::string_view key, uint64_t expected) const {
    if (!Contains(key)) return Ok();
    const uint64_t found = TRY(NumberOrZero(key));
    if (found == expected) return Ok();
    return Unexpected(key, fmt::format("{}", found), fmt::format("{}", expected));
  }

  // The same for a number that is not whole.
  Status ExpectValue(std::string_view key, float expected) const {
    if (!Contains(key)) return Ok();
    const float found = TRY(metadata_.Get<float>(Full(key)));
    if (found == expected) return Ok();
    return Unexpected(key, fmt::format("{}", found), fmt::format("{}", expected));
  }

  // The first `layer_count` values of an array, which may have more (for MTP blocks).
  Result<std::vector<uint64_t>> FirstOfArray(std::string_view key, size_t layer_count) const {
    return FirstOf<uint64_t>(key, layer_count);
  }
  Result<std::vector<bool>> FirstFlags(std::string_view key, size_t layer_count) const {
    return FirstOf<bool>(key, layer_count);
  }

  // All numbers of an array.
  Result<std::vector<uint64_t>> Numbers(std::string_view key) const {
    return metadata_.Get<std::vector<uint64_t>>(Full(key));
  }

  // One positive number, or an array with this number for each of at least `layer_count` layers.
  Result<float> UniformPositive(std::string_view key, size_t layer_count) const {
    const std::string full = Full(key);
    const gguf::Value* value = metadata_.Find(full);
    if (value == nullptr || value->type() != gguf::ValueType::kArray) return Positive(key);
    const auto values = TRY(value->As<std::vector<float>>());
    if (values.size() < layer_count || values.empty()) {
      return DataLoss(fmt::format("{} holds {} numbers; one for each of {} layers is needed", full,
                                  values.size(), layer_count));
    }
    for (const float other : values) {
      if (!(std::isfinite(other) && other > 0.0f && other == values.front())) {
        return Unimplemented(
            fmt::format("{} holds {} and {}; the same positive number for all layers is supported",
                        full, values.front(), other));
      }
    }
    return values.front();
  }

  Result<bool> Flag(std::string_view key) const { return metadata_.Get<bool>(Full(key)); }
  Result<bool> FlagOr(std::string_view key, bool fallback) const {
    return metadata_.GetOr<bool>(Full(key), fallback);
  }

  Result<std::string> TextOr(std::string_view key, std::string fallback) const {
    return metadata_.GetOr<std::string>(Full(key), std::move(fallback));
  }

 private:
  template <typename T>
  Result<std::vector<T>> FirstOf(std::string_view key, size_t layer_count) const {
    const std::string full = Full(key);
    const auto values = TRY(metadata_.Get<std::vector<T>>(full));
    if (values.size() < layer_count) {
      return DataLoss(fmt::format("{} holds {} values; one for each of {} layers is needed", full,
                                  values.size(), layer_count));
    }
    return std::vector<T>(values.begin(), values.begin() + static_cast<ptrdiff_t>(layer_count));
  }

  static Result<uint32_t> InRange(std::string_view key, uint64_t value, uint32_t limit) {
    if (value == 0 || value > limit) {
      return DataLoss(fmt::format("{} is {}, between 1 and {} is needed", key, value, limit));
    }
    return static_cast<uint32_t>(value);
  }

  const gguf::Metadata& metadata_;
  const std::string_view arch_;
};

}  // namespace aster::model
