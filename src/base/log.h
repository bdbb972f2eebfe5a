// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Structured log lines on standard error: a constant sentence, and variable fields.
//   log::Info("opened file", {{"path", path}, {"bytes", size}});
// For operators; the program's results go to standard output by other ways, and errors are returned
// as Results. Safe for concurrent use. The configuration belongs to the process, because standard
// error does.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"

namespace aster::log {

enum class Level : uint8_t { kDebug, kInfo, kWarn, kError, kOff };

// "debug", "info", "warn", "error", "off".
std::string_view LevelName(Level level);
Result<Level> ParseLevel(std::string_view name);

enum class Format : uint8_t {
  kText,  // 2026-01-31 12:03:04.567 info  opened file path=a.gguf bytes=12
  kJson,  // {"time":"2026-01-31T12:03:04.567Z","level":"info","message":"opened file",…}
};

// A name and a value. Refers to both for the duration of the call.
class Field {
 public:
  using Value = std::variant<std::string_view, int64_t, uint64_t, double, bool>;

  Field(std::string_view key, bool value) : key_(key), value_(value) {}
  template <std::signed_integral T>
  Field(std::string_view key, T value) : key_(key), value_(static_cast<int64_t>(value)) {}
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  Field(std::string_view key, T value) : key_(key), value_(static_cast<uint64_t>(value)) {}
  template <std::floating_point T>
  Field(std::string_view key, T value) : key_(key), value_(static_cast<double>(value)) {}
  template <std::convertible_to<std::string_view> T>
  Field(std::string_view key, const T& value) : key_(key), value_(std::string_view(value)) {}

  std::string_view key() const { return key_; }
  const Value& value() const { return value_; }

 private:
  std::string_view key_;
  Value value_;
};

using Fields = std::initializer_list<Field>;

void Debug(std::string_view message, Fields fields = {});
void Info(std::string_view message, Fields fields = {});
void Warn(std::string_view message, Fields fields = {});
void Error(std::string_view message, Fields fields = {});

// Whether lines of this level are written: ask before collecting costly fields.
bool IsEnabled(Level level);

// The least level that is written from now on, and the format. Initially kInfo, as text.
void Configure(Level least, Format format);

// Where lines go instead of standard error, each with its line end; an empty function means
// standard error again. The function is called by one thread at a time, and must not log itself.
using Sink = std::function<void(std::string_view line)>;
void SetSink(Sink sink);

// One line with its line end, as it would be written. Text shows local time, JSON UTC.
std::string FormatLine(Format format, Level level, int64_t wall_ns, std::string_view message,
                       std::span<const Field> fields);

}  // namespace aster::log
